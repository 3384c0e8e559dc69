"""The arguments that `eval` and `calibrate` share: the scorer, the files and the sample of claims.

The commands are in `groundrail.evaluation.cli`.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundrail.cli.scorers import ScorerChoice, add_scorer_arguments
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.evaluation.answers import ANSWER_FORMATS, MarkedAnswer, load_answers
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.formats import FORMATS
from groundrail.evaluation.loaders import load
from groundrail.evaluation.sampling import sample, sample_answers
from groundrail.papers.units.named import UNITS
from groundrail.scoring.base import Scorer


@dataclass(frozen=True, slots=True)
class Named:
    """The scorer that the arguments name, the counter inside it, and the other settings that its scores depend on."""

    name: str
    scorer: Scorer
    counter: CountingEntailment | None
    settings: Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of both commands."""
    add_scorer_arguments(parser)
    parser.add_argument(
        "--units", choices=UNITS, help="what a claim is cut into (the scorer's own: whole for q2, else sentences)"
    )
    parser.add_argument(
        "--splitter", metavar="ID", help="of --units parsed a spaCy pipeline (en_core_web_sm), of seq2seq a model"
    )
    parser.add_argument(
        "--aggregate",
        choices=("mean", "minimum"),
        default="mean",
        help="over a claim's sentences; over the sub-sentences of a sentence it is the minimum",
    )
    parser.add_argument("--format", choices=(*FORMATS, *ANSWER_FORMATS), help="file format (guessed from the content)")
    parser.add_argument(
        "--context", action="store_true", help="put the text that a claim goes on from behind its source"
    )
    parser.add_argument(
        "--documents",
        type=Path,
        metavar="DIR",
        help="folder of a challenge file's documents, or of RAGTruth's source_info.jsonl",
    )
    parser.add_argument("--pool", metavar="NAME", help="measure all files as one data set of this name")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="measure on N claims, or whole answers, of each data set"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample and of the intervals")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write results here; run again to continue")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")


def named_scorer(args: argparse.Namespace) -> Named:
    """Build the scorer that the arguments name. Raises: InputError, ModelError."""
    choice, counters = ScorerChoice.of(args), list[CountingEntailment]()

    def counting(judge: EntailmentModel) -> CountingEntailment:
        counters.append(CountingEntailment(judge))
        return counters[0]

    named = {"scorer": choice.scorer, "entailment": choice.judge, "splitter": args.splitter, **choice.settings}
    return Named(choice.scorer, choice.load(counting), next(iter(counters), None), named)


def read_claims(args: argparse.Namespace, paths: Sequence[Path]) -> list[Example]:
    """Read a sample of the claims of these files, pooled as one data set on request. Raises: InputError."""
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
    if args.pool is not None:
        examples = [replace(each, dataset=args.pool, id=f"{each.dataset}/{each.id}") for each in examples]
    return [example.in_context() for example in examples] if args.context else examples


def read_answers(args: argparse.Namespace, paths: Sequence[Path]) -> list[MarkedAnswer]:
    """The whole answers of these files, sampled. Raises: InputError, for a file of single claims too."""
    answers = [answer for path in paths for answer in load_answers(path, args.format, args.documents, args.leave_out)]
    if not answers:
        raise InputError(f"there are no answers in {', '.join(map(str, paths))}")
    return sample_answers(answers, args.limit, args.seed)
