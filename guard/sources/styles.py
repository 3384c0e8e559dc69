"""Styles of CSS, as far as they decide whether a reader sees a text.

`hides` reads the declarations of one element; `groundrail.sources.sheets` finds the declarations of a whole page.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Style: TypeAlias = Mapping[str, list[Any]]
"""The value of each property, as tokens of tinycss2 without white space."""

_MOST_STEPS = 200
"""Most tokens that are read of a value with variables, which may name each other in a circle."""

_ROOT_SIZE = 16.0
_SMALLEST_SIZE = 3.0
"""Sizes of letters in pixels: of a page that says nothing, and below which nobody reads."""
_PIXELS = {
    "px": 1.0,
    "pt": 4 / 3,
    "rem": _ROOT_SIZE,
    "mm": 3.78,
    "cm": 37.8,
    "in": 96.0,
    "pc": 16.0,
    "vw": 12.0,
    "vh": 8.0,
}

_SHIFTS = ("text-indent", "margin", "margin-left", "margin-top", "translate")
_PLACES = ("left", "top", "right", "bottom", "inset")
_BOXES = ("width", "height", "max-width", "max-height")


def hides(declarations: str) -> bool:
    """Whether the declarations of an element hide its text.

    >>> hides("color: red; d\\\\69splay: none"), hides("color: red")
    (True, False)
    """
    style = {declaration.lower_name: words(declaration.value) for declaration in declared(declarations)}
    return removes(style) or not is_legible(style, _ROOT_SIZE)


def declared(written: "str | Iterable[Any]") -> list[Any]:
    """The declarations in the text or the tokens of a block, `!important` ones last."""
    import tinycss2

    found = tinycss2.parse_blocks_contents(written, skip_comments=True, skip_whitespace=True)
    return sorted((part for part in found if part.type == "declaration"), key=lambda part: bool(part.important))


def words(value: Iterable[Any], variables: Style | None = None) -> list[Any]:
    """The tokens of a value without white space, with what `variables` stand for."""
    waiting, found = [*reversed(list(value)[:_MOST_STEPS])], list[Any]()
    for _ in range(_MOST_STEPS):
        if not waiting:
            break
        token = waiting.pop()
        if token.type == "function" and token.lower_name == "var":
            name, *fallback = [part for part in token.arguments if part.type not in ("whitespace", "comment")] or [None]
            meant = (variables or {}).get(getattr(name, "value", ""), fallback[1:])
            waiting += reversed(meant[:_MOST_STEPS])
        elif token.type not in ("whitespace", "comment"):
            found.append(token)
    return found


_DISPLAYS = frozenset(
    "none block inline inline-block flow flow-root flex inline-flex grid inline-grid table inline-table table-row "
    "table-cell table-row-group table-header-group table-footer-group table-caption table-column table-column-group "
    "list-item contents ruby ruby-base ruby-text run-in math -webkit-box -webkit-inline-box initial revert".split()
)


def is_understood(name: str, value: list[Any]) -> bool:
    """Whether browsers take a value, and it says something of its own; else what was said before counts."""
    if _names(value) & {"inherit", "unset"}:
        return False
    if name == "display":
        return bool(_names(value) & _DISPLAYS) or any(token.type == "function" for token in value)
    if name == "visibility":
        return bool(_names(value) & {"visible", "hidden", "collapse", "initial"})
    return name != "opacity" or next(_amounts(value), None) is not None


def removes(style: Style) -> bool:
    """Whether an element is not shown, with all that is in it."""
    clipped = _names(style.get("overflow", ())) & {"hidden", "clip"}
    is_placed = _names(style.get("position", ())) & {"absolute", "fixed", "relative", "sticky"}
    shifts = _SHIFTS + _PLACES if is_placed else _SHIFTS
    return (
        any(token.type == "function" or "none" in _names([token]) for token in style.get("display", ()))
        or "hidden" in _names(style.get("content-visibility", ()))
        or any("line-through" in _names(style.get(name, ())) for name in ("text-decoration", "text-decoration-line"))
        or any(amount < 0.1 for amount in _amounts(style.get("opacity", ())))
        or any(amount <= -100 for name in shifts for amount in _amounts(style.get(name, ()), percent=1))
        or any(amount < 0.1 for amount in _amounts(style.get("scale", ())))
        or any(_is_vanishing(function) for name in ("transform", "filter") for function in style.get(name, ()))
        or any(_is_cutting(function) for name in ("clip", "clip-path") for function in style.get(name, ()))
        or (bool(clipped) and any(0 <= amount <= 1 for name in _BOXES for amount in _amounts(style.get(name, ()))))
    )


def is_legible(style: Style, size: float) -> bool:
    """Whether letters of `size` pixels, if no other size is declared, can be seen, by properties that parts inherit."""
    return (
        letter_size(style, size) >= _SMALLEST_SIZE
        and not _names(style.get("visibility", ())) & {"hidden", "collapse"}
        and not any(_is_transparent(style.get(name, ())) for name in ("color", "-webkit-text-fill-color"))
    )


def letter_size(style: Style, inherited: float) -> float:
    """The size of letters in pixels."""
    for token in [*style.get("font-size", ()), *style.get("font", ())]:
        if token.type == "percentage":
            return inherited * float(token.value) / 100
        if token.type == "dimension":
            unit = token.lower_unit
            return float(token.value) * (inherited if unit in ("em", "ex", "ch") else _PIXELS.get(unit, 1.0))
        if token.type == "number" and token.value == 0:
            return 0.0
        if token.type == "ident" and token.lower_value in ("medium", "initial", "small", "large", "x-large"):
            return _ROOT_SIZE
    return inherited


def _names(value: Iterable[Any]) -> set[str]:
    return {token.lower_value for token in value if token.type == "ident"}


def _amounts(value: Iterable[Any], percent: float = 0.01) -> Iterator[float]:
    """The numbers in a value whatever their unit, percentages times `percent`."""
    for token in value:
        if token.type in ("number", "dimension", "percentage"):
            yield float(token.value) * (percent if token.type == "percentage" else 1)


def _is_vanishing(function: Any) -> bool:
    """Whether a function of `transform` or `filter` leaves nothing to see."""
    name, given = getattr(function, "lower_name", ""), list(_amounts(getattr(function, "arguments", ())))
    if name.startswith("translate"):
        return any(amount <= -100 for amount in given)
    return (name.startswith("scale") or name == "opacity") and any(abs(amount) < 0.1 for amount in given)


def _is_cutting(function: Any) -> bool:
    """Whether a function of `clip` or `clip-path` cuts all away."""
    name, given = getattr(function, "lower_name", ""), list(_amounts(getattr(function, "arguments", ())))
    if name == "inset":
        return any(amount >= 0.5 for amount in given)
    return name in ("rect", "circle", "ellipse", "polygon") and bool(given) and max(given) <= 1


def _is_transparent(value: Iterable[Any]) -> bool:
    from tinycss2.color4 import parse_color

    colors = [parse_color(token) for token in value]
    return any(color is not None and color != "currentcolor" and color.alpha < 0.1 for color in colors)
