"""The templates of pages, their style and script, and the security policy that lets only these run.

Jinja2 escapes all text.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from groundrail.report import telling
from groundrail.report.chart import HEIGHT
from groundrail.report.hidden import marked_up


@cache
def asset(name: str) -> Markup:
    """The text of a file in the folder of templates."""
    return Markup((files("groundrail.report") / "templates" / name).read_text(encoding="utf-8"))


@cache
def template(name: str) -> Template:
    """A template by its name without ".jinja"."""
    environment = Environment(
        loader=FunctionLoader(lambda name: str(asset(f"{name}.jinja"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(shown=marked_up, why=telling.why, label=telling.label)
    environment.globals.update(telling=telling, HEIGHT=HEIGHT)
    return environment.get_template(name)


def security_policy(style: str, script: str = "") -> str:
    """The content security policy of a page that loads nothing and runs this script; without a script, none.

    >>> security_policy("p { margin: 0 }").split("; ")[2]
    "script-src 'none'"
    """
    runs = _hash(script) if script else "'none'"
    return f"default-src 'none'; style-src {_hash(style)}; script-src {runs}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
