"""The gating server: an OpenAI-compatible address whose every sentence was judged before it left (extra `serve`).

`create_app` makes the ASGI app, `Settings` says how it behaves; `groundrail serve` runs it.
"""

from typing import TYPE_CHECKING

from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.serve.app import create_app as create_app
    from groundrail.serve.settings import Settings as Settings

__getattr__, __dir__, __all__ = exported(__name__, {"app": "create_app", "settings": "Settings"})
