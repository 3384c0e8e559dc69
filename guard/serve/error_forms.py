"""Errors in the forms of the protocols, and a status.

The OpenAI protocols write `{"error": {"message", "type", "param", "code"}}`, Anthropic's writes `{"type": "error",
"error": {"type", "message"}}`. Clients repeat a request on 408, 409, 429 and 5xx; `x-should-retry: false` tells them
not to.
"""

import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from starlette.responses import Response

MESSAGES = "/v1/messages"
"""The address whose errors have Anthropic's form."""

_KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC_KINDS = _KINDS | {403: "permission_error", 413: "request_too_large", 504: "timeout_error"}


@dataclass(eq=False)
class ProtocolError(Exception):
    """A request that cannot be answered; the message reaches the client.

    retry: whether the same request may succeed later; None leaves it to the status.
    retry_after: the header's value, as the upstream or the server itself gives it.
    """

    status: int
    message: str
    _: KW_ONLY
    code: str | None = None
    param: str | None = None
    retry: bool | None = None
    retry_after: str | None = None

    def body(self, path: str = "") -> dict[str, Any]:
        """The error object, in the form of the protocol at an address."""
        kinds = _ANTHROPIC_KINDS if path == MESSAGES else _KINDS
        kind = kinds.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")
        error: dict[str, Any] = {"type": kind, "message": self.message}
        if path == MESSAGES:
            return {"type": "error", "error": error}
        return {"error": error | {"param": self.param, "code": self.code}}

    def response(self, path: str = "") -> Response:
        """The whole answer of the address."""
        headers = {}
        if self.retry is not None:
            headers["x-should-retry"] = str(self.retry).lower()
        if self.retry_after is not None:
            headers["retry-after"] = self.retry_after
        return json_response(self.body(path), self.status, headers)


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON in ASCII, so that whatever text a model wrote can be sent."""
    return Response(json.dumps(content), status, headers, "application/json")
