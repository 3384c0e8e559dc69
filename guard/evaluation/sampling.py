"""A part of a benchmark that keeps what belongs together.

Reading the whole of it belongs to `groundrail.evaluation.loaders`.
"""

import random
from collections import Counter
from collections.abc import Sequence

from groundrail.errors import InputError
from groundrail.evaluation.examples import Example


def sample(examples: Sequence[Example], limit: int | None, seed: int) -> list[Example]:
    """At most `limit` examples drawn by `seed`, in their order; claims of one group stay together.

    Raises: InputError for a limit below 1, or one that no group fits.
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
