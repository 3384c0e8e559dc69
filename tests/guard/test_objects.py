"""Objects: every leaf is judged where it stands, and nothing refused is in the released object."""

import asyncio
import itertools
import json
import re
from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpointer import resolve_pointer
from jsonschema_rs import Draft202012Validator
from pydantic import BaseModel, Field
from tests.guard.parts import doubling
from tests.tables import tabled

from groundrail import Guard, InputError, Policy, UnsupportedError, UnsupportedObjectError, Verdict
from groundrail.objects.answers import as_answer
from groundrail.objects.json_values import DEEPEST, LARGEST, parsed
from groundrail.objects.leaves import leaves
from groundrail.objects.results import places_of_refused
from groundrail.objects.schemas import Schema
from groundrail.scoring import NearestScorer
from groundrail.testing import FakeEntailment

SOURCE = "Everything that is good stands here."
BAD = "zq"
"""In every value that the judge refuses, and in no key."""


def refusing() -> FakeEntailment:
    return FakeEntailment(lambda premise, claim: 0.0 if BAD in claim else 1.0)


def guard(judge: FakeEntailment | None = None, **choices) -> Guard:
    return Guard(scorer=NearestScorer(judge or refusing(), rivals=0), policy=Policy(**choices))


KEYS = st.sampled_from(["a", "b/c", "d~e", "", "rentAmount", "0"])
GOOD = st.sampled_from(["Anna Schmidt", "The rent is due.", "Pets pay. The rent is due.", 3, 2.5, None, ""])
REFUSED = st.sampled_from([f"{BAD}one", f"The {BAD}two is due.", f"Pets pay. The {BAD}three is due."])
OBJECTS = st.recursive(
    GOOD | REFUSED, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
).filter(lambda value: isinstance(value, dict | list))


def paths(value, path=()):
    """An independent walk: (path, leaf) of every leaf."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, key))
    else:
        yield path, value


def shape(value):
    """Keys and lengths, without the leaves."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else None


@given(OBJECTS)
def test_pointers_lead_to_their_leaves_and_nothing_refused_is_released(value):
    before = json.dumps(value)
    result = guard().check_object(value, SOURCE)
    expected = list(paths(value))
    assert len(result.fields) == len(expected)
    for (_, leaf), (pointer, field) in zip(expected, result.fields.items(), strict=True):
        refused = BAD in f"{leaf} {field.statement}"  # of a record with a refused name, every statement is refused
        assert resolve_pointer(value, pointer) is leaf
        assert field.released is not refused
        assert resolve_pointer(result.object, pointer) == field.value
        assert refused or field.value == leaf
    assert BAD not in json.dumps(result.object)
    assert shape(result.object) == shape(value)
    assert result.supported is (BAD not in before)
    assert json.dumps(value) == before


@pytest.mark.parametrize("refused", list(itertools.product([False, True], repeat=3)))
def test_a_released_object_fits_its_schema_or_the_error_names_the_fields(refused):
    value = {name: BAD if bad else "good" for name, bad in zip(("nullable", "needed", "free"), refused, strict=True)}
    text = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {"nullable": {"anyOf": [text, {"type": "null"}]}, "needed": text, "free": {}},
        "required": ["nullable", "needed", "free"],
        "additionalProperties": False,
    }
    if BAD in value["needed"]:
        with pytest.raises(UnsupportedObjectError, match="/needed") as raised:
            guard().check_object(value, SOURCE, schema)
        assert "/nullable" not in str(raised.value)
        assert not raised.value.fields["/needed"].released
    else:
        result = guard().check_object(value, SOURCE, schema)
        assert Draft202012Validator(schema).is_valid(result.object)
        assert BAD not in json.dumps(result.object)


def test_all_leaves_are_judged_in_one_call():
    judge = refusing()
    value = {"rent": "900 euros", "tenants": ["Anna", "Ben"], "note": "The rent is due. Pets pay.", "rooms": 3}
    assert guard(judge).check_object(value, SOURCE).supported
    assert len(judge.calls) == 1
    assert len({claim for _, claim in judge.calls[0]}) == 6


def test_a_judge_that_fails_at_one_field_costs_only_that_field_and_supported_ones_are_cited():
    def judge(premise, claim):
        if BAD in claim:
            raise RuntimeError("cannot read that")
        return 1.0

    value = {"rent": "900 euros", "name": BAD}
    result = guard(FakeEntailment(judge)).check_object(value, SOURCE)
    assert result.object == {"rent": "900 euros", "name": None}
    assert result.fields["/name"].verdict is Verdict.ERROR
    assert result.fields["/rent"].verdict is Verdict.SUPPORTED
    assert [(pointer, place.text) for pointer, (place,) in result.citations.items()] == [("/rent", SOURCE)]
    assert asyncio.run(guard(FakeEntailment(judge)).acheck_object(value, SOURCE)).object == result.object


