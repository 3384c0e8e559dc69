"""The text that a model reads, with places for the premise and the claim."""

import re
from collections.abc import Sequence

from groundrail.errors import InputError


class Template:
    """A text with `{premise}` and `{claim}` in it, once each; the texts are put in as they are, braces included.

    `places` says which names the template holds, in any order. Raises: InputError where it holds others.

        >>> Template("{premise} So: {claim}").fill("It rains.", "The road is wet.")
        'It rains. So: The road is wet.'
    """

    def __init__(self, text: str, places: Sequence[str] = ("premise", "claim")) -> None:
        self._parts = re.split(r"\{(premise|claim)\}", text)
        if sorted(self.names) != sorted(places):
            wanted = " and ".join(f"{{{place}}}" for place in places)
            raise InputError(f"a template holds {wanted} once each, unlike {text!r}")
        self.text = text

    @property
    def names(self) -> list[str]:
        """The names in the order in which they stand."""
        return self._parts[1::2]

    @property
    def around(self) -> list[str]:
        """The fixed text before, between and after the names, one piece more than there are names."""
        return self._parts[::2]

    def fill(self, premise: str, claim: str = "") -> str:
        """The text with premise and claim in their places."""
        filling = {"premise": premise, "claim": claim}
        return "".join(filling[part] if index % 2 else part for index, part in enumerate(self._parts))
