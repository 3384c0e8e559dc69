"""Samples of a benchmark: of claims, with groups kept whole, or of answers, with the share of wrong answers kept.

`groundrail.evaluation.loaders` reads the files.
"""

import random
from collections import Counter
from collections.abc import Sequence

from groundrail.errors import InputError
from groundrail.evaluation.answers import MarkedAnswer
from groundrail.evaluation.examples import Example


def sample(examples: Sequence[Example], limit: int | None, seed: int) -> list[Example]:
    """Draw at most `limit` examples with `seed`, and keep their order; claims of a group stay together.

    Raises: InputError for a limit below 1, or below the size of the smallest group.
    """
    if limit is None or limit >= len(examples):
        return list(examples)
    if limit < 1:
        raise InputError(f"a sample holds at least one claim, not {limit}")
    groups = [example.group or f"\0{number}" for number, example in enumerate(examples)]
    names = list(dict.fromkeys(groups))
    random.Random(seed).shuffle(names)
    sizes = Counter(groups)
    chosen: set[str] = set()
    taken = 0
    for name in names:
        if taken + sizes[name] <= limit:
            chosen.add(name)
            taken += sizes[name]
    if examples and not chosen:
        raise InputError(f"a limit of {limit} takes no group whole; the smallest has {min(sizes.values())} claims")
    return [example for example, group in zip(examples, groups, strict=True) if group in chosen]


def sample_each(examples: Sequence[Example], limit: int | None, seed: int = 0) -> list[Example]:
    """Draw at most `limit` examples of each data set; the sets stand one after another. Raises: as `sample`."""
    sets: dict[str, list[Example]] = {}
    for example in examples:
        sets.setdefault(example.dataset, []).append(example)
    return [example for of_set in sets.values() for example in sample(of_set, limit, seed)]


def sample_answers(answers: Sequence[MarkedAnswer], limit: int | None, seed: int) -> list[MarkedAnswer]:
    """At most `limit` answers of each data set drawn by `seed`, in their order, with its share of wrong answers.

    Raises: InputError for a limit below 1.
    """
    if limit is None:
        return list(answers)
    if limit < 1:
        raise InputError(f"a sample holds at least one answer, not {limit}")
    chosen: set[int] = set()
    for name in dict.fromkeys(answer.dataset for answer in answers):
        places = [place for place, answer in enumerate(answers) if answer.dataset == name]
        wrong = [place for place in places if answers[place].marked]
        right = [place for place in places if not answers[place].marked]
        count = min(limit, len(places))
        count_wrong = round(count * len(wrong) / len(places))
        draw = random.Random(f"{seed} {name}")
        chosen.update(draw.sample(wrong, count_wrong) + draw.sample(right, count - count_wrong))
    return [answer for place, answer in enumerate(answers) if place in chosen]
