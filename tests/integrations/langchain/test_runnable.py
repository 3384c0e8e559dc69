"""GuardedRunnable around langchain-core's fakes: what it releases, where its sources come from, Runnable manners."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, StdOutCallbackHandler
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.log_stream import LogStreamCallbackHandler
from tests.integrations.langchain.conftest import FALSE, SOURCE, TRUE

from groundrail import Document, Guard, InputError, Policy, UnsupportedError, Verdict
from groundrail.errors import GenerationError
from groundrail.integrations.langchain import GuardedRunnable, SourcedResult
from groundrail.integrations.langchain.guarded_run import forwards_tokens
from groundrail.testing import FakeEntailment, ScriptedGenerator

INPUT = {"documents": [LangChainDocument(SOURCE)], "prompt": "How much is the rent?"}


def guard(**policy: Any) -> Guard:
    return Guard(scorer="scale", judge=FakeEntailment(), policy=Policy(**policy))


def chain(*sentences: str) -> RunnableGenerator[Any, str]:
    """A chain that streams its sentences three characters at a time, whatever it is asked."""
    text = "".join(sentences)
    pieces = [text[start : start + 3] for start in range(0, len(text), 3)]

    def write(inputs: Iterator[Any]) -> Iterator[str]:
        list(inputs)
        yield from pieces

    async def awrite(inputs: AsyncIterator[Any]) -> AsyncIterator[str]:
        async for _ in inputs:
            pass
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    return RunnableGenerator(write, awrite)


class Shelf(BaseRetriever):
    """Finds the documents it was given."""

    found: list[LangChainDocument]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        return self.found


def rag(*found: LangChainDocument, answer: str) -> Any:
    """The usual retrieval chain: documents into the prompt, text out of the model."""
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    retrieve = {"context": Shelf(found=list(found)), "question": RunnablePassthrough()}
    return retrieve | prompt | GenericFakeChatModel(messages=iter([answer] * 9)) | StrOutputParser()


async def gathered(stream: AsyncIterator[str]) -> list[str]:
    return [piece async for piece in stream]


def test_the_false_sentence_never_reaches_the_consumer() -> None:
    subject = GuardedRunnable(chain(TRUE, FALSE, "Pets are not allowed."), guard=guard())
    kept = [TRUE, "Pets are not allowed."]
    assert list(subject.stream(INPUT)) == kept
    assert subject.invoke(INPUT) == "".join(kept)
    assert subject.batch([INPUT, INPUT]) == ["".join(kept)] * 2
    assert asyncio.run(gathered(subject.astream(INPUT))) == kept
    assert asyncio.run(subject.ainvoke(INPUT)) == "".join(kept)
    assert asyncio.run(subject.abatch([INPUT] * 3)) == ["".join(kept)] * 3


def test_a_sentence_is_out_before_the_chain_writes_the_next_but_one() -> None:
    written: list[str] = []

    def write(inputs: Iterator[Any]) -> Iterator[str]:
        for sentence in [TRUE, FALSE, "Pets are not allowed. ", "The lease ends on 28 February 2026."]:
            written.append(sentence)
            yield sentence

    stream = GuardedRunnable(RunnableGenerator(write), guard=guard(), name="first").stream(INPUT)
    assert next(stream) == TRUE
    assert len(written) == 2  # the word after the stop is what ends a sentence
    assert next(stream) == "Pets are not allowed. "


def test_fifty_concurrent_calls_keep_their_own_sources() -> None:
    async def tell(inputs: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
        async for given in inputs:
            for number in (given["number"], given["number"] + 1):
                await asyncio.sleep(0)
                yield f"Flat {number} costs {number} euros. "

    def refuse(inputs: Iterator[Any]) -> Iterator[str]:
        raise AssertionError("async calls must use the async form")
        yield ""

    subject = GuardedRunnable(RunnableGenerator(refuse, tell), guard=guard(), return_result=True)
    inputs = [{"documents": f"Flat {n} costs {n} euros.", "number": n} for n in range(50)]

    async def many() -> list[SourcedResult]:
        return await asyncio.gather(*(subject.ainvoke(given) for given in inputs))

    for number, result in enumerate(asyncio.run(many())):
        assert result.text == f"Flat {number} costs {number} euros. "
        assert [c.text for c in result.citations] == [f"Flat {number} costs {number} euros."]


def test_fifty_concurrent_retrieval_chains_keep_their_own_documents() -> None:
    def find(query: str) -> list[LangChainDocument]:
        return [LangChainDocument(f"Flat {query} costs {query} euros.", metadata={"page": int(query)})]

    class Finder(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
            return find(query)

    async def tell(inputs: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
        asked: dict[str, Any] = {}
        async for given in inputs:  # the question may come before the documents
            asked |= given
        yield f"Flat {asked['question']} costs {asked['question']} euros. Flat 99 costs 99 euros. "

    def unused(inputs: Iterator[Any]) -> Iterator[str]:
        yield from ()

    whole = {"context": Finder(), "question": RunnablePassthrough()} | RunnableGenerator(unused, tell)
    subject = guard().as_runnable(whole, return_result=True)
    results = asyncio.run(subject.abatch([str(n) for n in range(50)]))
    for number, result in enumerate(results):
        assert result.text == f"Flat {number} costs {number} euros. "
        assert [result.document(c).metadata for c in result.citations] == [{"page": number}]


def test_documents_are_found_where_the_chain_retrieves_them() -> None:
    whole = rag(LangChainDocument(SOURCE, id="lease", metadata={"page": 3}), answer=TRUE + FALSE)
    subject = GuardedRunnable(whole, guard=guard(), return_result=True)
    for result in (subject.invoke("How much?"), asyncio.run(subject.ainvoke("How much?"))):
        assert result.text == TRUE
        (citation,) = result.citations
        assert citation.document_id == "lease"
        assert result.document(citation).metadata == {"page": 3}
        assert SOURCE[citation.start : citation.end] == citation.text == "The rent is 950 euros a month."


def test_documents_come_with_a_chain_that_returns_them() -> None:
    whole = RunnablePassthrough.assign(context=lambda _: [LangChainDocument(SOURCE)]) | RunnablePassthrough.assign(
        answer=chain(TRUE, FALSE)
    )
    subject = GuardedRunnable(whole, guard=guard(), documents_key="context", prompt_key="input")
    assert list(subject.stream({"input": "How much?"})) == [TRUE]
    with pytest.raises(InputError, match="answer_key"):
        GuardedRunnable(whole, guard=guard(), answer_key="output").invoke({"input": "How much?"})


def test_tool_results_inside_a_chain_are_sources() -> None:
    @tool
    def look_up(query: str) -> str:
        """Look it up."""
        return SOURCE

    subject = GuardedRunnable(look_up | chain(TRUE, FALSE), guard=guard())
    assert subject.invoke("rent") == TRUE
    for named in ([look_up], ["note", "look_up"]):
        assert GuardedRunnable(look_up | chain(TRUE, FALSE), guard=guard(), source_tools=named).invoke("rent") == TRUE
    other = GuardedRunnable(look_up | chain(TRUE), guard=guard(), source_tools=["note"], return_result=True)
    (sentence,) = other.invoke("rent").sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    assert "of note alone" in (sentence.reason or "")
    with pytest.raises(InputError, match=r"\['look_up'\]"):
        GuardedRunnable(chain(TRUE), guard=guard(), source_tools="look_up")


def test_ids_are_made_distinct_and_empty_documents_counted() -> None:
    documents = [
        LangChainDocument(SOURCE, id="lease", metadata={"page": 1}),
        LangChainDocument("The keys are blue.", id="lease", metadata={"page": 2}),
        LangChainDocument("", id="blank"),
        LangChainDocument(" \n", metadata={"source": "blank.txt"}),
        LangChainDocument("The door is red.", metadata={"source": "doors.txt"}),
        LangChainDocument("The roof is flat."),
        LangChainDocument("The roof is new."),
        LangChainDocument(SOURCE, id="lease", metadata={"page": 1}),
    ]
    subject = GuardedRunnable(chain("The keys are blue. The roof is new."), guard=guard(), return_result=True)
    result = subject.invoke({"documents": documents, "prompt": "?"})
    assert [d.id for d in result.documents] == ["lease", "lease-2", "doors.txt", "source", "source-2"]
    assert result.empty_documents == 2
    assert [c.document_id for c in result.citations] == ["lease-2", "source-2"]
    assert result.document(result.citations[0]).metadata == {"page": 2}


@pytest.mark.parametrize("documents", [None, [], "", [LangChainDocument("")]])
def test_no_source_says_where_it_was_looked_for(documents: Any) -> None:
    given = {"passages": documents, "prompt": "?"}
    subject = GuardedRunnable(chain(TRUE), guard=guard(), documents_key="passages", return_result=True)
    result = subject.invoke(given)
    assert result.text == ""
    assert [s.verdict for s in result.sentences] == [Verdict.NO_SOURCE]
    assert "'passages'" in (result.sentences[0].reason or "")
    assert GuardedRunnable(chain(TRUE), guard=guard(on_no_source="open")).invoke(given) == TRUE
    with pytest.raises(UnsupportedError, match="'documents'"):
        GuardedRunnable(chain(TRUE), guard=guard(fallback="raise")).invoke(given)


def test_documents_of_no_use_are_refused() -> None:
    with pytest.raises(InputError, match="int"):
        GuardedRunnable(chain(TRUE), guard=guard()).invoke({"documents": [3], "prompt": "?"})


class Recording(FakeListChatModel):
    """Notes what it is asked, as text."""

    asked: list[list[tuple[str, str]]] = []  # noqa: RUF012

    def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Any:
        self.asked.append([(message.type, str(message.text)) for message in messages])
        return super()._stream(messages, *arguments, **kwargs)


def test_a_model_gets_the_documents_before_the_prompt() -> None:
    model = Recording(responses=[TRUE], asked=[])
    for wrapped in (model, model.with_retry(), model.bind(stop=["x"]), model.with_config(tags=["t"])):
        model.asked.clear()
        assert GuardedRunnable(wrapped, guard=guard()).invoke(INPUT) == TRUE
        ((kind, text),) = model.asked[0]
        assert kind == "human"
        assert text.index(SOURCE) < text.index("How much is the rent?")
    GuardedRunnable(model, guard=guard(), template="Q: {prompt} D: {documents}").invoke(INPUT)
    assert model.asked[-1] == [("human", f"Q: How much is the rent? D: {SOURCE}")]
    with pytest.raises(InputError, match="'prompt'"):
        GuardedRunnable(model, guard=guard()).invoke({"documents": SOURCE, "question": "?"})


def test_a_chat_model_is_asked_to_go_on_after_a_refusal() -> None:
    model = Recording(responses=[TRUE + FALSE, TRUE + "Pets are not allowed."], asked=[])
    result = GuardedRunnable(model, guard=guard(), return_result=True).invoke(INPUT)
    assert result.text == TRUE + "Pets are not allowed."  # the repeated first sentence is not repeated
    assert [a.text for a in result.sentences[1].attempts] == [FALSE, "Pets are not allowed."]
    assert [kind for kind, _ in model.asked[1]] == ["human", "ai", "human"]
    assert model.asked[1][1][1] == TRUE
    assert FALSE.strip() in model.asked[1][2][1]
    assert result.generation["calls"] == 2


def test_a_completion_model_is_continued() -> None:
    asked: list[str] = []

    class Completing(FakeListLLM):
        def _call(self, prompt: str, *arguments: Any, **kwargs: Any) -> str:
            asked.append(prompt)
            return super()._call(prompt, *arguments, **kwargs)

    model = Completing(responses=[TRUE + FALSE, "Pets are not allowed."])
    assert GuardedRunnable(model, guard=guard()).invoke(INPUT) == TRUE + "Pets are not allowed."
    assert asked[1] == asked[0] + TRUE


def test_a_chain_is_run_again_for_its_first_sentence_only() -> None:
    runs: list[Any] = []
    answers = iter([FALSE, TRUE + FALSE])

    def write(given: Any) -> str:
        runs.append(given)
        return next(answers)

    assert GuardedRunnable(RunnableLambda(write), guard=guard()).invoke(INPUT) == TRUE
    assert runs == [INPUT, INPUT]


def test_the_guards_own_generator_as_a_runnable() -> None:
    script = [TRUE, [FALSE, "Pets are not allowed. "]]
    subject = Guard(ScriptedGenerator(script), scorer="scale", judge=FakeEntailment()).as_runnable()
    assert subject.invoke(INPUT) == TRUE + "Pets are not allowed. "
    assert asyncio.run(gathered(subject.astream(INPUT))) == [TRUE, "Pets are not allowed. "]
    with pytest.raises(InputError, match="nothing to guard"):
        GuardedRunnable(guard=guard())


def test_a_call_that_fails_outright_raises_its_own_exception_and_can_be_retried() -> None:
    calls: list[int] = []

    def write(given: Any) -> str:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("gone")
        return TRUE

    subject = GuardedRunnable(RunnableLambda(write), guard=guard())
    with pytest.raises(ConnectionError, match="gone"):
        subject.invoke(INPUT)
    retried = subject.with_retry(wait_exponential_jitter=False, stop_after_attempt=2)
    assert retried.invoke(INPUT) == TRUE
    assert len(calls) == 3


def dying(inputs: Iterator[Any]) -> Iterator[str]:
    yield TRUE + "The lease "
    raise ConnectionError("gone")


def test_a_stream_that_dies_half_way_keeps_what_was_released() -> None:
    result = GuardedRunnable(RunnableGenerator(dying), guard=guard(), return_result=True).invoke(INPUT)
    assert result.text == TRUE
    assert result.sentences[-1].verdict is Verdict.ERROR
    assert "gone" in (result.sentences[-1].reason or "")
    raising = GuardedRunnable(RunnableGenerator(dying), guard=guard(fallback="raise"))
    shown: list[str] = []
    with pytest.raises(GenerationError, match="gone"):
        shown.extend(raising.stream(INPUT))
    with pytest.raises(GenerationError, match="gone"):
        raising.invoke(INPUT)


def test_a_model_that_streams_nothing_gives_an_empty_answer() -> None:
    assert GuardedRunnable(chain(), guard=guard()).invoke(INPUT) == ""
    assert asyncio.run(GuardedRunnable(chain(), guard=guard()).ainvoke(INPUT)) == ""


def test_messages_are_read_and_other_things_refused() -> None:
    assert GuardedRunnable(RunnableLambda(lambda _: AIMessage(TRUE)), guard=guard()).invoke(INPUT) == TRUE
    blocks = AIMessageChunk(content=[{"type": "text", "text": TRUE}])
    assert GuardedRunnable(RunnableLambda(lambda _: blocks), guard=guard()).invoke(INPUT) == TRUE
    with pytest.raises(InputError, match="int"):
        GuardedRunnable(RunnableLambda(lambda _: 3), guard=guard()).invoke(INPUT)


class Watching(BaseCallbackHandler):
    """Notes names, tags and parents of chain runs, and how they end."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str]]] = []
        self.outputs: list[Any] = []
        self.errors: list[BaseException] = []
        self.parents: dict[Any, Any] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.started.append((kwargs["name"], kwargs["tags"] or []))
        self.parents[kwargs["run_id"]] = kwargs["parent_run_id"]

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.outputs.append(outputs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self.errors.append(error)


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "astream"])
def test_runs_are_traced_by_name_with_the_chain_inside(way: str) -> None:
    watching = Watching()
    subject = GuardedRunnable(chain(TRUE, FALSE).with_config(run_name="inner"), guard=guard(), name="guarded")
    configured = subject.with_config(callbacks=[watching], tags=["legal"])
    match way:
        case "stream":
            list(configured.stream(INPUT))
        case "astream":
            asyncio.run(gathered(configured.astream(INPUT)))
        case "ainvoke":
            asyncio.run(configured.ainvoke(INPUT))
        case _:
            configured.invoke(INPUT)
    assert [name for name, _ in watching.started] == ["guarded", "inner"]
    assert all("legal" in tags for _, tags in watching.started)
    outer, inner = watching.parents
    assert watching.parents[outer] is None
    assert watching.parents[inner] == outer
    assert watching.outputs[-1] == TRUE
    assert not watching.errors


