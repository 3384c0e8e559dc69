"""A sentence that says who says something names its speaker, and a text has the speaker or not where it says this."""

import pytest
from tests.tables import tabled

from groundrail.text.attributions import Speaker, attribution, is_document, is_written
from groundrail.text.claims import Claim, read_claim
from groundrail.text.form import SourceText
from groundrail.types import Document

TEXT = (
    "Minutes of the owners' meeting, by Ms Oduya. I took these minutes myself. The rent is 1,450 euros. "
    "It is due on the third of each month, as the contract has it for all flats, and may be paid in two parts. "
    "The manager, Mr Brandt, greeted everybody. Mr Brandt said the reserve is full. "
    "Ms Keller (flat 6) objected that the motor dates from 1988. Ms Keller told Mr Brandt that the offer is late. "
    "The caretaker, Mr Ilić, complained that the cellar door is propped open. He suspects the students, but has no proof. "
    "The offer is too high, says a report by the bank. Acme said that the offer is late. The meeting ended at nine, the hall was cleaned by ten, and the lights were off by eleven on that cold evening."
)


@tabled("sentence, speaker, content")
def test_sentences_name_their_speaker(sentence: str, speaker: str, content: str) -> None:
    found = attribution(sentence)
    assert (found.speaker, found.content) == (speaker, content) if found else not speaker
    assert not found or sentence[found.start : found.end] == speaker


@tabled("speaker, passage, speaks")
def test_speakers_are_found_where_they_speak(speaker: str, passage: str, speaks: bool) -> None:
    start = TEXT.index(passage)
    assert Speaker(speaker, TEXT).speaks(start, start + len(passage)) is speaks


def test_a_speaker_of_a_turn_or_a_heading_speaks_below_it() -> None:
    text = "Adler: Fewer absences.\nBerg: The marks were the same."
    start = text.index("The marks")
    assert Speaker("Ms Berg", text).speaks(start, len(text))
    assert not Speaker("Mr Adler", text).speaks(start, len(text))
    assert Speaker("Ms Cole", text).speaks(start, len(text), above="Notes by Ms Cole")


def test_documents_are_told_from_persons() -> None:
    assert is_document("the document", [])
    assert is_document("the Greystone report", [])
    assert is_document("the house rules", ["House rules.txt"])
    assert is_written("the lease")
    assert not is_document("the caretaker", ["rules"])
    assert not is_written("Mr Lease's tenant")


@pytest.mark.parametrize(
    ("sentence", "text", "speaker"),
    [
        ("According to the document, the rent is low.", "The rent is low.", ""),
        ("The source states that the rent is low [1].", "The rent is low.", ""),
        ("The rent is low, according to the rules.", "The rent is low.", ""),
        ("According to the lease, the rent is low.", "The rent is low.", ""),
        ("According to the letter, the rent is low.", "According to the letter, the rent is low.", ""),
        ("According to the law, the rent is low.", "According to the law, the rent is low.", "the law"),
        ("The newspaper says that the rent is low.", "The newspaper says that the rent is low.", "The newspaper"),
        ("According to Mr Brandt, the rent is low.", "According to Mr Brandt, the rent is low.", "Mr Brandt"),
        ("The source denies that the rent is low.", "The source denies that the rent is low.", ""),
    ],
)
def test_the_content_alone_is_judged_where_a_document_speaks(sentence: str, text: str, speaker: str) -> None:
    claim = read_claim(sentence, "", "", SourceText([Document(text="The rent is low. See the letter.", id="rules")]))
    assert isinstance(claim, Claim)
    assert (claim.text, claim.speaker) == (text, speaker)
