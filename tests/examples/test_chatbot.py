"""The chatbot example with scripted parts: footnotes, abstention, the end of the talk."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from groundrail import Document, Guard, Policy
from groundrail.chat import ChatGuard
from groundrail.testing import FakeEntailment

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def chatbot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chatbot", EXAMPLES / "chatbot.py")
    if spec is None or spec.loader is None:
        raise ImportError("examples/chatbot.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_talk(chatbot: ModuleType) -> None:
    def write(prompt: str, documents: Sequence[Document]) -> str:
        return "Hello!" if prompt.endswith("Hi") else "The rent is 950 euros. " if "rent" in prompt else "Dragons fly."

    guard = Guard(write, scorer="scale", judge=FakeEntailment(), policy=Policy(abstention="I don't know."))
    chat = ChatGuard(guard, source=Document(text="The rent is 950 euros.", id="lease.txt"))
    asked = iter(["Hi", "Who flies?", "How much is the rent?", ""])
    shown: list[str] = []
    chatbot.talk(chat, ask=lambda prompt: next(asked), show=shown.append)
    assert shown[:2] == ["Hello!\n", "I don't know.\n"]
    assert shown[2].startswith("The rent is 950 euros.[^1]")
    assert "(lease.txt, characters 0-22)" in shown[2]
    assert len(chat.turns) == 3


def test_the_end_of_the_input_ends_the_talk(chatbot: ModuleType) -> None:
    def ask(prompt: str) -> str:
        raise EOFError

    shown: list[str] = []
    chatbot.talk(ChatGuard(Guard(lambda prompt: "", scorer="scale", judge=FakeEntailment())), ask=ask, show=shown.append)
    assert shown == []