def test_an_unsupported_answer_is_an_error_of_the_run() -> None:
    watching = Watching()
    subject = GuardedRunnable(chain(FALSE), guard=guard(fallback="raise"))
    with pytest.raises(UnsupportedError, match="990") as caught:
        subject.invoke(INPUT, {"callbacks": [watching]})
    assert isinstance(watching.errors[-1], UnsupportedError)
    assert isinstance(caught.value.result, SourcedResult)


def test_it_composes_in_a_sequence_and_batches_with_exceptions() -> None:
    whole: Runnable[Any, Any] = RunnableLambda(lambda text: {"documents": text, "prompt": "?"}) | GuardedRunnable(
        chain(TRUE, FALSE), guard=guard()
    )
    assert (whole | (lambda text: text.upper())).invoke(SOURCE) == TRUE.upper()
    assert list(whole.stream(SOURCE)) == [TRUE]
    good, bad = GuardedRunnable(chain(TRUE), guard=guard()).batch([INPUT, {"documents": 3}], return_exceptions=True)
    assert good == TRUE
    assert isinstance(bad, InputError)


def test_events_show_sentences_and_no_unreleased_text() -> None:
    subject = GuardedRunnable(rag(LangChainDocument(SOURCE, metadata={"page": 3}), answer=TRUE + FALSE), guard=guard())

    async def events() -> list[Any]:
        return [event async for event in subject.astream_events("How much?", version="v2")]

    seen = asyncio.run(events())
    sentences = [e["data"] for e in seen if e["event"] == "on_custom_event" and e["name"] == "groundrail_sentence"]
    assert [s["verdict"] for s in sentences] == ["supported", "unsupported"]
    assert sentences[0]["citations"][0]["metadata"] == {"page": 3}
    (result,) = [e["data"] for e in seen if e["name"] == "groundrail_result"]
    assert result.text == TRUE
    told = [e for e in seen if e["event"] != "on_custom_event"]
    assert "990 euros" not in str(told)
    assert TRUE in str(told)


