"""Where a model's files may be: a folder that is there, or a hub that answers. Nothing here imports a model library."""

import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from groundrail.errors import ModelError
from groundrail.runtime.deadlines import OverdueError, calls

PATIENCE = 3.0
"""Seconds to wait for the hub's first answer."""


def require_folder(name_or_path: str) -> None:
    """Raises: ModelError for what is written as a path, and is not there."""
    if name_or_path.startswith(("/", ".", "~")) and not Path(name_or_path).exists():
        raise ModelError(f"there is no {name_or_path!r}. Pass a folder with the model and its tokenizer, or a hub id")


def answers(url: str) -> bool:
    """Whether the host of an address takes connections; True where a proxy stands before it, which only a request can tell."""
    address = urlsplit(url)
    host = address.hostname or ""
    if {address.scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
        return True
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        calls().within(PATIENCE, socket.create_connection, (host, port), PATIENCE).close()
    except (OSError, OverdueError):
        return False
    return True
