import pytest
from tests.tables import tabled

from groundrail.facts.cells import misplaced

STAFF = [
    "Staff, Branch Porto, Headcount 2023: 212",
    "Staff, Branch Porto, Headcount 2024: 301",
    "Staff, Branch Porto, Manager: Matteo Vale",
    "Staff, Branch Ghent, Headcount 2023: 340",
    "Staff, Branch Ghent, Headcount 2024: not given",
    "Staff, Branch Ghent, Manager: Bram Declerc",
]


def rivals(claim, premises=STAFF):
    return [(premises[each.cell].partition(", ")[2], each.claim) for each in misplaced(claim, premises)]


@pytest.mark.parametrize(
    ("claim", "named", "rival"),
    [
        ("In 2023 the headcount of Porto was 301.", "Branch Porto, Headcount 2023: 212", "was 212."),
        ("In 2023 Porto had 340 employees.", "Branch Porto, Headcount 2023: 212", "had 212 employees."),
    ],
)
def test_a_figure_of_another_cell_is_held_against_the_named_cell(claim, named, rival):
    ((cell, exchanged),) = rivals(claim)
    assert cell == named
    assert exchanged.endswith(rival)


@tabled("claim")
def test_figures_of_the_named_cells_and_reckoned_or_unnamed_ones_are_left_out(claim):
    assert rivals(claim) == []


def test_a_figure_that_prose_states_is_left_out():
    claim = "In 2023 the headcount of Porto was 301."
    assert rivals(claim, [*STAFF, "Porto once had 301 employees."]) == []


def test_a_unit_may_stand_in_the_name_of_the_column():
    tables = ["Station Tell, Level (cm): 377", "Station Isk, Level (cm): 243", "Station Isk, Gates: 3"]
    assert rivals("The level at Tell is 243 cm.", tables) == [("Level (cm): 377", "The level at Tell is 377 cm.")]
    assert rivals("At Isk, 377 metres away, there are gates.", tables) == []


def test_number_words_and_ordinals_name_a_column():
    marks = ["Tibra, round 1: 7.70", "Tibra, round 2: 7.93", "Spord, round 1: 7.12"]
    assert rivals("Tibra was given 7.93 in the first round.", marks) == [
        ("round 1: 7.70", "Tibra was given 7.70 in the first round.")
    ]


def test_a_source_of_one_premise_or_of_too_many_has_no_cells():
    assert rivals("In 2023 the headcount of Porto was 301.", STAFF[:1]) == []
    assert rivals("In 2023 the headcount of Porto was 301.", STAFF * 400) == []
