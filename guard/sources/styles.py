"""Styles of CSS, as far as they decide whether a reader sees a text.

`hides` reads the declarations of one element; `groundrail.sources.sheets` finds the declarations of a whole page.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import takewhile
from math import nan
from typing import Any, TypeAlias

Style: TypeAlias = Mapping[str, list[Any]]
"""The value of each property, as tokens of tinycss2 without white space."""

_DATA = tomllib.loads(files(__package__).joinpath("styles.toml").read_text(encoding="utf-8"))
_DISPLAYS, _WORDS = (frozenset(_DATA[name].split()) for name in ("displays", "words"))

_MOST_STEPS = 200
"""Most tokens that are read of a value with variables, which may name each other in a circle."""

ROOT_SIZE = 16.0
_SMALLEST_SIZE = 3.0
"""Sizes of letters in pixels: of a page that says nothing, and below which nobody reads."""
_PALEST = 0.1
"""Opacity below which nothing is seen."""
_SAME = 0.04
"""Difference of a red, green or blue, of 1, below which two colours are one to a reader."""


def hides(declarations: str) -> bool:
    """Whether the declarations of an element hide its text.

    >>> hides("color: red; d\\\\69splay: none"), hides("color: red")
    (True, False)
    """
    style = {declaration.lower_name: words(declaration.value) for declaration in declared(declarations)}
    try:
        return removes(style) or not is_legible(style, ROOT_SIZE, behind(style))
    except RecursionError:  # of a value with a thousand brackets nobody knows what it shows
        return True


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


def is_understood(name: str, value: list[Any]) -> bool:
    """Whether browsers take a value, and it says something of its own; else what was said before counts."""
    said = _names(value)
    if said & {"inherit", "unset"}:
        return False
    if name == "display":
        return bool(said & _DISPLAYS) or any(token.type == "function" for token in value)
    if name == "visibility":
        return bool(said & {"visible", "hidden", "collapse", "initial"})
    return any(token.type != "ident" or token.lower_value in _WORDS or _color(token) for token in value)


def removes(style: Style) -> bool:
    """Whether an element is not shown, with all that is in it."""

    def values(names: str) -> list[Any]:
        return [token for name in names.split() for token in style.get(name, ())]

    is_clipped = _names(values("overflow overflow-x overflow-y")) & {"hidden", "clip", "auto", "scroll"}
    is_placed = _names(values("position")) & {"absolute", "fixed", "relative", "sticky"}
    shifts = values(f"{_DATA['shifts']} {_DATA['places']}" if is_placed else _DATA["shifts"])
    return (
        any(token.type == "function" or "none" in _names([token]) for token in values("display"))
        or "hidden" in _names(values("content-visibility"))
        or "line-through" in _names(values("text-decoration text-decoration-line"))
        or any(token.type != "ident" and not _amount(token) >= _PALEST for token in values("opacity"))
        or any(amount < _PALEST for amount in map(_amount, values("scale zoom")))
        or any(amount <= -100 for amount in _amounts(shifts))
        or any(map(_is_vanishing, values("transform filter")))
        or any(map(_is_cutting, values("clip clip-path")))
        or any(map(_is_masking, values("mask mask-image -webkit-mask -webkit-mask-image")))
        or (bool(is_clipped) and any(0 <= amount <= 1 for amount in _amounts(values(_DATA["sides"]))))
    )


def is_legible(style: Style, size: float, background: Any = None) -> bool:
    """Whether letters of `size` pixels, if no other size is declared, can be seen, by properties that parts inherit.

    background: the colour behind them, see `behind`.
    """
    colors = [color for name in ("color", "-webkit-text-fill-color") for color in _colors(style.get(name, ()))]
    return (
        letter_size(style, size) >= _SMALLEST_SIZE
        and not _names(style.get("visibility", ())) & {"hidden", "collapse"}
        and not any(color.alpha < _PALEST for color in colors)
        and not (colors and background and _is_same(colors[-1], background))
    )


def letter_size(style: Style, inherited: float) -> float:
    """The size of letters in pixels."""
    for token in [*style.get("font-size", ()), *style.get("font", ())]:
        if token.type in ("percentage", "dimension", "function") or (token.type == "number" and token.value == 0):
            size = _amount(token, inherited / 100, inherited)
            return inherited if size != size else size
        if token.type == "ident" and token.lower_value in ("medium", "initial", "small", "large", "x-large"):
            return ROOT_SIZE
    return inherited


def behind(style: Style, inherited: Any = None) -> Any:
    """The colour behind the letters of an element, `inherited` if it sets none; None where it is a picture or not known."""
    painted = [token for name in ("background", "background-color", "background-image") for token in style.get(name, ())]
    if any(token.type in ("url", "function") and not _color(token) for token in painted):
        return None
    colors = [color for color in _colors(painted) if color.alpha >= _PALEST]
    return colors[-1] if colors else inherited


def _names(value: Iterable[Any]) -> set[str]:
    return {token.lower_value for token in value if token.type == "ident"}


def _amounts(value: Iterable[Any]) -> Iterator[float]:
    """The lengths in a value, a percentage counted as so many pixels."""
    return (_amount(token, percent=1) for token in value)


def _amount(token: Any, percent: float = 0.01, letter: float = ROOT_SIZE) -> float:
    """A number; a length in pixels, where letters have a size; a percentage times `percent`. NaN if it is no constant."""
    if token.type == "dimension":
        relative = letter if token.lower_unit in ("em", "ex", "ch") else _DATA["pixels"].get(token.lower_unit, 1)
        return float(token.value) * relative
    if token.type in ("number", "percentage"):
        return float(token.value) * (percent if token.type == "percentage" else 1)
    inner = getattr(token, "content", None) if token.type == "() block" else None
    if token.type == "function" and token.lower_name in ("calc", "-webkit-calc"):
        inner = token.arguments
    return nan if inner is None else _computed(words(inner), percent, letter)


def _computed(tokens: Sequence[Any], percent: float, letter: float) -> float:
    """The result of `calc()`, NaN if it mixes lengths with percentages or has anything but a constant."""
    total, product, operator = 0.0, 0.0, "+"
    if {"percentage", "dimension"} <= {token.type for token in tokens}:
        return nan
    for token in tokens:
        if token.type == "literal":
            operator = token.value
        elif operator == "*":
            product *= _amount(token, percent, letter)
        elif operator == "/":
            product /= _amount(token, percent, letter) or nan
        else:
            total, product = total + product, _amount(token, percent, letter) * (-1 if operator == "-" else 1)
    return total + product


def _is_vanishing(function: Any) -> bool:
    """Whether a function of `transform` or `filter` leaves nothing to see."""
    name, given = getattr(function, "lower_name", ""), [*map(_amount, getattr(function, "arguments", ()))]
    if name.startswith("translate"):
        return any(amount <= -100 for amount in given)
    if name in ("rotatex", "rotatey"):  # seen from its edge
        return any(abs(amount) % 180 == 90 for amount in given)
    if name == "matrix":
        a, b, c, d = [amount for amount in given if amount == amount][:4] or [1, 0, 0, 1]
        return abs(a * d - b * c) < 0.01
    if name == "blur":
        return any(amount >= 10 for amount in given)
    return (name.startswith("scale") or name in ("opacity", "contrast")) and any(abs(n) < _PALEST for n in given)


def _is_cutting(function: Any) -> bool:
    """Whether a function of `clip` or `clip-path` cuts all away."""
    name, arguments = getattr(function, "lower_name", ""), getattr(function, "arguments", ())
    shape = takewhile(lambda token: getattr(token, "lower_value", "") not in ("at", "round"), arguments)
    given = [amount for amount in _amounts(shape) if amount == amount]
    if name == "inset":
        return any(amount >= 50 for amount in given)
    if name in ("rect", "polygon"):
        return bool(given) and (max(given) - min(given) <= 1 or (name == "polygon" and _area(given) <= 1))
    if name == "xywh":
        return any(amount <= 1 for amount in given[2:4])
    return name in ("circle", "ellipse") and bool(given) and max(given) <= 1


def _area(given: Sequence[float]) -> float:
    """The area of a polygon, given the x and y of its corners."""
    xs, ys = given[::2], given[1::2]
    turned = zip(xs, ys, (*xs[1:], xs[0]), (*ys[1:], ys[0]), strict=False)
    return abs(sum(x * next_y - next_x * y for x, y, next_x, next_y in turned)) / 2


def _is_masking(image: Any) -> bool:
    """Whether an image of `mask` lets nothing through: a gradient without colour, or a file, which may not be there."""
    name, colors = getattr(image, "lower_name", ""), _colors(getattr(image, "arguments", ()))
    is_clear = name.endswith("gradient") and bool(colors) and all(color.alpha < _PALEST for color in colors)
    return image.type == "url" or name == "url" or is_clear


def _colors(value: Iterable[Any]) -> list[Any]:
    return [color for color in map(_color, value) if color and color != "currentcolor"]


def _color(token: Any) -> Any:
    from tinycss2.color4 import parse_color

    return parse_color(token)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two colours look the same, as far as tinycss2 can compare them."""
    try:
        pairs = zip(one.to("srgb").coordinates, other.to("srgb").coordinates, strict=True)
    except NotImplementedError:
        return bool(one.space == other.space and one.coordinates == other.coordinates)
    return all(abs((a or 0) - (b or 0)) < _SAME for a, b in pairs)
