"""Documents that any runnable of a guarded chain returns, and the error where there are none."""

import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from tests.integrations.langchain.conftest import FALSE, PROMPT, SOURCE, TRUE, WAYS, asked, calling, guard, scripted

from groundrail import InputError, UnsupportedError, Verdict
from groundrail.integrations.langchain import GuardedRunnable


def lease(question: Any) -> list[Document]:
    return [Document(SOURCE, id="lease")]


def joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


def in_question(question: Any) -> str:
    return "?"


FINDERS: dict[str, Any] = {
    "a lambda": {"context": lease, "question": in_question},
    "a lambda whose documents are joined": {"context": RunnableLambda(lease) | joined, "question": in_question},
    "an assignment": RunnablePassthrough.assign(context=lease, question=in_question),
    "a single document": {"context": lambda given: lease(given)[0], "question": in_question},
    "a step of its own": RunnableLambda(lambda given: {"passages": lease(given), "context": "", "question": "?"}),
}


def answering(find: Any, model: BaseChatModel) -> Runnable[Any, str]:
    first: Runnable[Any, Any] = RunnablePassthrough() | find
    return first | PROMPT | model | StrOutputParser()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("find", FINDERS.values(), ids=FINDERS)
def test_documents_of_any_runnable_of_the_chain_are_sources(find: Any, way: str) -> None:
    subject = GuardedRunnable(answering(find, scripted(TRUE + FALSE)), guard=guard(), return_result=True)
    (result,) = asked(subject, way, {"asked": "How much?"})
    assert result.text == TRUE
    assert [citation.document_id for citation in result.citations] == ["lease"]


def test_text_is_a_source_under_the_key_that_is_named() -> None:
    find = {"context": lambda given: SOURCE, "question": in_question}
    subject = GuardedRunnable(answering(find, scripted(TRUE + FALSE)), guard=guard(), documents_key="context")
    assert subject.invoke("How much?") == TRUE


def test_a_document_that_a_model_wrote_is_no_source() -> None:
    guess = scripted(FALSE + "Pets are welcome in all flats.") | StrOutputParser()
    as_document = guess | RunnableLambda(lambda text: [Document(text)])
    for find in (
        {"context": as_document, "question": in_question},
        {"context": as_document | joined, "question": in_question},
        {"context": guess | RunnableLambda(lambda text: [Document(text), *lease(text)]), "question": in_question},
    ):
        subject = GuardedRunnable(
            answering(find, scripted(FALSE)), guard=guard(), documents_key="context", return_result=True
        )
        (sentence,) = subject.invoke("How much?").sentences
        assert not sentence.released


def test_a_document_that_a_tool_was_given_to_keep_is_no_source() -> None:
    @tool(response_format="content_and_artifact")
    def keep(text: str) -> tuple[str, list[Document]]:
        """Keep a note."""
        return "Kept.", [Document(text)]

    call: Any = {"name": "keep", "args": {"text": FALSE}, "id": "1", "type": "tool_call"}
    for kept in (
        lambda given: keep.invoke(call).artifact,
        scripted(calling("keep", json.dumps({"text": FALSE})))
        | RunnableLambda(lambda said: [Document(said.tool_calls[0]["args"]["text"])]),
    ):
        chain = answering({"context": kept, "question": in_question}, scripted(FALSE))
        (sentence,) = GuardedRunnable(chain, guard=guard(), return_result=True).invoke("How much?").sentences
        assert not sentence.released


@pytest.mark.parametrize("way", [*WAYS, "batch", "abatch"])
def test_a_chain_that_saw_no_source_raises_in_place_of_an_empty_answer(way: str) -> None:
    chain = answering({"context": lambda given: SOURCE, "question": in_question}, scripted(TRUE))
    with pytest.raises(UnsupportedError, match=r"looked at the input's key 'documents'.*documents_key.*abstain") as told:
        asked(GuardedRunnable(chain, guard=guard()), way, "How much?")
    assert told.value.result is not None
    assert [sentence.verdict for sentence in told.value.result.sentences] == [Verdict.NO_SOURCE]


@pytest.mark.parametrize(
    ("policy", "text"), [({"fallback": "abstain", "abstention": "Ask us."}, "Ask us."), ({"on_no_source": "open"}, TRUE)]
)
def test_a_policy_that_says_what_to_do_without_source_is_followed(policy: dict[str, Any], text: str) -> None:
    chain = answering({"context": in_question, "question": in_question}, scripted(TRUE))
    assert GuardedRunnable(chain, guard=guard(**policy)).invoke("How much?") == text


def test_talk_needs_no_source() -> None:
    chain = answering({"context": in_question, "question": in_question}, scripted("Hello! How can I help?"))
    assert GuardedRunnable(chain, guard=guard()).invoke("Hi!") == "Hello! How can I help?"
    with pytest.raises(InputError, match="int"):
        GuardedRunnable(chain, guard=guard()).invoke({"documents": 3})
