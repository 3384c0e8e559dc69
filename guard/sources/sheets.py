"""The style sheets inside a page: which of its elements a reader does not see.

The cascade is CSS's: the browser's own sheet, then the page's by specificity and order, then the `style` of an element,
with `!important` last; letters, colours, visibility and variables are inherited. A rule under a condition (a screen's
width, for example) may hide a text and never shows one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

import tinycss2
from cssselect2 import ElementWrapper, Matcher, compile_selector_list

from groundrail.errors import InputError
from groundrail.sources.styles import (
    ROOT_SIZE,
    Style,
    behind,
    declared,
    is_legible,
    is_understood,
    letter_size,
    removes,
    words,
)

_BROWSER = """
del, s, strike { text-decoration: line-through } [hidden], dialog:not([open]), [popover], datalist, rp { display: none }
head, title, script, style, template, noscript, noframes, noembed, iframe, object, svg, math, canvas, audio, video,
select, textarea, button, progress, meter, frameset { display: none !important }
"""
"""Elements that browsers hide by default, or show as pictures or fields and not as text."""

_MOST_LOOKS = 2_500_000
"""Most looks of a page's selectors at its elements, and of its rules at the elements that they are for."""
_LONGEST_SELECTOR = 10_000

_INHERITED = ("visibility", "color", "-webkit-text-fill-color")


_Origin: TypeAlias = Literal["browser", "page", "condition"]
"""Whose a rule is: the browser's, the page's, or the page's under a condition."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    declarations: list[Any]
    origin: _Origin


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Inherited properties, the size of letters and the colour behind them, as the children of an element inherit them."""

    style: Style = field(default_factory=dict)
    variables: Style = field(default_factory=dict)
    size: float = ROOT_SIZE
    background: Any = None


def unseen(root: Any) -> Iterator[tuple[Any, bool]]:
    """The elements of an lxml tree that are not seen, each with whether all that is in it is not seen either.

    Raises: InputError for a rule that hides something unknown, and for too many rules.
    """
    matcher = Matcher()
    _add(matcher, _BROWSER, "browser")
    for sheet in root.iter("style"):
        if (applies := _applies(tinycss2.parse_component_value_list(sheet.get("media", "all")))) is not None:
            _add(matcher, sheet.text or "", "page" if applies else "condition")
    computed = cache(_computed)  # elements with the same rules in the same place have the same style
    waiting: list[tuple[_Element, _Seen]] = [(_Element.from_html_root(root), _Seen())]
    while waiting:
        element, inherited = waiting.pop()
        seen = computed(_rules_for(element, matcher), element.etree_element.get("style", ""), inherited)
        if seen is None:
            yield element.etree_element, True
            continue
        if not is_legible(seen.style, seen.size, seen.background):
            yield element.etree_element, False
        waiting += [(child, seen) for child in element.iter_children()]


def _rules_for(element: "_Element", matcher: Matcher) -> tuple[_Rule, ...]:
    """The rules of an element in the order of the cascade, the browser's first."""
    rules = [rule for _, _, pseudo, rule in matcher.match(element) if pseudo is None]
    element._left[0] -= len(rules)
    return tuple(sorted(rules, key=lambda rule: rule.origin != "browser"))


def _computed(rules: tuple[_Rule, ...], own: str, inherited: _Seen) -> _Seen | None:
    """The style that an element with these rules and its own declarations hands on; None if it is not shown."""
    rules = (*rules, _Rule(declared(own), "page"))
    certain = [d for rule in rules if rule.origin != "condition" for d in rule.declarations]
    certain.sort(key=lambda declaration: bool(declaration.important))
    certain += [d for rule in rules if rule.origin == "browser" for d in rule.declarations if d.important]
    named = {d.name: d.value for d in certain if d.name.startswith("--")}
    variables = {**inherited.variables, **named} if named else inherited.variables
    style = dict(inherited.style)
    for declaration in certain:
        value = words(declaration.value, variables)
        if is_understood(declaration.lower_name, value):
            style[declaration.lower_name] = value
    perhaps = (
        {d.lower_name: words(d.value, variables) for d in rule.declarations} for rule in rules if rule.origin == "condition"
    )
    if removes(style) or any(removes(one) or not is_legible(one, inherited.size, behind(one)) for one in perhaps):
        return None
    kept = {name: style[name] for name in _INHERITED if name in style}
    return _Seen(kept, variables, letter_size(style, inherited.size), behind(style, inherited.background))


