"""Structured output under guard: objects go out whole, without their refused fields, and nobody hears of these."""

import asyncio
import json
from datetime import date
from functools import cached_property
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_serializer, field_validator, model_validator
from tests.integrations.langchain.conftest import SOURCE, events

from groundrail import Guard, InputError, Policy, UnsupportedObjectError
from groundrail.errors import GenerationError
from groundrail.integrations.langchain import GuardedChatModel
from groundrail.testing import FakeEntailment

RIGHT, WRONG = '{"rent": "950 euros", "end": "28 February 2026"}', '{"rent": "990 euros", "end": "28 February 2026"}'
JSON_SCHEMA = {"title": "lease", "type": "object", "properties": {"rent": {"type": ["string", "null"]}, "end": {}}}


class Lease(BaseModel):
    """A lease."""

    rent: str | None
    end: str
    currency: str = "EUR"


class Strict(BaseModel):
    """A lease without nulls."""

    rent: str
    end: str


class Writing(FakeListChatModel):
    """Writes JSON, letter by letter, and parses it as models with a JSON mode do."""

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Any:
        assert include_raw
        parser: Any = PydanticOutputParser(pydantic_object=schema) if isinstance(schema, type) else JsonOutputParser()

        def parsed(raw: Any) -> dict[str, Any]:
            try:
                return {"raw": raw, "parsed": parser.invoke(raw), "parsing_error": None}
            except ValueError as error:
                return {"raw": raw, "parsed": None, "parsing_error": error}

        return self | RunnableLambda(parsed)


def words(premise: str, claim: str) -> float:
    """Whether the figures of the claim are in the premise."""
    return float(all(word.strip(".,") in premise for word in claim.split() if any(c.isdigit() for c in word)))


def guarded(text: str, **policy: Any) -> GuardedChatModel:
    guard = Guard(scorer="scale", judge=FakeEntailment(words), policy=Policy(**policy))
    return GuardedChatModel(model=Writing(responses=[text]), guard=guard, sources_of=lambda messages: SOURCE)


def test_refused_fields_are_null_and_the_rest_is_the_models() -> None:
    assert guarded(RIGHT).with_structured_output(Lease).invoke("?") == Lease(rent="950 euros", end="28 February 2026")
    assert guarded(WRONG).with_structured_output(Lease).invoke("?") == Lease(rent=None, end="28 February 2026")
    assert guarded(WRONG).with_structured_output(JSON_SCHEMA).invoke("?") == {"rent": None, "end": "28 February 2026"}
    assert asyncio.run(guarded(WRONG).with_structured_output(Lease).ainvoke("?")).rent is None
    assert list(guarded(WRONG).with_structured_output(Lease).stream("?")) == [Lease(rent=None, end="28 February 2026")]


def test_half_an_object_stays_back_though_a_parser_completes_it() -> None:
    class CutOff(Writing):
        def _generate(self, *asked: Any, **kwargs: Any) -> Any:
            result = super()._generate(*asked, **kwargs)
            result.generations[0].message.response_metadata["finish_reason"] = "length"
            return result

    subject = guarded(RIGHT).model_copy(update={"model": CutOff(responses=['{"rent": "950'])})
    for ask in (subject.with_structured_output(JSON_SCHEMA).invoke, subject.with_structured_output(Lease).invoke):
        with pytest.raises(GenerationError, match=r"before the answer's end \(length\)"):
            ask("?")
    with pytest.raises(GenerationError, match="length"):
        asyncio.run(subject.with_structured_output(JSON_SCHEMA).ainvoke("?"))


def test_the_output_of_the_wrapped_model_needs_to_be_asked_for() -> None:
    class Own(Writing):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            return super().with_structured_output(schema, include_raw=True) | (lambda said: said["parsed"])

    subject = GuardedChatModel(model=Own(responses=[WRONG]))
    assert subject.with_structured_output(Lease, unchecked=True).invoke("?").rent == "990 euros"


def test_include_raw_tells_the_verdicts_by_pointer() -> None:
    said = guarded(WRONG, keep_refused=False).with_structured_output(Lease, include_raw=True).invoke("?")
    assert said["parsed"].rent is None
    assert json.loads(said["raw"].content) == {"rent": None, "end": "28 February 2026"}
    fields = said["raw"].response_metadata["groundrail"]["fields"]
    assert {pointer: field["verdict"] for pointer, field in fields.items()} == {"/rent": "unsupported", "/end": "supported"}
    assert "990 euros" not in str(said)


class Odd(BaseModel):
    """A lease whose fields are not what `model_dump` says."""

    model_config = ConfigDict(extra="allow")

    rent: str | None = Field(exclude=True)
    end: Annotated[str | None, Field(serialization_alias="lastDay", validation_alias="last_day")]
    deposit: str | None = None
    summary: str | None = Field(default_factory=lambda data: f"The rent is {data['rent']}.")
    due: date | None = None
    _noted: str = ""

    @field_serializer("deposit")
    def _hidden(self, value: str | None) -> str:
        return "hidden"

    @model_validator(mode="after")
    def _note(self) -> "Odd":
        self._noted = self.summary or ""
        return self

    @cached_property
    def headline(self) -> str:
        """A value of the object's own."""
        return f"Rent: {self.rent}"


ODD = {"rent": "990 euros", "last_day": "28 February 2026", "deposit": "2990 euros", "due": "2026-02-28", "more": "1990"}


class Within(BaseModel):
    """Objects in an object."""

    leases: list[Odd]
    by_name: dict[str, Odd] = Field(default_factory=dict)


