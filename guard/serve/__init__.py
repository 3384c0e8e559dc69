"""The gating server: an OpenAI-compatible address whose every sentence was judged before it left (extra `serve`).

`create_app` makes the ASGI app, `Settings` says how it behaves; `groundrail serve` runs it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundrail.serve.app import create_app
    from groundrail.serve.settings import Settings

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> object:
    if name == "create_app":
        from groundrail.serve.app import create_app

        return create_app
    if name == "Settings":
        from groundrail.serve.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
