"""The topic of a sentence that says that the source is silent."""

import pytest

from groundrail.text.english.silence import topic_of
from groundrail.text.english.words import stems


@pytest.mark.parametrize(
    ("sentence", "topic"),
    [
        ("The lease does not mention parking.", "parking"),
        ("The lease doesn’t say who pays for heating.", "pays heating"),
        ("I can't find a price in it.", "price"),
        ("Whether dogs may stay isn't mentioned.", "dogs stay"),
        ("Nothing in it says that you can pay by card.", "pay card"),
        ("The text is silent on dogs.", "dogs"),
        ("It is not stated.", ""),
    ],
)
def test_the_topic_stands_behind_the_denial_or_else_before_it(sentence: str, topic: str) -> None:
    assert topic_of(sentence) == frozenset(stems(topic))