class _TakesEvents(BaseCallbackHandler):
    def on_stream_event(self, event: Any, **kwargs: Any) -> None:
        """As LangGraph's handlers of a model's stream do."""


class _Counts(BaseTracer):
    def _persist_run(self, run: Any) -> None:
        """Nothing to keep."""


@pytest.mark.parametrize("handler", [LogStreamCallbackHandler(), _TakesEvents()], ids=lambda h: type(h).__name__)
def test_a_handler_that_streams_to_a_consumer_is_left_out_of_the_wrapped_run(handler: BaseCallbackHandler) -> None:
    assert forwards_tokens(handler)


@pytest.mark.parametrize(
    "handler",
    [BaseCallbackHandler(), AsyncCallbackHandler(), StdOutCallbackHandler(), _Counts()],
    ids=lambda h: type(h).__name__,
)
def test_a_handler_that_only_looks_on_stays(handler: BaseCallbackHandler) -> None:
    assert not forwards_tokens(handler)


def test_groundrail_documents_and_text_are_documents_too() -> None:
    for documents in (SOURCE, [SOURCE], Document(text=SOURCE), [Document(text=SOURCE, id="a")]):
        assert GuardedRunnable(chain(TRUE, FALSE), guard=guard()).invoke({"documents": documents}) == TRUE


@pytest.mark.parametrize("is_async", [False, True])
def test_the_time_until_the_first_text_has_a_deadline(is_async: bool) -> None:
    release = threading.Event()

    def slow(inputs: Any) -> str:
        release.wait(20)
        return TRUE

    subject = GuardedRunnable(RunnableLambda(slow), guard=guard(deadline=0.2), return_result=True)
    if is_async:
        task = subject.ainvoke(INPUT)

        async def run() -> SourcedResult:
            result: SourcedResult = await task
            release.set()  # the chain's own thread, which is not ours to leave behind
            return result

        result = asyncio.run(run())
    else:
        result = subject.invoke(INPUT)
        release.set()
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT]
    assert result.text == ""
