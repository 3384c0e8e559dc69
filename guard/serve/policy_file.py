"""A `Policy` from a TOML file. `groundrail.policy` explains the choices."""

import tomllib
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError
from tenacity import stop_after_attempt, stop_after_delay

from groundrail.calibration import Calibration
from groundrail.errors import InputError
from groundrail.policy import Fallback, Policy

KEYS = (
    "threshold",
    "attempts",
    "retry_seconds",
    "fallback",
    "on_error",
    "on_no_source",
    "deadline",
    "answer_deadline",
    "abstention",
    "doubt",
    "calibration",
    "longest_sentence",
    "keep_refused",
    "fields",
)
"""`attempts` and `retry_seconds` make the policy's `stop`; `calibration` is a file of `groundrail calibrate --save-map`."""

_FALLBACKS = get_args(get_args(Fallback)[0])


def read_policy(path: Path) -> Policy:
    """Raises: InputError in one line, naming the key, for whatever cannot be used."""
    try:
        choices = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    for key in choices:
        if key not in KEYS:
            raise InputError(f"{path}: there is no key {key!r}; there are {', '.join(KEYS)}")
    if "fallback" in choices and choices["fallback"] not in _FALLBACKS:
        raise InputError(f"{path}: fallback is {choices['fallback']!r}; it is one of {', '.join(_FALLBACKS)}")
    _set_stop(choices, path)
    if "calibration" in choices:
        choices["calibration"] = Calibration.load(path.parent / str(choices["calibration"]))
    try:
        return Policy(**choices)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from error


def _set_stop(choices: dict[str, Any], path: Path) -> None:
    attempts, seconds = choices.pop("attempts", None), choices.pop("retry_seconds", None)
    if attempts is not None and (type(attempts) is not int or attempts < 1):
        raise InputError(f"{path}: attempts is {attempts!r}; pass a whole number from 1")
    if seconds is not None and (type(seconds) not in (int, float) or seconds <= 0):
        raise InputError(f"{path}: retry_seconds is {seconds!r}; pass a positive number")
    stops = []
    if attempts is not None or seconds is not None:
        stops.append(stop_after_attempt(3 if attempts is None else attempts))
    if seconds is not None:
        choices["stop"] = stops[0] | stop_after_delay(seconds)
    elif stops:
        choices["stop"] = stops[0]
