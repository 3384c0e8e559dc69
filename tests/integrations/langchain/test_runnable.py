"""GuardedRunnable around langchain-core's fakes: what it releases, where its sources come from, Runnable manners."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, StdOutCallbackHandler
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.log_stream import LogStreamCallbackHandler
from tests.integrations.langchain.conftest import ALSO_TRUE, FALSE, SOURCE, TRUE, WAYS, asked, events, guard, rag, scripted

from groundrail import Document, Guard, InputError, UnsupportedError, Verdict
from groundrail.integrations.langchain import GuardedRunnable, SourcedResult
from groundrail.integrations.langchain.guarded_run import forwards_tokens
from groundrail.testing import FakeEntailment, ScriptedGenerator

INPUT: Any = {"documents": [LangChainDocument(SOURCE)], "prompt": "How much is the rent?"}


def chain(*sentences: str) -> Runnable[Any, str]:
    """A chain that streams its sentences letter by letter, whatever it is asked."""
    ask: Runnable[Any, str] = RunnableLambda(lambda given: "?")
    return ask | scripted("".join(sentences)) | StrOutputParser()


@pytest.mark.parametrize("way", [*WAYS, "batch", "abatch"])
def test_the_false_sentence_never_reaches_the_consumer(way: str) -> None:
    subject = GuardedRunnable(chain(TRUE, FALSE, ALSO_TRUE), guard=guard())
    streams = way in ("stream", "astream")
    assert asked(subject, way, INPUT) == ([TRUE, ALSO_TRUE] if streams else [TRUE + ALSO_TRUE])
    assert asked(GuardedRunnable(chain(), guard=guard()), way, INPUT) == ([] if streams else [""])


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


@pytest.mark.parametrize("way", WAYS)
def test_documents_are_found_where_the_chain_retrieves_them(way: str) -> None:
    whole = rag(TRUE + FALSE, LangChainDocument(SOURCE, id="lease", metadata={"page": 3}))
    (result,) = asked(GuardedRunnable(whole, guard=guard(), return_result=True), way, "How much?")
    assert result.text == TRUE
    (citation,) = result.citations
    assert citation.document_id == "lease"
    assert result.document(citation).metadata == {"page": 3}
    assert SOURCE[citation.start : citation.end] == citation.text == "The rent is 950 euros a month."


def test_documents_come_with_a_chain_that_returns_them() -> None:
    finding = RunnablePassthrough.assign(context=lambda _: [LangChainDocument(SOURCE)])
    whole = finding | RunnablePassthrough.assign(answer=chain(TRUE, FALSE))
    subject = GuardedRunnable(whole, guard=guard(), documents_key="context", prompt_key="input")
    assert list(subject.stream({"input": "How much?"})) == [TRUE]
    with pytest.raises(InputError, match="answer_key"):
        GuardedRunnable(whole, guard=guard(), answer_key="output").invoke({"input": "How much?"})


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
def test_without_text_in_its_documents_an_answer_has_no_source(documents: Any) -> None:
    subject = GuardedRunnable(chain(TRUE), guard=guard(), documents_key="passages", return_result=True)
    (sentence,) = subject.invoke({"passages": documents, "prompt": "?"}).sentences
    assert sentence.verdict is Verdict.NO_SOURCE
    assert "'passages'" in (sentence.reason or "")


def test_documents_of_no_use_are_refused() -> None:
    with pytest.raises(InputError, match="int"):
        GuardedRunnable(chain(TRUE), guard=guard()).invoke({"documents": [3], "prompt": "?"})


def test_a_model_gets_the_documents_before_the_prompt() -> None:
    model = scripted(TRUE)
    for wrapped in (model, model.with_retry(), model.bind(stop=["x"]), model.with_config(tags=["t"])):
        assert GuardedRunnable(wrapped, guard=guard()).invoke(INPUT) == TRUE
        (message,) = model.asked[-1]
        assert message.type == "human"
        assert message.text.index(SOURCE) < message.text.index("How much is the rent?")
    GuardedRunnable(model, guard=guard(), template="Q: {prompt} D: {documents}").invoke(INPUT)
    assert [message.text for message in model.asked[-1]] == [f"Q: How much is the rent? D: {SOURCE}"]
    with pytest.raises(InputError, match="'prompt'"):
        GuardedRunnable(model, guard=guard()).invoke({"documents": SOURCE, "question": "?"})


def test_a_chat_model_is_asked_to_go_on_after_a_refusal() -> None:
    model = scripted(TRUE + FALSE, TRUE + ALSO_TRUE)
    result = GuardedRunnable(model, guard=guard(), return_result=True).invoke(INPUT)
    assert result.text == TRUE + ALSO_TRUE  # the repeated first sentence is not repeated
    assert [a.text for a in result.sentences[1].attempts] == [FALSE, ALSO_TRUE]
    assert len(model.asked) == result.generation["calls"] == 2
    _, stands, request = model.asked[1]
    assert (stands.type, stands.text, request.type) == ("ai", TRUE.rstrip(), "human")
    assert FALSE.strip() in request.text


def test_a_completion_model_is_continued() -> None:
    asked: list[str] = []

    class Completing(FakeListLLM):
        def _call(self, prompt: str, *arguments: Any, **kwargs: Any) -> str:
            asked.append(prompt)
            return super()._call(prompt, *arguments, **kwargs)

    model = Completing(responses=[TRUE + FALSE, ALSO_TRUE])
    assert GuardedRunnable(model, guard=guard()).invoke(INPUT) == TRUE + ALSO_TRUE
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
    assert asked(subject, "astream", INPUT) == [TRUE, "Pets are not allowed. "]
    with pytest.raises(InputError, match="nothing to guard"):
        GuardedRunnable(guard=guard())
    with pytest.raises(InputError, match="str is no Runnable"):
        GuardedRunnable("gpt")  # type: ignore[arg-type]


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


@pytest.mark.parametrize("way", WAYS)
def test_runs_are_traced_by_name_with_the_chain_inside(way: str) -> None:
    watching = Watching()
    inner: Runnable[Any, str] = RunnableLambda(lambda given: TRUE + FALSE).with_config(run_name="inner")
    subject = GuardedRunnable(inner, guard=guard(), name="guarded")
    asked(subject.with_config(callbacks=[watching], tags=["legal"]), way, INPUT)
    assert [name for name, _ in watching.started] == ["guarded", "inner"]
    assert all("legal" in tags for _, tags in watching.started)
    assert list(watching.parents.values()) == [None, next(iter(watching.parents))]
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
    given: Runnable[Any, Any] = RunnableLambda(lambda text: {"documents": text, "prompt": "?"})
    whole = given | GuardedRunnable(chain(TRUE, FALSE), guard=guard())
    assert (whole | (lambda text: text.upper())).invoke(SOURCE) == TRUE.upper()
    assert list(whole.stream(SOURCE)) == [TRUE]
    good, bad = GuardedRunnable(chain(TRUE), guard=guard()).batch([INPUT, {"documents": 3}], return_exceptions=True)
    assert good == TRUE
    assert isinstance(bad, InputError)


def test_events_show_sentences_and_no_unreleased_text() -> None:
    seen = events(GuardedRunnable(rag(TRUE + FALSE, LangChainDocument(SOURCE, metadata={"page": 3})), guard=guard()), "?")
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


def test_a_handler_that_streams_to_a_consumer_is_left_out_and_others_stay() -> None:
    assert all(map(forwards_tokens, [LogStreamCallbackHandler(), _TakesEvents()]))
    only_look_on = [BaseCallbackHandler(), AsyncCallbackHandler(), StdOutCallbackHandler(), _Counts()]
    assert not any(map(forwards_tokens, only_look_on))


def test_groundrail_documents_and_text_are_documents_too() -> None:
    for documents in (SOURCE, [SOURCE], Document(text=SOURCE), [Document(text=SOURCE, id="a")]):
        assert GuardedRunnable(chain(TRUE, FALSE), guard=guard()).invoke({"documents": documents}) == TRUE


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_the_time_until_the_first_text_has_a_deadline(way: str) -> None:
    release = threading.Event()

    def slow(inputs: Any) -> str:
        release.wait(20)
        return TRUE

    def done(result: SourcedResult) -> SourcedResult:
        release.set()  # the chain's own thread, which is not ours to leave behind
        return result

    subject = GuardedRunnable(RunnableLambda(slow), guard=guard(deadline=0.2), return_result=True)
    (result,) = asked(subject | RunnableLambda(done), way, INPUT)
    assert [s.verdict for s in result.sentences] == [Verdict.TIMEOUT]
    assert result.text == ""
