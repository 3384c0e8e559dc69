"""A claim in its context: the words that are claimed, behind the words that say how they are meant.

The context is the user's message, the heading above the sentence and, if the sentence points back, the sentence before it.
The judge reads it with the claim, but only the claim has to be supported. Training, guard and evaluation use this form.
"""

import re

from groundrail.errors import UncheckableError
from groundrail.text.english.phrases import depends_on_sentence, question_of
from groundrail.text.rendering.visible import visible

MARK = "\x1f"
"""The ASCII unit separator, which stands between context and claim and in no other text."""

_LONGEST_MESSAGE, _LONGEST_PART = 300, 200
"""Maximum number of characters of the user's message, and of each other part of a context."""

_NO_WORD = re.compile(r"^[\W_]+(?=\w)")


def in_context(claim: str, context: str) -> str:
    """The claim behind its context.

    >>> in_context("Until Friday.", "When must I pay?").split(MARK)
    ['When must I pay?', 'Until Friday.']
    >>> in_context("The rent is due.", "")
    'The rent is due.'
    """
    claim, context = claim.replace(MARK, " "), " ".join(context.split())
    return f"{context}{MARK}{claim}" if context else claim


def claimed(text: str) -> str:
    """The words that are claimed, without their context.

    >>> claimed(in_context("Until Friday.", "When must I pay?"))
    'Until Friday.'
    """
    return text.rpartition(MARK)[2]


def context_of(claim: str, *, question: str = "", heading: str = "", previous: str = "") -> str:
    """The context of a claim in an answer.

    Args:
        question: the user's message, or a prompt that ends with the user's question.
        heading: the heading above the sentence (`Sentence.heading`).
        previous: the sentence before, which counts if the claim points back to it.

    Raises: UncheckableError for a claim that points back to a sentence that cannot be read.

    >>> context_of("It costs 12 euros.", question="What is a visit?", heading="Pool", previous="The pool is open daily.")
    'What is a visit? Pool: The pool is open daily.'
    """
    before = _ending(shown_words(previous)) if depends_on_sentence(claim, nouns=True) else ""
    above = _ending(shown_words(heading))
    parts = [message_of(question), f"{above.rstrip(':')}:" if above else "", before if before != above else ""]
    return " ".join(part for part in parts if part and part not in claim)


def around(question: str, previous: str) -> str:
    """The user's message and the sentence before, from which the kind of a sentence is read (`groundrail.text.kinds`)."""
    try:
        before = shown_words(previous)
    except UncheckableError:
        before = ""  # no reader sees it
    return " ".join(filter(None, [message_of(question), before]))


def message_of(question: str) -> str:
    """The user's message: a short text whole, of a longer one the question that it ends with.

    A long text, such as a whole prompt, may hold the documents themselves, which are no context of a claim.
    """
    words = " ".join(question.split())
    return words if len(words) <= _LONGEST_MESSAGE else _ending(question_of(question))


def shown_words(text: str) -> str:
    """The words of a line that a reader sees, without marks at its beginning."""
    return _NO_WORD.sub("", " ".join(visible(text).split()))


def _ending(text: str) -> str:
    """The last words of a text, as many as a context has room for."""
    return text if len(text) <= _LONGEST_PART else text[-_LONGEST_PART:].partition(" ")[2]
