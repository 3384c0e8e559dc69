"""English is told from other languages by its commonest words."""

import pytest

from groundrail.text.english.language import is_english, is_latin

GERMAN = "Die Miete beträgt 1.450 Euro im Monat und ist am dritten Werktag eines jeden Monats zu zahlen."
ENGLISH = "The rent is 1,450 euros a month, and it is due on the third working day of each month."


@pytest.mark.parametrize("text", [ENGLISH, "Rot.", "Opening hours: 9 to 5", ""])
def test_english_and_what_may_be_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        GERMAN * 3,
        "Le loyer est de 1 450 euros par mois, payable le troisième jour ouvrable de chaque mois.",
        "El alquiler es de 1.450 euros al mes y se paga el tercer día hábil de cada mes.",
        "Czynsz wynosi 1450 euro miesięcznie i jest płatny trzeciego dnia roboczego każdego miesiąca.",
    ],
)
def test_other_languages(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize(
    ("text", "latin"), [(GERMAN, True), ("", True), ("租金每月1450欧元。", False), ("Животные.", False)]
)
def test_letters_tell_the_language_of_a_few_words(text: str, latin: bool) -> None:
    assert is_latin(text) == latin
