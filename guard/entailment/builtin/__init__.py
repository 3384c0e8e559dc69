"""The entailment model shipped with groundrail, and how its 8-bit weights are restored.

Ordinary Hugging Face files, but for the matrices: each is stored as int8 with one scale a row, and
`weight = int8 * scale`. `MODEL_CARD.md` in this folder says what it was trained on and how well it does.
"""

import threading
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from groundrail.errors import ModelError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from groundrail.entailment.detail_check import DetailCheck

SCALE = ".scale"


def load_builtin(device: "str | torch.device | None" = None, dtype: "str | torch.dtype | None" = None) -> "DetailCheck":
    """The built-in judge: the model with a hint from missing numbers, dates, units and names. `dtype` None takes bfloat16
    where the processor multiplies it natively, else float32.

    Raises: ModelError if its files are missing from the installation.
    """
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype is None:
        dtype = torch.bfloat16 if torch.device(device).type == "cuda" or _cpu_has_bfloat16() else torch.float32
    elif isinstance(dtype, str):
        dtype = getattr(torch, dtype)
    with _loading:
        return _load(str(torch.device(device)), dtype)


_loading = threading.Lock()


@lru_cache(maxsize=2)
def _load(device: str, dtype: "torch.dtype") -> "DetailCheck":
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, MPNetConfig, MPNetForSequenceClassification

    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.detail_check import DetailCheck

    with as_file(files(__name__)) as folder:
        if not (folder / "model.safetensors").is_file():
            raise ModelError("the built-in judge's weights are not installed; reinstall groundrail, or pass a model")
        config = MPNetConfig.from_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        weights = restored(load_file(folder / "model.safetensors"), dtype)
    with torch.device("meta"):  # no weights are drawn that would be thrown away
        model = MPNetForSequenceClassification(config)
    model.load_state_dict(weights, assign=True)
    places = torch.arange(config.max_position_embeddings).expand((1, -1))
    model.mpnet.embeddings.register_buffer("position_ids", places, persistent=False)
    model.to(torch.device(device))  # type: ignore[arg-type]
    judge = CrossEncoderEntailment(model, tokenizer)
    judge.english_only = True
    return DetailCheck(judge)


def restored(stored: "dict[str, Tensor]", dtype: "torch.dtype") -> "dict[str, Tensor]":
    """Weights as the model wants them: `int8 * scale` by row, the rest converted to `dtype`."""
    return {
        name: stored[name].float().mul_(stored[name + SCALE].float()[:, None]).to(dtype)
        if name + SCALE in stored
        else stored[name].to(dtype)
        for name in stored
        if not name.endswith(SCALE)
    }


def _cpu_has_bfloat16() -> bool:
    import torch

    if not hasattr(torch.cpu, "get_capabilities"):  # older versions of torch do not say
        return False
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def folder() -> Path:
    """Where the files lie, for tools that want to read them."""
    return Path(str(files(__name__)))
