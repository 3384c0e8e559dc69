"""Loads every Hugging Face model: from a hub id or a folder, without running code or pickles, with one kind of error."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from huggingface_hub.constants import ENDPOINT
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, WEIGHTS_INDEX_NAME, WEIGHTS_NAME
from transformers.utils.hub import cached_file, has_file

from groundrail.errors import InputError, ModelError
from groundrail.runtime.locks import one_at_a_time
from groundrail.runtime.places import answers, require_folder

_NO_CODE = {"trust_remote_code": False}
"""Said wherever something is loaded: else transformers asks on standard input whether to run a repository's code."""

_WHERE = ("revision", "cache_dir", "local_files_only", "token")
"""Keys of `hub` that say where files are found."""


@one_at_a_time
def load_pretrained(
    auto_class: Any,
    name_or_path: str,
    *,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
    hub: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model by `auto_class`, with its tokenizer unless there is one, onto `device`.

    `device` None takes the accelerator if there is one, or leaves the model where `device_map` puts it. `dtype`
    None takes float32, "auto" the checkpoint's own. A hub id may name its revision, `owner/name@commit`. `hub` goes
    to transformers (`revision`, `cache_dir`, `local_files_only`, `token`, ...).

    Raises: InputError for `trust_remote_code` or `use_safetensors=False`; ModelError where files cannot be found or
    read, weights are pickled, or the checkpoint has none for the head.
    """
    name_or_path, hub = _checked(name_or_path, hub)
    reading = {name: value for name, value in hub.items() if name != "use_safetensors"} | _NO_CODE
    with _as_model_error(name_or_path):
        # the configuration first: older versions of transformers ask for it again, without the token
        config = AutoConfig.from_pretrained(name_or_path, subfolder=hub.get("subfolder", ""), **_where(hub), **_NO_CODE)
        attention = str(hub.get("attn_implementation") or config._attn_implementation)
        if "/" in attention:
            raise ValueError(f"its attention is code of another repository, {attention}: say attn_implementation='sdpa'")
        if tokenizer is None:
            tokenizer = AutoTokenizer.from_pretrained(name_or_path, config=config, **reading)
    with _as_model_error(name_or_path, hub):
        reading |= {"dtype": dtype or torch.float32, "output_loading_info": True, "use_safetensors": True}
        model, report = auto_class.from_pretrained(name_or_path, **reading)
    if report["missing_keys"]:
        missing = ", ".join(sorted(report["missing_keys"])[:4])
        raise ModelError(f"{name_or_path!r} was not trained for this: it has no weights for {missing}")
    if device is None and getattr(model, "hf_device_map", None):
        return model, tokenizer
    return model.to(device or _default_device()), tokenizer


@one_at_a_time
def load_renamed(
    model_class: type[PreTrainedModel],
    name_or_path: str,
    *,
    base: str,
    names: Mapping[str, str],
    labels: int,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
    hub: Mapping[str, Any],
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load weights that were saved under names of their own, because the code that saved them is not run.

    `names` maps beginnings of the saved names to beginnings of the model's, the first that fits counts; a weight that
    none fits is left out. Configuration and tokenizer come from `base`, a hub id, or from the subfolder `base` of a
    folder. `device`, `dtype` and `hub` as in `load_pretrained`.

    Raises: as `load_pretrained`.
    """
    name_or_path, hub = _checked(name_or_path, hub)
    where = {name: value for name, value in _where(hub).items() if name != "revision"}
    if Path(name_or_path).is_dir():
        base = str(Path(name_or_path) / "base")
    with _as_model_error(base):
        config = AutoConfig.from_pretrained(base, num_labels=labels, **where, **_NO_CODE)
        tokenizer = AutoTokenizer.from_pretrained(base, config=config, **where, **_NO_CODE)
    with _as_model_error(name_or_path, hub):
        stored = load_file(str(cached_file(name_or_path, SAFE_WEIGHTS_NAME, **_where(hub))))
        model = model_class(config)
        weights = {}
        for name, weight in stored.items():
            old = next((old for old in names if name.startswith(old)), None)
            if old is not None:
                weights[names[old] + name.removeprefix(old)] = weight
        missing, _ = model.load_state_dict(weights, strict=False)
        places = dict(model.named_parameters(remove_duplicate=False))
        filled = {id(places[name]) for name in weights.keys() & places.keys()}
        lacking = sorted(name for name in missing if name in places and id(places[name]) not in filled)
    if lacking:
        raise ModelError(f"{name_or_path!r} was not trained for this: it has no weights for {', '.join(lacking[:4])}")
    config.name_or_path = name_or_path
    chosen = getattr(torch, dtype) if isinstance(dtype, str) and dtype != "auto" else dtype
    model.to(torch.float32 if chosen in (None, "auto") else chosen)  # type: ignore[arg-type]
    return model.to(device or _default_device()), tokenizer  # type: ignore[arg-type]


@one_at_a_time
def load_config(name_or_path: str, hub: Mapping[str, Any]) -> PreTrainedConfig:
    """A model's configuration, without its weights; `hub` only says where to look. Raises: as `load_pretrained`."""
    name_or_path, hub = _checked(name_or_path, hub)
    with _as_model_error(name_or_path):
        config: PreTrainedConfig = AutoConfig.from_pretrained(name_or_path, **_where(hub), **_NO_CODE)
        return config


def _checked(name_or_path: str, hub: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name without the revision after its `@`, which goes to `hub`; a folder may have any name.

    Raises: InputError for two revisions, foreign code, or pickled weights; ModelError for a folder that is not there.
    """
    if hub.get("trust_remote_code"):
        raise InputError("groundrail runs no code from the hub: build the model yourself and pass it in")
    if hub.get("use_safetensors", True) is False:
        raise InputError("groundrail reads no pickled weights, which can run code: leave use_safetensors out")
    name, at, revision = name_or_path.rpartition("@")
    require_folder(name_or_path)
    if Path(name_or_path).exists():
        return name_or_path, hub
    if not hub.get("local_files_only") and not answers(ENDPOINT):
        hub = {**hub, "local_files_only": True}  # else every request is tried six times
    if not at:
        return name_or_path, hub
    if hub.get("revision") not in (None, revision):
        raise InputError(f"{name_or_path!r} and revision={hub['revision']!r} name two revisions: pass one of them")
    return name, {**hub, "revision": revision}


@contextmanager
def _as_model_error(name_or_path: str, weights: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Turn what loading raises into a ModelError that says what to do; `weights` is `hub` where those are read."""
    try:
        yield
    except (OSError, ValueError, LookupError, ImportError, RuntimeError, SafetensorError) as error:
        if weights is not None and _only_pickled(name_or_path, weights):
            raise ModelError(
                f"{name_or_path!r} has pickled weights, which can run code when they are read, and none as "
                f"safetensors: convert it where you trust it, with from_pretrained(...).save_pretrained(folder), "
                f"and pass that folder"
            ) from error
        raise ModelError(
            f"cannot load {name_or_path!r}: {' '.join(str(error).split()).rstrip('.')}. Pass a folder with the model "
            f"and its tokenizer, or a hub id that can be reached from here"
        ) from error


def _only_pickled(name_or_path: str, hub: Mapping[str, Any]) -> bool:
    """Whether there are weights, and none as safetensors; False where nothing is found at all."""
    folder = PurePosixPath(hub.get("subfolder") or "")

    def has(*names: str) -> bool:
        return any(has_file(name_or_path, str(folder / name), **_where(hub)) for name in names)

    try:
        return has(WEIGHTS_NAME, WEIGHTS_INDEX_NAME) and not has(SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME)
    except (OSError, ValueError):
        return False


def _where(hub: Mapping[str, Any]) -> dict[str, Any]:
    return {name: hub[name] for name in _WHERE if name in hub}


def _default_device() -> torch.device:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return accelerator or torch.device("cpu")
