"""The known judges as text: a line for each, everything about one, or JSON."""

import json
from typing import Any

from groundrail.entailment.known import JUDGES, KnownJudge, find
from groundrail.errors import InputError

_FACTS = ("name", "hub_id", "kind", "parameters", "licence", "languages", "published", "threshold", "code", "hint")


def listed() -> str:
    """Name, size and hub id of each judge, a judge a line, then how to use one."""
    lines = [f"{judge.name:<25}  {judge.parameters:>5}  {judge.hub_id}" for judge in JUDGES]
    return "\n".join([*lines, "", "More about one: groundrail judges NAME. Use it: --judge NAME, or NAME:FOLDER."])


def told(name: str) -> str:
    """Everything about a judge, a fact a line. Raises: InputError for an unknown name."""
    return "\n".join(f"{fact:<10}  {value}" for fact, value in _facts(_named(name)).items() if value != "")


def as_json(name: str | None = None) -> str:
    """The facts of one judge, or of all. `code` is where its input form was read. Raises: InputError as `told`."""
    return json.dumps([_facts(judge) for judge in ((_named(name),) if name else JUDGES)], indent=1)


def _named(name: str) -> KnownJudge:
    found = find(name)
    if found is None:
        raise InputError(f"no judge is named {name!r}; groundrail judges lists the names")
    return found[0]


def _facts(judge: KnownJudge) -> dict[str, Any]:
    return {fact: getattr(judge, fact) for fact in _FACTS}
