"""Views of values by name: a value asks for a view, and does not know which module draws it.

`groundrail/__init__.py` stands above all modules and says where each view is.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

VIEWS: dict[str, str] = {}
"""The name of a view -> "module:function" inside groundrail, imported when first asked for."""


def view(name: str) -> Callable[..., Any]:
    """The function that draws a view, as `view("markdown")(result)`."""
    module, function = VIEWS[name].split(":")
    drawn: Callable[..., Any] = getattr(import_module(f"groundrail.{module}"), function)
    return drawn
