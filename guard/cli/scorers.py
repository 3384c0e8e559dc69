"""The options that every command has for scoring: which scorer, around which judge, with which settings."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import DEFAULT, load_scorer, needs_entailment, require_scorer, scorers, settings_of

_OF_MODELS = ("max_length", "batch_tokens", "device", "dtype")


def add_scorer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--scorer`, `--judge` and `--set`."""
    parser.add_argument("--scorer", metavar="NAME", help=f"{', '.join(scorers())} ({DEFAULT})")
    parser.add_argument("--judge", metavar="ID", help="hub id or folder of the judge (the built-in one)")
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
        require_scorer(options.scorer)
        return cls(options.scorer or DEFAULT, options.judge, parsed_settings(options.set))

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
