"""An invented figure stands nowhere in the source, and nothing else of the claim changes."""

import random
import re

from figures import with_invented_figure


def test_only_a_figure_that_the_source_states_is_exchanged() -> None:
    source, claim = "The rent is 1,450 euros, the deposit 2,900 euros.", "In all 3 years the rent is 1,450 euros."
    for seed in range(50):
        invented = with_invented_figure(claim, source, random.Random(seed))
        assert invented is not None
        found = re.fullmatch(r"In all 3 years the rent is (\d,\d{3}) euros\.", invented)
        assert found is not None
        assert found[1] not in ("1,450", "2,900", "4,350")


def test_a_claim_without_a_figure_of_the_source_is_left_out() -> None:
    for claim in ("The rent is 950 euros.", "The rent is due.", "The rent is two euros."):
        assert with_invented_figure(claim, "The rent is 1,450 euros, or two euros.", random.Random(0)) is None
