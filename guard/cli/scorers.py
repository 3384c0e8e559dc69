"""The options that every command has for scoring: which scorer, around which judge, with which settings."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.loading import load
from groundrail.errors import InputError
from groundrail.scoring.base import Scorer
from groundrail.scoring.registry import DEFAULT, load_scorer, needs_entailment, scorers, settings_of

_OF_MODELS = ("max_length", "batch_tokens", "device", "dtype")

Settings = Annotated[tuple[str, ...], Parameter(consume_multiple=False)]
"""NAME=VALUE, once for each option."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ScorerChoice:
    """The scorer that a command line names. `load` builds it, here or in another process."""

    scorer: Annotated[str, Parameter(help=f"one of {', '.join(scorers())}")] = DEFAULT
    judge: Annotated[str | None, Parameter(help="hub id or folder of the judge, or the name of a known one")] = None
    set: Annotated[
        Settings, Parameter(help=f"NAME=VALUE of the scorer, such as k=3, or of the judge: {', '.join(_OF_MODELS)}")
    ] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name. Raises: InputError for text that is no setting."""
        return parsed_settings(self.set)

    def load(self, around: Callable[[EntailmentModel], EntailmentModel] = lambda judge: judge) -> Scorer:
        """Build the scorer around its judge, which goes through `around` first.

        Raises: InputError for an unknown scorer, for a setting that neither has, or for a judge that the scorer does not
            ask; ModelError.
        """
        settings = self.settings
        if not needs_entailment(self.scorer):
            return load_scorer(self.scorer, self.judge, **settings)
        of_judge = {*_OF_MODELS} & settings.keys() - settings_of(self.scorer)
        if self.judge is None and (fixed := {"max_length", "batch_tokens"} & of_judge):
            raise InputError(f"{min(fixed)} is not the built-in judge's to change; name a model with --judge")
        judge = around(load(self.judge, **{name: settings.pop(name) for name in of_judge}))
        return load_scorer(self.scorer, judge, **settings)


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