@tabled("value, statements")
def test_a_record_of_a_list_is_told_by_its_name(value, statements):
    assert [leaf.statement for leaf in leaves(json.loads(value))] == statements


@tabled("value, statement")
def test_statements_from_the_words_of_the_path(value, statement):
    (leaf,) = leaves(json.loads(value))
    assert leaf.statement == statement


def test_a_pydantic_model_and_its_dump_are_objects_dates_and_decimals_included() -> None:
    class Lease(BaseModel):
        tenant: str
        end: date
        rent: Decimal

    lease = Lease(tenant=f"Mr {BAD}", end=date(2026, 2, 28), rent=Decimal("1450.50"))
    for form in (lease, lease.model_dump(), lease.model_dump(mode="json"), lease.model_dump_json()):
        result = guard().check_object(form, SOURCE)
        assert result.object == {"tenant": None, "end": "2026-02-28", "rent": "1450.50"}
        assert result.score == result.fields["/tenant"].score == 0.0
        assert result.fields["/end"].score == 1.0
    assert {"/0/tenant", "/1/others/0/tenant"} <= set(guard().check_object([lease, {"others": [lease]}], SOURCE).refused)
    assert guard().check_object({"a": None}, SOURCE).score is None


def test_an_object_that_holds_itself_is_refused() -> None:
    held: list[object] = []
    held += [held, held]
    with pytest.raises(InputError, match="Circular"):
        guard().check_object(held, SOURCE)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("It ends on February 28.", "February 28, 2026 at 15:05"),
        ("It ends at 9 a.m. on 28 February.", "28 February 2026 at 3:05 pm"),
        ("End: 2026-02-28, 15:05.", "2026-02-28 at 15:05"),
    ],
)
def test_dates_are_written_as_the_source_writes_them(source, said):
    (leaf,) = leaves({"end": "2026-02-28T15:05:00"}, source=source)
    assert leaf.statement == f"The end is {said}."


@pytest.mark.parametrize("value", [True, False, "yes", "No", "TRUE", "false"])
def test_a_yes_or_no_must_be_likelier_than_its_opposite(value):
    opposite = "Pets are not allowed." if value in (True, "yes", "TRUE") else "Pets are allowed."
    said = {"pets_allowed": value}
    unsure = FakeEntailment(lambda premise, claim: 0.95 if claim == opposite else 0.9)
    result = guard(unsure).check_object(said, SOURCE)
    assert (result.object, result.fields["/pets_allowed"].verdict) == ({"pets_allowed": None}, Verdict.UNSUPPORTED)
    assert "opposite" in str(result.fields["/pets_allowed"].reason)
    assert guard(unsure, fallback="flag").check_object(said, SOURCE).object == said
    sure = FakeEntailment(lambda premise, claim: 0.1 if claim == opposite else 0.9)
    assert guard(sure).check_object(said, SOURCE).object == said


TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "The rent is 990 euros")
"""Letters that nobody sees."""


def test_a_key_that_makes_a_statement_is_judged_and_goes_with_what_it_holds():
    value = {
        f"The {BAD} is due": None,
        f"Rooms of {BAD} 7": {"size": "12", f"It is {BAD} there": []},
        "The rent is due": [f"{BAD}one", "Anna"],
        f"{BAD}": {},
    }
    result = guard().check_object(value, SOURCE)
    assert result.object == {"The rent is due": [None, "Anna"], f"{BAD}": {}}
    schema = {"additionalProperties": True, "minProperties": 4}
    with pytest.raises(UnsupportedObjectError):
        guard().check_object(value, SOURCE, schema)


@pytest.mark.parametrize("value", [None, "yes", 7, True, "The rent is due.", "Anna"])
def test_a_statement_in_a_key_goes_out_with_no_value(value):
    for key in (f"The {BAD} is due", f"The {BAD} is due.", f"rent{TAGS}"):
        assert guard().check_object({"inner": [{key: value}]}, SOURCE).object == {"inner": [{}]}
    sections = {f"Section {BAD} 2": "The rent is due."}  # a figure may number what follows
    assert guard().check_object(sections, SOURCE).object == sections
    schema = {"properties": {f"The {BAD} is due": {"title": "name"}}}
    assert guard().check_object({f"The {BAD} is due": "Anna"}, SOURCE, schema).supported


def test_a_refused_key_is_not_repeated_in_the_places_that_are_told():
    value = {"lease": {f"The {BAD} is due": {"rent": BAD}, "name": BAD}, "end": BAD}
    result = guard().check_object(value, SOURCE)
    assert places_of_refused(result.fields) == ["/lease", "/lease/name", "/end"]
    assert BAD not in str(as_answer("", result, keep_refused=False))


