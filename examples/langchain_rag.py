"""A retrieval chain over this folder's documents with SmolLM2 for a model, guarded in one line.

    python examples/langchain_rag.py "When does the lease end?"

The retriever counts shared words and the model is small; what the guard lets through is in the documents.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough

from groundrail import Guard

DOCUMENTS = Path(__file__).parent / "documents"
PROMPT = ChatPromptTemplate.from_template(
    "Answer in one or two sentences, with facts from the text only.\n\nText:\n{context}\n\nQuestion: {question}"
)


class SharedWords(BaseRetriever):
    """Finds the sections that share most words with the query, rare words counting more."""

    sections: list[Document]
    k: int = 2

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        spread = Counter(word for section in self.sections for word in _words(section.page_content))
        asked = _words(query)

        def score(section: Document) -> float:
            return sum(1 / spread[word] for word in asked & _words(section.page_content))

        return sorted(self.sections, key=score, reverse=True)[: self.k]


class TransformersChat(BaseChatModel):
    """A transformers model with a chat template as a LangChain chat model that streams."""

    model: Any
    tokenizer: Any
    max_new_tokens: int = 60

    @property
    def _llm_type(self) -> str:
        return "transformers"

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages))

    def _stream(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        from transformers import TextIteratorStreamer

        roles = {"human": "user", "ai": "assistant", "system": "system"}
        turns = [{"role": roles[message.type], "content": message.text} for message in messages]
        prompt = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        streamer = TextIteratorStreamer(self.tokenizer, skip_prompt=True, skip_special_tokens=True)
        options = {"max_new_tokens": self.max_new_tokens, "do_sample": False, "streamer": streamer}
        writing = Thread(target=self.model.generate, kwargs={**prompt, **options})
        writing.start()
        for text in streamer:
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        writing.join()


def sections(folder: Path = DOCUMENTS) -> list[Document]:
    """The paragraphs of the folder's texts, named by file and number."""
    found = []
    for path in sorted(folder.glob("*.txt")):
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\n\n"), start=1):
            found.append(Document(text, id=f"{path.stem}-{number}", metadata={"source": path.name, "section": number}))
    return found


def retrieval_chain(model: BaseChatModel) -> Runnable[str, str]:
    """The chain as it was before groundrail."""
    retrieve = {"context": SharedWords(sections=sections()), "question": RunnablePassthrough()}
    return retrieve | PROMPT | model | StrOutputParser()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("question")
    question = parser.parse_args().question
    from groundrail.generators.smollm2 import smollm2

    model, tokenizer = smollm2()
    chain = Guard().as_runnable(retrieval_chain(TransformersChat(model=model, tokenizer=tokenizer)), return_result=True)
    result = chain.invoke(question)
    for sentence in result.sentences:
        print(f"{sentence.verdict:12} {sentence.text.strip()}")
    print("\nReleased:", result.text.strip() or "(nothing)")
    for citation in result.citations:
        where = result.document(citation).metadata
        print(f"  {where['source']}, section {where['section']}: {citation.text.strip()}")


if __name__ == "__main__":
    main()
