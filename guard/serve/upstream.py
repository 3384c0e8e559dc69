"""The upstream server: chat completions over one httpx client, event by event, and errors for its failures.

Nothing is repeated here: the first request's failure goes to the client in the protocol's form, which repeats it where
that makes sense. `groundrail.serve.writers` asks.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from groundrail.openai.events import Completion, StreamError, texts_of
from groundrail.serve.error_forms import ProtocolError
from groundrail.serve.settings import Settings

_LONGEST_LIST = 4 * 1024 * 1024
_LONGEST_ERROR = 64 * 1024
_BROKEN = {
    "garbage": ("the upstream streamed what is no chunk", "upstream_garbage"),
    "failed": ("the upstream failed while it was writing", "upstream_failed"),
    "incomplete": ("the upstream ended its answer before it was complete", "upstream_broke_off"),
}
"""Message and code that clients get for each kind of broken stream."""
_REASONS: dict[object, str] = {
    401: "it does not accept the key",
    402: "the account has no credit",
    403: "the key does not allow it",
    404: "it has no such model or address",
    413: "the request is too long",
    "context_length_exceeded": "the conversation is too long for the model",
    "insufficient_quota": "the account has no credit",
    "invalid_api_key": "it does not accept the key",
    "invalid_value": "a value is wrong",
    "missing_required_parameter": "a field is missing",
    "model_not_found": "it has no such model",
    "unknown_parameter": "it does not know a field",
    "unsupported_parameter": "the model does not know a field",
    "unsupported_value": "the model does not take a value",
}
"""The reasons of refusals that clients get, by the upstream's status or its code for the error."""
_FORWARDED = ("openai-organization", "openai-project")


class _Model(BaseModel):
    id: str = Field(min_length=1, max_length=200)


class _Models(BaseModel):
    data: list[_Model]


class Upstream:
    """An OpenAI-compatible server. Redirects are not followed and cookies not kept: keys go nowhere else."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self._key = settings, settings.upstream_api_key
        self._base = httpx.URL((settings.upstream or "").rstrip("/"))
        self._client = httpx.AsyncClient(
            timeout=settings.timeout,
            limits=httpx.Limits(max_connections=2 * settings.max_concurrency + 8),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def ask(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        """A chat completion that is about to be streamed, for `written`; the caller closes it. Raises: ProtocolError."""
        response = await self._send("POST", "/chat/completions", headers, {**body, "stream": True})
        if "text/event-stream" not in response.headers.get("content-type", "").lower():
            await response.aclose()
            said = "the upstream sent no stream of events; check that its address ends with the API's version, as in"
            raise ProtocolError(502, f"{said} http://host:8000/v1", code="upstream_garbage", retry=False)
        return response

    async def models(self, headers: Mapping[str, str]) -> Any:
        """The names of the upstream's models, as the protocol lists them. Raises: ProtocolError."""
        response = await self._send("GET", "/models", headers, None)
        try:
            listed = _Models.model_validate_json(await _start_of(response, _LONGEST_LIST))
        except ValidationError as error:
            raise ProtocolError(502, "the upstream's models are no list of models", code="upstream_garbage") from error
        finally:
            await response.aclose()
        facts = {"object": "model", "created": 0, "owned_by": "upstream"}
        return {"object": "list", "data": [{"id": model.id, **facts} for model in listed.data]}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> httpx.Response:
        url = self._base.copy_with(path=self._base.path.rstrip("/") + path)
        request = self._client.build_request(method, url, json=body, headers=self._headers(headers))
        try:
            response = await self._client.send(request, stream=True)
        except httpx.TimeoutException as error:
            raise ProtocolError(504, "the upstream did not answer in time", code="upstream_timeout") from error
        except httpx.HTTPError as error:
            raise ProtocolError(502, "the upstream cannot be reached", code="upstream_unreachable") from error
        if response.is_success:
            return response
        try:
            raise await _failure(response, body or {})
        finally:
            await response.aclose()

    def _headers(self, given: Mapping[str, str]) -> httpx.Headers:
        headers = {name: given[name] for name in _FORWARDED if name in given}
        if "authorization" in given:
            headers["authorization"] = given["authorization"]
        elif "x-api-key" in given:  # Anthropic's clients send their key so
            headers["authorization"] = f"Bearer {given['x-api-key']}"
        elif self._key is not None:
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}".encode().decode("latin-1")
        return httpx.Headers(headers, encoding="latin-1")  # byte for byte what came


async def written(response: httpx.Response, completion: Completion) -> AsyncIterator[str]:
    """The text of every event of a streamed answer, which `completion` reads.

    Raises: ProtocolError if it breaks off, stops, or is no stream of events.
    """
    try:
        async for text in texts_of(response.aiter_bytes(), completion):
            yield text
    except StreamError as error:  # whose message may quote the answer
        said, code = _BROKEN[error.kind]
        raise ProtocolError(502, said, code=code) from error
    except httpx.TimeoutException as error:
        raise ProtocolError(504, "the upstream stopped writing", code="upstream_timeout") from error
    except httpx.HTTPError as error:
        raise ProtocolError(502, "the upstream's answer broke off", code="upstream_broke_off") from error


async def _failure(response: httpx.Response, asked: Mapping[str, Any]) -> ProtocolError:
    """The client's error for an answer other than 2xx, in words of ours, since the upstream's are not judged."""
    status, after = response.status_code, response.headers.get("retry-after")
    after = after if after is not None and re.fullmatch(r"[0-9]{1,9}", after) else None
    if response.is_redirect:
        said = f"the upstream answered with a redirect ({status}), which is not followed; give its final address"
        return ProtocolError(502, said, code="upstream_redirect", retry=False)
    if status == 429 or status == 503:
        return ProtocolError(status, f"the upstream is busy ({status})", code="upstream_busy", retry_after=after)
    if status >= 500:
        return ProtocolError(502, f"the upstream failed ({status})", code="upstream_failed", retry_after=after)
    if status < 400:
        return ProtocolError(502, f"the upstream answered {status}", code="upstream_garbage", retry=False)
    code, named = _named(await _start_of(response, _LONGEST_ERROR))
    reason = _REASONS.get(code) or _REASONS.get(status, "it cannot use the request")
    field = next((name for name in asked if name == re.split(r"[.\[]", named)[0]), None)
    said = f"the upstream refused the request ({status}): {reason}" + (f"; look at {field}" if field else "")
    return ProtocolError(status, said, code=code if code in _REASONS else "upstream_refused", param=field)


async def _start_of(response: httpx.Response, most: int) -> bytes:
    data = b""
    try:
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > most:
                break
    except httpx.HTTPError as error:
        raise ProtocolError(502, "the upstream's answer broke off", code="upstream_broke_off") from error
    return data


def _named(data: bytes) -> tuple[str, str]:
    """The code of an error in the protocol's form, and the field that it names; "" where there is none."""
    try:
        error = json.loads(data)["error"]
        return str(error.get("code")), str(error.get("param"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", ""
