"""Styles of CSS, as far as they decide whether a reader sees a text.

`hides` reads the declarations of one element; `groundrail.sources.sheets` finds the declarations of a whole page.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
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

_SHIFTS = (
    "text-indent",
    "margin",
    "margin-left",
    "margin-top",
    "margin-inline-start",
    "margin-block-start",
    "translate",
)
_PLACES = ("left", "top", "right", "bottom", "inset", "inset-inline-start", "inset-block-start")
_SIZES = ("width", "height", "inline-size", "block-size")
_BOXES = (*_SIZES, *(f"max-{size}" for size in _SIZES))
_CLIPPED = frozenset({"hidden", "clip", "auto", "scroll"})


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


_WORDS = frozenset(
    "auto none normal initial revert medium visible hidden clip scroll static relative absolute fixed sticky underline "
    "line-through".split()
)
"""Words that may replace what was said before, by themselves."""


def is_understood(name: str, value: list[Any]) -> bool:
    """Whether browsers take a value, and it says something of its own; else what was said before counts."""
    if _names(value) & {"inherit", "unset"}:
        return False
    if name == "display":
        return bool(_names(value) & _DISPLAYS) or any(token.type == "function" for token in value)
    if name == "visibility":
        return bool(_names(value) & {"visible", "hidden", "collapse", "initial"})
    return any(token.type != "ident" or token.lower_value in _WORDS or _color(token) for token in value)


def removes(style: Style) -> bool:
    """Whether an element is not shown, with all that is in it."""
    clipped = any(_names(style.get(f"overflow{way}", ())) & _CLIPPED for way in ("", "-x", "-y"))
    is_placed = _names(style.get("position", ())) & {"absolute", "fixed", "relative", "sticky"}
    shifts = _SHIFTS + _PLACES if is_placed else _SHIFTS
    return (
        any(token.type == "function" or "none" in _names([token]) for token in style.get("display", ()))
        or "hidden" in _names(style.get("content-visibility", ()))
        or any("line-through" in _names(style.get(name, ())) for name in ("text-decoration", "text-decoration-line"))
        or any(token.type == "function" for token in style.get("opacity", ()))
        or any(amount < 0.1 for amount in _amounts(style.get("opacity", ())))
        or any(amount <= -100 for name in shifts for amount in _amounts(style.get(name, ()), percent=1))
        or any(amount < 0.1 for name in ("scale", "zoom") for amount in _amounts(style.get(name, ())))
        or any(_is_vanishing(function) for name in ("transform", "filter") for function in style.get(name, ()))
        or any(_is_cutting(function) for name in ("clip", "clip-path") for function in style.get(name, ()))
        or (clipped and any(0 <= n <= 1 for name in _BOXES for n in _amounts(style.get(name, ()), percent=1)))
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
            return _pixels(token, inherited)
        if token.type == "number" and token.value == 0:
            return 0.0
        if token.type == "ident" and token.lower_value in ("medium", "initial", "small", "large", "x-large"):
            return _ROOT_SIZE
    return inherited


def _names(value: Iterable[Any]) -> set[str]:
    return {token.lower_value for token in value if token.type == "ident"}


def _amounts(value: Iterable[Any], percent: float = 0.01) -> Iterator[float]:
    """The numbers in a value, lengths in pixels, percentages times `percent`."""
    for token in value:
        if token.type == "dimension":
            yield _pixels(token, _ROOT_SIZE)
        elif token.type in ("number", "percentage"):
            yield float(token.value) * (percent if token.type == "percentage" else 1)


def _pixels(length: Any, letter: float) -> float:
    """A length in pixels; other dimensions, such as angles, as they are."""
    return float(length.value) * (
        letter if length.lower_unit in ("em", "ex", "ch") else _PIXELS.get(length.lower_unit, 1)
    )


def _is_vanishing(function: Any) -> bool:
    """Whether a function of `transform` or `filter` leaves nothing to see."""
    name, given = getattr(function, "lower_name", ""), list(_amounts(getattr(function, "arguments", ())))
    if name.startswith("translate"):
        return any(amount <= -100 for amount in given)
    if name in ("rotatex", "rotatey"):  # seen from its edge
        return any(abs(amount) % 180 == 90 for amount in given)
    if name == "matrix" and len(given) == 6:
        return abs(given[0] * given[3] - given[1] * given[2]) < 0.01
    if name == "blur":
        return any(amount >= 10 for amount in given)
    return (name.startswith("scale") or name in ("opacity", "contrast")) and any(abs(n) < 0.1 for n in given)


def _is_cutting(function: Any) -> bool:
    """Whether a function of `clip` or `clip-path` cuts all away."""
    name, arguments = getattr(function, "lower_name", ""), getattr(function, "arguments", ())
    shape = takewhile(lambda token: getattr(token, "lower_value", "") not in ("at", "round"), arguments)
    given = list(_amounts(shape, percent=1))
    if name == "inset":
        return any(amount >= 50 for amount in given)
    if name in ("rect", "polygon"):
        return bool(given) and max(given) - min(given) <= 1
    return name in ("circle", "ellipse") and bool(given) and max(given) <= 1


def _is_transparent(value: Iterable[Any]) -> bool:
    colors = filter(None, map(_color, value))
    return any(color != "currentcolor" and color.alpha < 0.1 for color in colors)


def _color(token: Any) -> Any:
    from tinycss2.color4 import parse_color

    return parse_color(token)
