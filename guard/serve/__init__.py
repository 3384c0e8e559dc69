"""The gating server: an OpenAI-compatible address whose every sentence was judged before it left (extra `serve`).

`create_app` makes the ASGI app, `Settings` says how it behaves; `groundrail serve` runs it.
"""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.serve.app import create_app
    from groundrail.serve.settings import Settings

__all__ = ["Settings", "create_app"]

__getattr__, __dir__ = exported(__name__, {"app": "create_app", "settings": "Settings"})
