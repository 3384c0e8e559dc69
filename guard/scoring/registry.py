"""Scorers by short name; naming a scorer loads nothing.

Other packages, and `groundrail.papers`, add names as entry points of the group `groundrail.scorers`.
"""

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.runtime import entry_points
from groundrail.scoring.base import Scorer

GROUP = "groundrail.scorers"

OWN = {"scale": "groundrail.scoring.scale:ScaleScorer", "nearest": "groundrail.scoring.nearest:NearestScorer"}
"""The guard's scorers, which no other package can replace."""

DEFAULT = "scale"
"""Name of the scorer that a guard, `groundrail check`, `eval` and `calibrate` use by default."""


def scorers() -> tuple[str, ...]:
    """The names of all scorers."""
    return (*OWN, *(name for name in entry_points.names(GROUP) if name not in OWN))


def require_scorer(scorer: object) -> None:
    """Raises: InputError for anything but a scorer, the name of a scorer, or None."""
    if not (scorer is None or isinstance(scorer, Scorer) or (isinstance(scorer, str) and scorer in scorers())):
        known = ", ".join(scorers())
        raise InputError(f"no scorer is called {scorer!r}; there are {known}. A model is passed as the judge")


def _factory(name: str) -> Callable[..., Scorer]:
    require_scorer(name)
    found: Callable[..., Scorer] = (
        EntryPoint(name, OWN[name], GROUP).load() if name in OWN else entry_points.load(GROUP, name)
    )
    return found


def needs_entailment(name: str) -> bool:
    """Whether the scorer asks a judge. Raises: InputError for an unknown name."""
    return "entailment" in settings_of(name)


def settings_of(name: str) -> frozenset[str]:
    """Names of the parameters of the scorer's constructor. Raises: InputError for an unknown name."""
    return frozenset(inspect.signature(_factory(name)).parameters)


def load_scorer(name: str, entailment: EntailmentModel | str | None = None, **settings: Any) -> Scorer:
    """Build the scorer called `name`; `settings` go to its constructor.

        load_scorer("scale", chunk_tokens=256)

    Raises: InputError for an unknown name, or for a setting that the scorer does not have.
    """
    factory = _factory(name)
    known = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in known:
            raise InputError(f"scorer {name!r} has no setting {setting!r}; it has {', '.join(known)}")
    needed = [name for name, each in known.items() if each.default is each.empty and name not in settings]
    if needed:
        raise InputError(f"scorer {name!r} needs {' and '.join(needed)}: --set {needed[0]}=...")
    if "entailment" in known:
        settings["entailment"] = entailment
    elif entailment is not None:
        raise InputError(f"scorer {name!r} asks no judge; leave it out")
    return factory(**settings)


def as_scorer(scorer: Scorer | str | None = None, judge: EntailmentModel | str | None = None) -> Scorer:
    """Return a scorer object unchanged, or build the scorer called `scorer` (None: the default) around the judge.

    Raises: InputError for a judge beside a scorer object; the errors of `load_scorer`.
    """
    if not isinstance(scorer, Scorer):
        return load_scorer(DEFAULT if scorer is None else scorer, judge)
    if judge is not None:
        raise InputError("a scorer object has its judge already: build it around the judge, or pass its name")
    return scorer


def as_second(second: Scorer | EntailmentModel | str) -> Scorer:
    """Return a scorer object unchanged, or build SCALE around a judge, which may be an object, hub id or folder."""
    return second if isinstance(second, Scorer) else load_scorer("scale", second)
