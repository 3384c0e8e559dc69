"""How the server behaves: addresses, keys, limits. The guard's policy decides what counts as supported."""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator

Marker: TypeAlias = Annotated[str, StringConstraints(min_length=1)]
HostName: TypeAlias = Annotated[str, StringConstraints(to_lower=True)]


class Settings(BaseModel):
    """Sizes are in bytes, times in seconds.

    Args:
        upstream: base URL of the server that writes, up to and including the version, as `http://localhost:8000/v1`.
        upstream_api_key: sent upstream for requests without an Authorization header.
        api_key: what a request must carry, as `x-api-key` or as the bearer token; it is never sent upstream.
        documents: what becomes of the field `documents` upstream: put before the conversation as a system message,
            forwarded as it is (for servers whose chat template reads it), or dropped.
        markers: what a source stands between in system and user messages.
        source_tools: names of the tools whose results are sources; None for all.
        allowed_hosts: names by which clients may call this server besides loopback ones; `*` allows every name.
        max_concurrency: answers at a time; more get 429.
        max_bodies: requests that are being received at a time; more get 429.
        max_kept: characters of the last requests' sources that stay in memory, as they were read, so that a source that
            comes again is not read again; 0 keeps none.
        timeout: for a connection upstream, and for each piece of its answer.
        request_timeout: for a whole answer.
        body_timeout: for receiving a request.
        max_body: longest request.
        max_answer: characters that the upstream may write for one answer.
        heartbeat: between two signs of life while a sentence waits.
        log_text: write sentences to the log, at DEBUG.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    upstream: str | None = None
    upstream_api_key: SecretStr | None = Field(default=None, min_length=1)
    api_key: SecretStr | None = Field(default=None, min_length=1)
    documents: Literal["insert", "forward", "drop"] = "insert"
    markers: tuple[Marker, Marker] = ("<source>", "</source>")
    source_tools: frozenset[str] | None = None
    allowed_hosts: frozenset[HostName] = frozenset()
    max_concurrency: int = Field(default=64, ge=1)
    max_bodies: int = Field(default=128, ge=1)
    max_body: int = Field(default=8 * 1024 * 1024, ge=1)
    max_answer: int = Field(default=1_000_000, ge=1)
    max_kept: int = Field(default=4_000_000, ge=0)
    timeout: float = Field(default=60.0, gt=0)
    request_timeout: float = Field(default=600.0, gt=0)
    body_timeout: float = Field(default=30.0, gt=0)
    heartbeat: float = Field(default=10.0, gt=0)
    log_text: bool = False

    @field_validator("upstream")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "http://none")  # whose port raises too, where it is no number
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("upstream must start with http:// or https:// and name a host")
        return value
