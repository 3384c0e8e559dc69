"""A chatbot in the terminal that says only what its document supports, with citations as footnotes.

    python examples/chatbot.py --document examples/documents/lease.txt
    python examples/chatbot.py --model HuggingFaceTB/SmolLM2-1.7B-Instruct

Without `--model` it is SmolLM2-135M, which is small: expect it to know less than the document says.
An empty line ends the talk.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from groundrail import Document, Guard, Policy
from groundrail.chat import ChatGuard, Turn

LEASE = Path(__file__).parent / "documents" / "lease.txt"
POLICY = Policy(abstention="I don't know.")


def footnoted(turn: Turn) -> str:
    """The reply with a mark after each cited sentence, and the places in the source below it."""
    return turn.reply if turn.abstained else turn.result.to_markdown().strip()


def talk(chat: ChatGuard, ask: Callable[[str], str] = input, show: Callable[[str], None] = print) -> None:
    """Turn after turn, until an empty line or the end of the input."""
    while True:
        try:
            message = ask("> ").strip()
        except EOFError:
            return
        if not message:
            return
        show(footnoted(chat.ask(message)) + "\n")


def guard(model: str | None) -> Guard:
    """A guard around a model by id, or around SmolLM2-135M."""
    if model is not None:
        return Guard.from_pretrained(model, policy=POLICY)
    from groundrail.decoding.generator import HFGenerator
    from groundrail.generators.smollm2 import smollm2

    return Guard(HFGenerator(*smollm2()), policy=POLICY)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--document", type=Path, default=LEASE)
    parser.add_argument("--model")
    arguments = parser.parse_args()
    text = arguments.document.read_text(encoding="utf-8")
    source = Document(text=text, id=arguments.document.name)
    talk(ChatGuard(guard(arguments.model), source=source, answers_as_source=True))


if __name__ == "__main__":
    main()
