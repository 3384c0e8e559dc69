"""Errors in the protocol's own form: `{"error": {"message", "type", "param", "code"}}` and a status.

Clients of the protocol repeat a request on 408, 409, 429 and 5xx; `x-should-retry` says where that is of no use.
"""

import json
from typing import Any

from starlette.responses import Response

_KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class ProtocolError(Exception):
    """A request that cannot be answered; the message reaches the client.

    retry: whether the same request may succeed later; None leaves it to the status.
    retry_after: the header's value, as the upstream or the server itself gives it.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry: bool | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.retry, self.retry_after = retry, retry_after

    @property
    def body(self) -> dict[str, Any]:
        """The error object."""
        kind = _KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> Response:
        """The whole answer."""
        headers = {}
        if self.retry is not None:
            headers["x-should-retry"] = str(self.retry).lower()
        if self.retry_after is not None:
            headers["retry-after"] = self.retry_after
        return json_response(self.body, self.status, headers)


def json_response(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON in ASCII, so that whatever text a model wrote can be sent."""
    return Response(json.dumps(content), status, headers, "application/json")
