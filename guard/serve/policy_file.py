"""A `Policy` from a TOML file. `groundrail.policy` explains the choices."""

import tomllib
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, Field, ValidationError
from tenacity import stop_after_delay

from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.policy import Fallback, Policy

KEYS = ("retry_seconds", *(name for name in Policy.model_fields if name != "stop"))
"""`retry_seconds` make the policy's `stop`; `calibration` is a file of `groundrail calibrate --save-map`."""

_FALLBACKS = get_args(get_args(Fallback)[0])


class _Seconds(BaseModel):
    """The key that makes the policy's `stop`."""

    retry_seconds: float = Field(gt=0)


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
        if "retry_seconds" in choices:
            seconds = _Seconds(retry_seconds=choices.pop("retry_seconds")).retry_seconds
            choices = {"attempts": 3, "stop": stop_after_delay(seconds), **choices}
        return Policy(**choices)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from error
