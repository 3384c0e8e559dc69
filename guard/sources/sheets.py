"""The style sheets inside a page: which of its elements a reader does not see.

The cascade is CSS's: the browser's own sheet, then the page's by specificity and order, then the `style` of an element,
with `!important` last; letters, colours, visibility and variables are inherited. A rule under a condition (a screen's
width, for example) may hide a text and never shows one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
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

_MOST_STEPS = 5_000_000
"""Most steps from an element to its relatives, in all selectors of a page. Slower things count for several steps."""
_TEST, _VISIT = 2, 15
"""Steps that the test of a selector counts for, and a visit of an element, as by each test of `:has()`."""
_LONGEST_SELECTOR = 10_000

_INHERITED = ("visibility", "color", "-webkit-text-fill-color")


@dataclass(slots=True)
class _Rule:
    """Declarations, and whose they are: the browser's, the page's, or the page's under a condition."""

    declarations: list[Any]
    origin: "_Origin"


@dataclass(frozen=True, slots=True)
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
    computed = _Cascade(matcher)
    waiting: list[tuple[_Element, _Seen]] = [(_Element.from_html_root(root), _Seen())]
    while waiting:
        element, inherited = waiting.pop()
        seen = computed(element, inherited)
        if seen is None:
            yield element.etree_element, True
            continue
        if not is_legible(seen.style, seen.size, seen.background):
            yield element.etree_element, False
        waiting += [(child, seen) for child in element.iter_children()]


class _Cascade:
    """The style of each element. Elements with the same rules in the same place have the same style, computed once."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._computed: dict[tuple[Any, ...], _Seen | None] = {}
        self._kept = list[_Seen]()  # so that no other takes the identity of one in a key

    def __call__(self, element: "_Element", inherited: _Seen) -> _Seen | None:
        """The style that an element hands on to its children; None if it is not shown."""
        rules = [rule for _, _, pseudo, rule in self._matcher.match(element) if pseudo is None]
        rules.sort(key=lambda rule: rule.origin != "browser")
        own = element.etree_element.get("style")
        key = (*map(id, rules), own, id(inherited))
        if key not in self._computed:
            self._computed[key] = _computed(rules, own, inherited)
            self._kept.append(inherited)
        return self._computed[key]


def _computed(rules: "list[_Rule]", own: str | None, inherited: _Seen) -> _Seen | None:
    """The style of an element with these rules, in the order of the cascade, and the declarations of its own."""
    if own:
        rules.append(_Rule(declared(own), "page"))
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
        {d.lower_name: words(d.value, variables) for d in rule.declarations}
        for rule in rules
        if rule.origin == "condition"
    )
    if removes(style) or any(removes(one) or not is_legible(one, inherited.size, behind(one)) for one in perhaps):
        return None
    kept = {name: style[name] for name in _INHERITED if name in style}
    return _Seen(kept, variables, letter_size(style, inherited.size), behind(style, inherited.background))


_Origin: TypeAlias = Literal["browser", "page", "condition"]


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
                raise InputError(
                    f"the page has a style rule for {selector[:80]!r}..., which is too long: remove the rule"
                )
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
            compiled.test = _counted(compiled.test)
            matcher.add_selector(compiled, rule)
    except Exception as error:  # cssselect2 raises whatever an odd selector leads to
        if removes(alone) or not is_legible(alone, ROOT_SIZE, behind(alone)):
            raise InputError(
                f"the page hides elements by {selector[:200]!r}, which cannot be read: remove the rule, or pass the text"
            ) from error


def _counted(test: Any) -> Any:
    """The test of a selector, which counts its steps."""

    def counted(element: _Element) -> Any:
        element.step(_TEST)
        return test(element)

    return counted


class _Element(ElementWrapper):  # type: ignore[misc]
    """An element that counts the steps of selectors to its relatives. Raises: InputError after too many."""

    def __init__(self, element: Any, parent: "_Element | None", *place: Any, **facts: Any) -> None:
        super().__init__(element, parent, *place, **facts)
        self._left: list[int] = [_MOST_STEPS] if parent is None else parent._left
        self.step(_VISIT)

    @property
    def ancestors(self) -> "Iterator[_Element]":
        """The elements around it, the nearest first."""
        return self._along("parent")

    @property
    def previous_siblings(self) -> "Iterator[_Element]":
        """The elements before it, the nearest first."""
        return self._along("previous")

    @cached_property
    def etree_children(self) -> "_Children":
        """The elements in it."""
        return _Children(self)

    def step(self, number: int = 1) -> None:
        """Count steps."""
        self._left[0] -= number
        if self._left[0] < 0:
            raise InputError("the page's style sheets take too long to apply: remove them, or pass the text")

    def _along(self, way: str) -> "Iterator[_Element]":
        relative = self
        while (relative := getattr(relative, way)) is not None:
            self.step()
            yield relative


class _Children(list[Any]):
    """The elements in an element, counted when they are looked through."""

    def __init__(self, parent: _Element) -> None:
        super().__init__(element for element in parent.etree_element if isinstance(element.tag, str))
        self._parent = parent

    def __iter__(self) -> Iterator[Any]:
        self._parent.step(len(self))
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self._parent.step(len(found) if isinstance(place, slice) else 1)
        return found
