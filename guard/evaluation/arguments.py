"""What `eval` and `calibrate` are told alike: which scorer, and which claims of which files.

What they do with both is `groundrail.evaluation.cli`.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundrail.cli.scorers import ScorerChoice, add_scorer_arguments
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.evaluation.counting import CountingEntailment, counted
from groundrail.evaluation.examples import Example
from groundrail.evaluation.formats import FORMATS
from groundrail.evaluation.loaders import load
from groundrail.evaluation.sampling import sample
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import UNITS


@dataclass(frozen=True, slots=True)
class Named:
    """The scorer that the arguments name, the counter inside it, and what else its numbers depend on."""

    name: str
    scorer: Scorer
    counter: CountingEntailment | None
    settings: Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add those of both commands."""
    add_scorer_arguments(parser)
    parser.add_argument("--units", choices=tuple(UNITS), default="sentences", help="what a claim is cut into")
    parser.add_argument(
        "--aggregate",
        choices=("mean", "minimum"),
        default="mean",
        help="over a claim's sentences; over the sub-sentences of a sentence it is the minimum",
    )
    parser.add_argument("--format", choices=tuple(FORMATS), help="file format (guessed from the content)")
    parser.add_argument(
        "--context", action="store_true", help="put the text that a claim goes on from behind its source"
    )
    parser.add_argument("--documents", type=Path, metavar="DIR", help="folder of a challenge file's documents")
    parser.add_argument("--limit", type=int, metavar="N", help="measure on N claims of each data set")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample and of the intervals")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write results here; run again to continue")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")


def named_scorer(args: argparse.Namespace) -> Named:
    """Build the scorer that the arguments name. Raises: InputError, ModelError."""
    choice, counters = ScorerChoice.of(args), list[CountingEntailment]()

    def counting(judge: EntailmentModel) -> CountingEntailment:
        counters.append(counted(judge))
        return counters[0]

    settings = {"scorer": choice.scorer, "entailment": choice.judge, **choice.settings}
    return Named(choice.scorer, choice.load(counting), next(iter(counters), None), settings)


def read_claims(args: argparse.Namespace, paths: Sequence[Path]) -> list[Example]:
    """The claims of these files, sampled. Raises: InputError."""
    examples: list[Example] = []
    for path in paths:
        loaded = load(path, args.format, args.documents)
        twice = {example.dataset for example in examples} & {example.dataset for example in loaded}
        if twice:
            raise InputError(f"two files hold a data set named {min(twice)!r}; rename one")
        for name in dict.fromkeys(example.dataset for example in loaded):
            of_set = [example for example in loaded if example.dataset == name]
            examples += sample(of_set, args.limit, args.seed)
    if not examples:
        raise InputError(f"there are no claims in {', '.join(map(str, paths))}")
    return [example.in_context() for example in examples] if args.context else examples
