"""The options that every command has for scoring: which scorer, around which judge, with which settings."""

import argparse
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import DEFAULT, SCORERS, as_meant, load_scorer, needs_entailment, settings_of

_OF_MODELS = ("max_length", "batch_tokens", "device", "dtype")


class _FormerJudge(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *given: Any) -> None:
        warnings.warn(f"{given[1]} is now --judge", DeprecationWarning, stacklevel=2)
        namespace.judge = given[0]


def add_scorer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--scorer`, `--judge` and `--set`, and `--entailment`, the former name of `--judge`."""
    parser.add_argument("--scorer", metavar="NAME", help=f"{', '.join(SCORERS)} ({DEFAULT})")
    parser.add_argument("--judge", metavar="ID", help="hub id or folder of the judge (the built-in one)")
    parser.add_argument("--entailment", metavar="ID", action=_FormerJudge, help=argparse.SUPPRESS)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of the scorer, such as k=3, or of the judge ({', '.join(_OF_MODELS)}); may be repeated",
    )


@dataclass(frozen=True, slots=True)
class ScorerChoice:
    """The scorer that a command line names. `load` builds it, here or in another process."""

    scorer: str
    judge: str | None
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, options: argparse.Namespace) -> "ScorerChoice":
        """Read the options. Raises: InputError for an unknown scorer or for what is no setting."""
        scorer, judge = as_meant(options.scorer, options.judge)
        return cls(str(scorer or DEFAULT), judge, parsed_settings(options.set))  # type: ignore[arg-type]

    def load(self, around: Callable[[EntailmentModel], EntailmentModel] = lambda judge: judge) -> Scorer:
        """Build the scorer around its judge, which goes through `around` first.

        Raises: InputError for a setting that neither has, or a judge for a scorer without one; ModelError.
        """
        if not needs_entailment(self.scorer):
            return load_scorer(self.scorer, self.judge, **self.settings)
        of_judge = set(_OF_MODELS) & self.settings.keys() - settings_of(self.scorer)
        if self.judge is None and (fixed := {"max_length", "batch_tokens"} & of_judge):
            raise InputError(f"{min(fixed)} is not the built-in judge's to change; name a model with --judge")
        judge = around(load(self.judge, **{name: self.settings[name] for name in of_judge}))
        return load_scorer(
            self.scorer, judge, **{name: value for name, value in self.settings.items() if name not in of_judge}
        )


def parsed_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs, each value as JSON or as the text that it is. Raises: InputError."""
    return dict(map(_setting, pairs))


def _setting(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals or not name:
        raise InputError(f"--set takes NAME=VALUE, not {pair!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
