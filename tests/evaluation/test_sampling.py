import pytest

from groundrail.errors import InputError
from groundrail.evaluation.answers import MarkedAnswer
from groundrail.evaluation.examples import Example
from groundrail.evaluation.sampling import sample, sample_answers
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


@pytest.mark.parametrize("limit", [1, 4, 10, 99])
def test_a_sample_of_answers_keeps_each_sets_share_of_wrong_ones(limit: int) -> None:
    source = (Document(text="x"),)
    answers = [
        MarkedAnswer(f"{name}{n}", name, source, "abc", ((0, 1),) if n % part == 0 else ())
        for name, part in (("half", 2), ("fifth", 5))
        for n in range(20)
    ]
    drawn = sample_answers(answers, limit, seed=1)
    assert drawn == sample_answers(answers, limit, seed=1) == [a for a in answers if a in drawn]
    for name, part in (("half", 2), ("fifth", 5)):
        of_set = [a for a in drawn if a.dataset == name]
        assert len(of_set) == min(limit, 20)
        assert abs(sum(bool(a.marked) for a in of_set) - len(of_set) / part) <= 0.5
    with pytest.raises(InputError, match="at least one answer"):
        sample_answers(answers, 0, seed=1)
