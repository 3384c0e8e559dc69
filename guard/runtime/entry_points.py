"""Scorers and commands of other packages, and of groundrail's own wings: entry points that are imported at first use."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from groundrail.errors import InputError


def names(group: str) -> tuple[str, ...]:
    """The names of a group's entry points in order; nothing is imported."""
    return tuple(sorted(entry_points(group=group).names))


def load(group: str, name: str) -> Any:
    """Import the object that an entry point names.

    Raises: KeyError for an unknown name; InputError, with the package and the cause, for an entry point that cannot be
        loaded or a name that two packages use.
    """
    found = sorted(entry_points(group=group, name=name), key=_package)
    if not found:
        raise KeyError(name)
    packages = " and ".join(map(_package, found))
    if len(found) > 1:
        raise InputError(f"{name!r} of {group} is added by {packages}: remove one of the packages")
    try:
        return found[0].load()
    except Exception as error:  # a package of others may raise anything
        raise InputError(
            f"{name!r} of {group} cannot be loaded from the package {packages} ({type(error).__name__}: {error}): "
            "repair the package, or remove it"
        ) from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