def test_what_is_returned_is_built_from_what_was_judged_by_name() -> None:
    lease = guarded(json.dumps(ODD)).with_structured_output(Odd).invoke("?")
    assert isinstance(lease, Odd)
    assert (lease.rent, lease.deposit, lease.summary) == (None, None, None)
    assert lease.model_extra == {"more": None}
    assert lease.end == "28 February 2026"
    assert "990" not in repr([vars(lease), lease._noted, lease.headline])
    true = guarded(json.dumps(ODD | {"rent": "950 euros", "deposit": "950 euros", "more": "28"}))
    lease = true.with_structured_output(Odd).invoke("?")
    assert (lease.rent, lease.end, lease.deposit) == ("950 euros", "28 February 2026", "950 euros")
    assert lease.summary == "The rent is 950 euros."
    assert lease.model_extra == {"more": "28"}
    within = guarded(json.dumps({"leases": [ODD], "by_name": {"a": ODD}})).with_structured_output(Within).invoke("?")
    assert "990" not in repr(within)
    assert [within.leases[0].end, within.by_name["a"].end] == ["28 February 2026"] * 2


class Money(BaseModel):
    """A currency that can be refused."""

    currency: str | None = "EUR"


class Smuggling(BaseModel):
    """A lease whose validators write into fields that the model left out."""

    rent: str | None
    notes: list[str | None] = []  # pydantic copies it
    currency: str | None = "EUR"
    inner: Money = Money()
    number: UUID = Field(default_factory=uuid4)
    made: list[str | None] = Field(default_factory=list)

    @model_validator(mode="after")
    def _write(self) -> "Smuggling":
        self.notes.append(f"The rent is {self.rent}.")
        self.made.append(self.rent)
        self.__dict__ |= {"currency": self.rent, "aside": self.rent}
        self.inner.__dict__["currency"] = self.rent
        return self


def test_what_a_validator_writes_into_a_default_is_judged() -> None:
    lease = guarded('{"rent": "990 euros"}').with_structured_output(Smuggling).invoke("?")
    assert "990" not in repr(vars(lease))
    assert "990" not in repr(lease.inner)
    assert isinstance(lease.number, UUID)
    lease = guarded('{"rent": "950 euros"}').with_structured_output(Smuggling).invoke("?")
    assert (lease.rent, lease.currency, lease.inner.currency, lease.made) == (*["950 euros"] * 3, ["950 euros"])
    assert lease.notes == ["The rent is 950 euros."]


class ByName(BaseModel):
    """Any fields by name."""

    fields: dict[str, str]
    figures: dict[str, int | None] = {}  # pydantic copies it


def test_a_refused_key_is_left_out() -> None:
    text = json.dumps({"fields": {"rent of 990": "950 euros", "rent": "950 euros"}})
    assert guarded(text).with_structured_output(ByName).invoke("?").fields == {"rent": "950 euros"}
    with pytest.raises(UnsupportedObjectError, match="/fields/rent"):
        guarded('{"fields": {"rent": "990 euros"}}').with_structured_output(ByName).invoke("?")


def test_a_text_with_attributes_of_its_own_is_refused() -> None:
    class Loud(str):
        """A text that says more than its letters."""

    class Named(BaseModel):
        """A lease with a rent."""

        rent: str

        @model_validator(mode="after")
        def _attach(self) -> "Named":
            self.rent = Loud(self.rent)
            self.rent.said = "990 euros"  # type: ignore[attr-defined]
            return self

    with pytest.raises(InputError, match="/rent holds a Loud"):
        guarded('{"rent": "950 euros"}').with_structured_output(Named).invoke("?")


class NoNull(BaseModel):
    """A lease whose validator takes no null, which its schema allows."""

    rent: str | None
    end: str

    @field_validator("rent")
    @classmethod
    def _given(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("a rent is needed")
        return value.upper()


def test_a_validator_that_takes_no_null_is_our_error() -> None:
    with pytest.raises(UnsupportedObjectError, match="/rent") as raised:
        guarded(WRONG).with_structured_output(NoNull).invoke("?")
    assert not raised.value.fields["/rent"].released
    lease = guarded(RIGHT).with_structured_output(NoNull).invoke("?")
    assert lease.rent == "950 EUROS"


def test_a_value_that_no_guard_reads_is_refused() -> None:
    class Secret(BaseModel):
        """A lease that hides its rent."""

        rent: SecretStr

    with pytest.raises(InputError, match="/rent holds a SecretStr"):
        guarded(WRONG).with_structured_output(Secret).invoke("?")


def test_a_field_that_cannot_be_null_is_an_error() -> None:
    with pytest.raises(UnsupportedObjectError, match="/rent"):
        guarded(WRONG).with_structured_output(Strict).invoke("?")


def test_a_text_that_is_no_object_is_an_error_without_the_text() -> None:
    with pytest.raises(GenerationError, match="no object") as raised:
        guarded("The rent is 990 euros.", keep_refused=False).with_structured_output(Lease).invoke("?")
    assert "990" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_listeners_hear_only_the_released_object() -> None:
    subject = RunnableLambda(lambda given: given) | guarded(WRONG, keep_refused=False).with_structured_output(Lease)

    told = str(events(subject, "?"))
    assert "990 euros" not in told
    assert "content='9'" not in told
    assert "28 February 2026" in told


def test_a_response_format_makes_the_text_an_object_that_streams_whole() -> None:
    bound = guarded(WRONG).bind(response_format={"type": "json_object"})
    texts = [chunk.text for chunk in bound.stream("?") if chunk.text]
    assert [json.loads(text) for text in texts] == [{"rent": None, "end": "28 February 2026"}]
    message = asyncio.run(guarded(RIGHT).bind(response_format=Lease).ainvoke("?"))
    assert json.loads(message.text) == json.loads(RIGHT)
    with pytest.raises(InputError, match="not JSON"):
        guarded("The rent").bind(response_format={"type": "json_object"}).invoke("?")
