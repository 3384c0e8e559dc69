"""A figure or a name that neither source nor user gave is claimed, whatever a model takes the sentence for."""

import pytest

from groundrail.text.kinds import may_be_talk, words_of


@pytest.mark.parametrize(
    ("sentence", "around", "source", "is_talk"),
    [
        ("Sorry to hear that!", "My flight was cancelled.", "", True),
        ("Hi Maria! I am glad to help.", "I'm Maria.", "", True),
        ("I can't give legal advice.", "", "", True),
        ("Hello Maria!", "", "Maria Lind owns the house.", True),
        ("Hello Maria!", "", "Anna Lind owns the house.", False),
        ("Would you like the details on the 20 euros?", "", "The fee is 40 euros.", False),
        ("The shop is unsure.", "", "The shop is sure.", False),
        ("**Cats, perhaps.**", "", "", False),
        ("Cats, perhaps?", "", "", True),
        ("Here's the gist.", "", "", True),
        ("C a s h   i s   a c c e p t e d !", "", "", False),
        ("Yes or No? Yes", "", "", False),
        ("B. I hope this helps.", "", "", False),
        ("What's next for me?", "", "", True),
        ("I can help.", "", "", True),
        ("May I sublet my room? Be my guest.", "", "", False),
        ("Absolutely, I see.", "", "", False),
        ("Here is a list of people who died:", "", "", False),
        ("Here's why:", "", "", True),
        ("Who was first?", "", "", True),
        ("You can reach us below.", "", "", False),
        ("Your name is Ada.", "Your name is Ada, remember that.", "", False),
        ("Yes", "May I smoke?", "", False),
        ("Enjoy your stay until 4 May!", "We leave on 4 May.", "", True),
    ],
)
def test_names_and_figures_are_known(sentence: str, around: str, source: str, is_talk: bool) -> None:
    assert may_be_talk(sentence, around, words_of(source).__contains__) == is_talk
