"""A `Policy` from a TOML file. `groundrail.policy` explains the choices."""

import tomllib
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, Field, ValidationError
from tenacity import stop_after_attempt, stop_after_delay
from tenacity.stop import stop_base

from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.policy import Fallback, Policy

KEYS = ("attempts", "retry_seconds", *(name for name in Policy.model_fields if name != "stop"))
"""`attempts` and `retry_seconds` make the policy's `stop`; `calibration` is a file of `groundrail calibrate --save-map`."""

_FALLBACKS = get_args(get_args(Fallback)[0])


class _Stop(BaseModel):
    """The keys that make the policy's `stop`."""

    attempts: int | None = Field(default=None, ge=1, strict=True)
    retry_seconds: float | None = Field(default=None, gt=0)

    def made(self) -> dict[str, Any]:
        """The policy's `stop`, if the file has one of the keys."""
        if self.attempts is None and self.retry_seconds is None:
            return {}
        stop: stop_base = stop_after_attempt(self.attempts or 3)
        return {"stop": stop if self.retry_seconds is None else stop | stop_after_delay(self.retry_seconds)}


def read_policy(path: Path) -> Policy:
    """Raises: InputError in one line, naming the key, for whatever cannot be used."""
    try:
        choices = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    if unknown := [key for key in choices if key not in KEYS]:
        raise InputError(f"{path}: there is no key {unknown[0]!r}; there are {', '.join(KEYS)}")
    if choices.get("fallback", "drop") not in _FALLBACKS:
        raise InputError(f"{path}: fallback is {choices['fallback']!r}; it is one of {', '.join(_FALLBACKS)}")
    if "calibration" in choices:
        choices["calibration"] = Calibration.load(path.parent / str(choices["calibration"]))
    try:
        stop = _Stop(**{key: choices.pop(key) for key in _Stop.model_fields if key in choices})
        return Policy(**choices, **stop.made())
    except ValidationError as error:
        wrong = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from error
