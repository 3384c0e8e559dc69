"""What `eval` and `calibrate` are told alike: which scorer, and which claims of which files.

What they do with both is `groundrail.evaluation.cli`.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundrail.entailment.loading import load as load_entailment
from groundrail.errors import InputError
from groundrail.evaluation.answers import ANSWER_FORMATS, Answer, load_answers
from groundrail.evaluation.counting import CountingEntailment, counted
from groundrail.evaluation.examples import Example
from groundrail.evaluation.formats import FORMATS
from groundrail.evaluation.loaders import load
from groundrail.evaluation.sampling import sample, sample_answers
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import DEFAULT, SCORERS, UNITS, load_scorer, needs_entailment, settings_of

_OF_MODELS = ("max_length", "batch_tokens", "device", "dtype")


@dataclass(frozen=True, slots=True)
class Named:
    """The scorer that the arguments name, the counter inside it, and what else its numbers depend on."""

    scorer: Scorer
    counter: CountingEntailment | None
    settings: Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add those of both commands."""
    parser.add_argument(
        "--scorer",
        choices=tuple(SCORERS),
        default=DEFAULT,
        help=f"how a claim is scored ({DEFAULT}); q2 is a baseline unless --set questions=ID and --set answerer=ID name models",
    )
    parser.add_argument("--entailment", metavar="ID", help="model id or folder (the built-in judge)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of the scorer, such as k=3, or of the model ({', '.join(_OF_MODELS)}); may be repeated",
    )
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


def parsed_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs, each value as JSON or as the text that it is. Raises: InputError."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set takes NAME=VALUE, not {pair!r}")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings


def named_scorer(args: argparse.Namespace) -> Named:
    """Build the scorer that the arguments name. Raises: InputError, ModelError."""
    settings = parsed_settings(args.set)
    named: Mapping[str, Any] = {
        "scorer": args.scorer,
        "entailment": args.entailment,
        "splitter": args.splitter,
        **settings,
    }
    if not needs_entailment(args.scorer):
        return Named(load_scorer(args.scorer, **settings), None, named)
    of_model = {name: settings.pop(name) for name in set(_OF_MODELS) & settings.keys() - settings_of(args.scorer)}
    if args.entailment is None and {"max_length", "batch_tokens"} & of_model.keys():
        raise InputError(f"{min(of_model)} is not the built-in judge's to change; name a model with --entailment")
    counter = counted(load_entailment(args.entailment, **of_model))
    return Named(load_scorer(args.scorer, counter, **settings), counter, named)


def read_claims(args: argparse.Namespace, paths: Sequence[Path]) -> list[Example]:
    """The claims of these files, sampled, as one data set where they are pooled. Raises: InputError."""
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


def read_answers(args: argparse.Namespace, paths: Sequence[Path]) -> list[Answer]:
    """The whole answers of these files, sampled. Raises: InputError, for a file of single claims too."""
    answers = [answer for path in paths for answer in load_answers(path, args.format, args.documents, args.leave_out)]
    if not answers:
        raise InputError(f"there are no answers in {', '.join(map(str, paths))}")
    return sample_answers(answers, args.limit, args.seed)