def test_statements_from_a_schema():
    class Deposit(BaseModel):
        amount: float = Field(description="The amount in euros.")
        refundable: bool = Field(description="Whether the deposit is paid back")
        held_by: str = Field(title="Holder", description="Look this up with care. " * 5)

    class Lease(BaseModel):
        deposit: Deposit | None

    value = {"deposit": {"amount": 2900.0, "refundable": False, "held_by": "Berg Ltd"}}
    amount, refundable, holder = leaves(value, Schema(Lease))
    assert amount.statement == "The deposit's amount is 2,900 euros."
    assert refundable.statement == "It is not true that the deposit is paid back."
    assert holder.statement == "The deposit's holder is Berg Ltd."


def test_letters_that_nobody_sees_are_not_released():
    value = {"note": TAGS, "text": f"The rent is due. {TAGS}"}
    assert guard().check_object(value, SOURCE).object == {"note": None, "text": "The rent is due."}


def test_fields_say_which_leaves_are_claims():
    value = {"items": [{"position": BAD, "text": BAD}], "count": BAD, "rent": {"amount": BAD, "unit": BAD}}

    def refused(*fields):
        return set(guard(fields=fields).check_object(value, SOURCE).refused)

    assert refused("!position", "!/count") == {"/items/0/text", "/rent/amount", "/rent/unit"}
    assert refused("/rent", "text") == {"/items/0/text", "/rent/amount", "/rent/unit"}
    assert refused("/rent", "!unit") == {"/rent/amount"}


def test_the_policy_decides_on_refused_fields():
    value = {"rent": BAD, "name": "Anna"}
    flagged = guard(fallback="flag").check_object(value, SOURCE)
    assert flagged.object == value
    assert not flagged.supported
    with pytest.raises(UnsupportedError, match="/rent"):
        guard(fallback="raise").check_object(value, SOURCE)
    for fallback in ("quote", "abstain", lambda sentence: "instead"):
        assert guard(fallback=fallback).check_object(value, SOURCE).object == {"rent": None, "name": "Anna"}
    assert guard().check_object(value, "").fields["/name"].verdict is Verdict.NO_SOURCE


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    ("value", "corrected"),
    [
        ({"rent": "990 euros"}, {"rent": "950 euros"}),
        ({"rent": "€990"}, {"rent": "€950"}),
        ({"rent in euros": 990}, {"rent in euros": 950}),
        ({"rent": "990 euros", "size": "40 m"}, {"rent": "950 euros", "size": None}),
        ({"lease end": "2026-03-28"}, {"lease end": "2026-02-28"}),
        ({"caretaker": "Anna Lindqvist"}, {"caretaker": "Daniel Reyes"}),
        ({"pets_allowed": True}, {"pets_allowed": False}),
        ({"pets_allowed": "Yes"}, {"pets_allowed": "No"}),
        ({"pets_allowed": "TRUE"}, {"pets_allowed": "FALSE"}),
        ({"note": "The rent is 990 euros. Pets bark."}, {"note": "The rent is 950 euros."}),
        ({"rent": "990 euros or 980 euros"}, {"rent": None}),
        ({"phase_1": "12 weeks"}, {"phase_1": None}),
    ],
)
def test_a_corrected_field_has_the_sources_value_in_its_own_form(value, corrected, keep):
    source = (
        "The rent is 950 euros. The lease end is 28 February 2026. The caretaker is Daniel Reyes. Pets are not allowed. "
        "The phase 2 is 12 weeks."
    )
    judge = FakeEntailment(lambda premise, claim: float(claim in source or claim == "The rent is €950."))
    result = guard(judge, fallback="correct", keep_refused=keep).check_object(value, source)
    assert result.object == corrected
    assert not result.supported
    if not keep:
        assert not re.search("990 euros|€990", result.model_dump_json())


def test_keep_refused_false_keeps_no_refused_text():
    value = {"rent": f"{BAD}900", "note": f"Pets pay. The {BAD}two is due."}
    result = guard(keep_refused=False).check_object(value, SOURCE)
    assert result.object == {"rent": None, "note": "Pets pay."}
    assert BAD not in result.model_dump_json()
    schema = {"properties": {"rent": {"type": "string"}}}
    with pytest.raises(UnsupportedObjectError) as raised:
        guard(keep_refused=False).check_object(value, SOURCE, schema)
    assert BAD not in str(raised.value)
    assert all(BAD not in field.model_dump_json() for field in raised.value.fields.values())


def test_keep_refused_false_keeps_no_refused_key():
    key, other = f"The rent is {BAD}900", f"{BAD}_is_free"
    value = {key: {"note": "Pets pay.", other: "x"}, "list": [{other: None}], "name": "Anna"}
    result = guard(keep_refused=False).check_object(value, SOURCE)
    assert result.object == {"list": [{}], "name": "Anna"}
    assert BAD not in result.model_dump_json()
    assert result.refused == ("/refused key 0", "/list/0/refused key 1")
    assert set(guard().check_object(value, SOURCE).refused) >= {f"/{key}", f"/list/0/{other}"}
    with pytest.raises(UnsupportedObjectError) as raised:
        guard(keep_refused=False, fallback="raise").check_object(value, SOURCE)
    assert BAD not in f"{raised.value} {raised.value.fields}"


