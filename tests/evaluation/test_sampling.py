import pytest

from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.sampling import sample
from groundrail.types import Document


@pytest.mark.parametrize("limit", [1, 5, 9, 100, None])
def test_a_sample_keeps_order_and_groups_and_repeats(limit):
    source = (Document(text="x"),)
    examples = [Example(str(n), "d", source, "c", group=f"g{n // 3}" if n < 9 else None) for n in range(14)]
    drawn = sample(examples, limit, seed=1)
    assert drawn == sample(examples, limit, seed=1)
    assert drawn == [example for example in examples if example in drawn]
    assert len(drawn) <= (limit or 14)
    for group in ("g0", "g1", "g2"):
        assert sum(example.group == group for example in drawn) in (0, 3)


def test_a_limit_under_every_group_says_so():
    examples = [Example(str(n), "d", (Document(text="a"),), "b", 1.0, group=f"g{n // 3}") for n in range(6)]
    with pytest.raises(InputError, match="3 claims"):
        sample(examples, 2, seed=1)
