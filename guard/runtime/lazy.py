"""Names that are imported when they are first asked for, so that importing a package loads no model library."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from groundrail.runtime.former import missing


def exported(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that imports its public names when they are first asked for.

        __getattr__, __dir__, __all__ = exported(__name__, {"base": "Score Scorer", "scale.scale": "ScaleScorer"})

    Args:
        homes: a module of the package -> the names that are in it.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in home_of:
            raise missing(f"module {package!r}", name)
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return get, lambda: sorted({*sys.modules[package].__all__, *home_of}), sorted(home_of)