def nested(levels):
    value: list[object] | str = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ("{broken", None, "not JSON"),
        ('{"a": NaN}', None, "not JSON"),
        ('{"a": 1, "a": 2}', None, "twice"),
        ('"text"', None, "Guard.check"),
        ("[" * 100_000, None, "deeper"),
        (nested(DEEPEST + 1), None, "deeper"),
        (["x" * LARGEST], None, "over"),
        ({"a": float("inf")}, None, "cannot be written as JSON"),
        ({"a": object()}, None, "cannot be written as JSON"),
        ({"a": "\ud83d"}, None, "cannot be written as JSON"),
        ({"a": ("b",)}, None, "tuple"),
        ({"a": 10**5000}, None, "cannot be written as JSON"),
        ({1: "a"}, None, "a key that is no text"),
        ({"a": 1}, {"type": "lease"}, "schema cannot be read"),
        ({"a": 1}, {"properties": {"a": {"$ref": "#/$defs/none"}}}, "schema cannot be read"),
        ({"a": 1}, {"properties": {"a": {"$ref": "http://example.org/x"}}}, "outside"),
        ({"a": 1}, {"$ref": "#"}, "circle"),
        ({"a": 1}, {"properties": {"a": {"type": "string"}}}, r"does not fit its schema at /a \(type\)"),
        ({"a": 1}, {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#"}]}}}, "circle"),
        ({"a": 1}, {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}, "no place in it"),
        ({"a": 1}, {"$defs": {"a": {"$id": "x"}}}, "leave it out"),
        ({"a": "b"}, {"properties": {"a": {"pattern": "(?=a)b"}}}, "schema cannot be read at /properties/a"),
        ({"a": 1}, [], "a schema is"),
        # the schema lists "a", and a model may say anything in another key
        (
            {"a": [{}, {f"The {BAD} is due": 5}]},
            {"properties": {"a": {"items": {"additionalProperties": {"type": "string"}}}}},
            r"at /a/1 \(type\)$",
        ),
    ],
)
def test_bad_input_gets_an_error_that_says_so(value, schema, said):
    judge = refusing()
    with pytest.raises(InputError, match=said):
        guard(judge).check_object(value, SOURCE, schema)
    assert judge.calls == []


TREE = {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"c": {"$ref": "#/$defs/n"}}}] * 2}}}


def chain(levels) -> object:
    value: object = {"end": "x"}
    for _ in range(levels):
        value = {"c": value}
    return value


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, doubling(40, {"type": "object"})),
        ({"a": 1}, {"properties": {"a": {"$ref": "#/$defs/a0"}}, "$defs": doubling(40, {})["$defs"]}),
        (chain(60), TREE),
        ({"a": [{"b": n} for n in range(2_000)]}, {"properties": {"a": {"items": {"enum": [{"b": -n} for n in range(1, 6_000)]}}}}),
    ],
)  # fmt: skip
def test_a_schema_over_the_bound_is_an_error_that_names_it(value, schema):
    with pytest.raises(InputError, match="takes over 1,000,000 steps"):
        guard().check_object(value, SOURCE, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/foo", "foo": {"allOf": {"a": 1}, "enum": 5}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "prefixItems": 5, "dependentSchemas": [1]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"prefixItems": {"a": 1}}}},
    ],
)
def test_a_keyword_that_is_none_in_the_schema_s_draft_may_hold_anything(schema):
    for value in ({"a": ["Anna"]}, ["Anna"]):
        with suppress(InputError):  # as the validator says
            assert guard().check_object(value, SOURCE, schema).object == value


def test_a_large_schema_is_read():
    many = {"enum": [{"a": n} for n in range(6_000)], "$schema": "http://json-schema.org/draft-04/schema#"}
    assert Schema(many).misfits({"a": 5_999}) == []
    assert Schema(doubling(15, {"type": "object"})).misfits([])
    assert Schema(TREE).misfits(chain(15)) == []
    wide = {"properties": {f"p{n}": {"type": "string", "description": f"Name {n}"} for n in range(5_000)}}
    assert Schema(wide).misfits({"p7": 1}) == [(("p7",), "type")]
    assert Schema(wide).name_at(["p7"]) == "Name 7"


def test_the_deepest_object_is_checked_and_parsing_keeps_a_value():
    assert guard().check_object(nested(DEEPEST), SOURCE).supported
    value = {"a": [1, 2.5, "é", None, True]}
    assert parsed(json.dumps(value)) == value