def _add(matcher: Matcher, sheet: str, origin: _Origin) -> None:
    """Add the rules of a style sheet. Raises: InputError."""
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    waiting = [(rule, "", origin) for rule in reversed(rules)]
    while waiting:
        rule, outer, origin = waiting.pop()
        if rule.type not in ("at-rule", "qualified-rule") or rule.content is None:
            continue
        selector = outer
        if rule.type == "qualified-rule":
            selector = _nested(tinycss2.serialize(rule.prelude).strip(), outer)
            if len(selector) > _LONGEST_SELECTOR:
                raise InputError(f"the page has a style rule for {selector[:80]!r}..., which is too long: remove the rule")
        elif (applies := _at_rule_applies(rule)) is None:
            continue
        elif not applies:
            origin = "condition"
        parts = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
        waiting += [(part, selector, origin) for part in reversed(parts)]
        if selector:
            _add_rule(matcher, selector, _Rule(declared(rule.content), origin))


def _at_rule_applies(rule: Any) -> bool | None:
    """Whether the rules in an at-rule hold on a screen; None where they are no rules for elements on a screen."""
    match rule.lower_at_keyword:
        case "media":
            return _applies(rule.prelude)
        case "layer" | "scope":
            return True
        case "supports" | "container" | "starting-style":
            return False
    return None


def _applies(media: list[Any]) -> bool | None:
    """Whether every screen is of a medium; None for paper."""
    names = [token.lower_value if token.type == "ident" else token.type for token in words(media)]
    return None if names == ["print"] else set(names) <= {"only", "screen", "all", "literal"}


def _nested(selector: str, outer: str) -> str:
    """A selector on its own, from one in a rule whose selector is `outer`."""
    if not outer:
        return selector
    return selector.replace("&", f":is({outer})") if "&" in selector else f":is({outer}) {selector}"


def _add_rule(matcher: Matcher, selector: str, rule: _Rule) -> None:
    alone = {declaration.lower_name: words(declaration.value) for declaration in rule.declarations}
    try:
        for compiled in compile_selector_list(selector):
            matcher.add_selector(compiled, rule)
    except Exception as error:  # cssselect2 raises whatever an odd selector leads to
        if removes(alone) or not is_legible(alone, ROOT_SIZE, behind(alone)):
            raise InputError(
                f"the page hides elements by {selector[:200]!r}, which cannot be read: remove the rule, or pass the text"
            ) from error


class _Element(ElementWrapper):  # type: ignore[misc]
    """An element that counts how often selectors look at the page's elements. Raises: InputError after too many looks."""

    def __init__(self, element: Any, parent: "_Element | None", *place: Any, **facts: Any) -> None:
        self._left: list[int] = [_MOST_LOOKS] if parent is None else parent._left
        super().__init__(element, parent, *place, **facts)

    def __getattribute__(self, name: str) -> Any:
        look = super().__getattribute__
        left = look("_left")
        left[0] -= 1
        if left[0] < 0:
            raise InputError("the page's style sheets take too long to apply: remove them, or pass the text")
        return look(name)

    @property
    def ancestors(self) -> "Iterator[_Element]":
        """The elements around it, the nearest first."""
        return self._along("parent")

    @property
    def previous_siblings(self) -> "Iterator[_Element]":
        """The elements before it, the nearest first."""
        return self._along("previous")

    def _along(self, way: str) -> "Iterator[_Element]":
        relative = self
        while (relative := getattr(relative, way)) is not None:
            yield relative
