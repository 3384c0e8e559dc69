"""The entailment model shipped with groundrail, and how its 8-bit weights are restored.

Ordinary Hugging Face files, but for the matrices: each is stored as int8 with one scale a row, and
`weight = int8 * scale`. `MODEL_CARD.md` in this folder says what it was trained on and how well it does.
"""

from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from groundrail.errors import InputError, ModelError
from groundrail.runtime.checksums import require_sha256
from groundrail.runtime.locks import one_at_a_time

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from groundrail.entailment.respelled import Respelled

SCALE = ".scale"
WEIGHTS, DIGEST = "model.safetensors", "model.sha256"
"""The weights, and their SHA-256 as `sha256sum` prints it."""

_TYPICAL = (
    ("The lease begins on 1 March 2024 and ends on 28 February 2026.", "The lease runs for two years."),
    ("Ms Okafor lent Mr Lindqvist 3,500 euros; he paid back half of it in May.", "He still owes her 1,750 euros."),
    ("Store the syrup below 25 °C. Do not freeze it. Throw it away six weeks after opening.", "It may be frozen."),
    (
        "The committee met twice. Nobody voted against the plan, but two members asked for a new estimate, which is to be "
        "ready by the autumn; until then only the cheaper of the two bridges will be repaired.",
        "Because two members objected, the committee rejected the plan.",
    ),
)
"""What the model reads to show which inputs of its layers are the largest."""


@one_at_a_time
def load_builtin(device: "str | torch.device | None" = None, dtype: "str | torch.dtype | None" = None) -> "Respelled":
    """The built-in judge, which reads claims in the premise's spelling. `dtype` None takes what the processor multiplies
    natively: bfloat16, else "int8" (`groundrail.entailment.int8`), else float32.

    Raises: ModelError if its files are missing from the installation or have changed; InputError for "int8" on anything but a processor.
    """
    import torch

    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(device)
    if dtype is None:
        dtype = _native(device)
    elif isinstance(dtype, str):
        dtype = getattr(torch, dtype)
    if dtype is torch.int8 and device.type != "cpu":
        raise InputError(f"int8 is for processors, not {device}: leave dtype out, or pass bfloat16")
    return _load(str(device), dtype)


@lru_cache(maxsize=2)
def _load(device: str, dtype: "torch.dtype") -> "Respelled":
    import torch
    from transformers import AutoTokenizer, MPNetConfig, MPNetForSequenceClassification

    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.respelled import Respelled

    with as_file(files(__name__)) as folder:
        _require_weights(folder)
        config = MPNetConfig.from_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        exact = torch.float32 if dtype is torch.int8 else dtype
        with torch.device("meta"):  # no weights are drawn that would be thrown away
            model = MPNetForSequenceClassification(config)
        model.load_state_dict(restored(folder / WEIGHTS, exact), assign=True)
    places = torch.arange(config.max_position_embeddings).expand((1, -1))
    model.mpnet.embeddings.register_buffer("position_ids", places, persistent=False)
    model.to(torch.device(device))  # type: ignore[arg-type]
    judge = CrossEncoderEntailment(model, tokenizer, batch_tokens=2048, english_only=True)
    if dtype is torch.int8:
        from groundrail.entailment.int8 import quantise

        quantise(model.mpnet.encoder, lambda: judge.entailment(_TYPICAL))
    return Respelled(judge)


def _require_weights(folder: Path) -> None:
    """Raises: ModelError for weights that are missing or not the ones in `model.sha256`."""
    weights, digest = folder / WEIGHTS, folder / DIGEST
    if not weights.is_file() or not digest.is_file():
        raise ModelError("the built-in judge's weights are not installed; reinstall groundrail, or pass a model")
    require_sha256(weights, digest.read_text(encoding="ascii").split()[0], "Reinstall groundrail, or pass a model")


def restored(file: Path, dtype: "torch.dtype") -> "dict[str, Tensor]":
    """Weights as the model wants them: `int8 * scale` by row, the rest converted to `dtype`. The file is opened anew for
    each, so that no more of it than one stays in memory."""
    from safetensors import safe_open

    with safe_open(file, framework="pt") as stored:
        names = set(stored.keys())

    def weight(name: str) -> "Tensor":
        with safe_open(file, framework="pt") as stored:
            found: Tensor = stored.get_tensor(name)
            if name + SCALE not in names:
                return found.to(dtype, copy=True)
            return found.float().mul_(stored.get_tensor(name + SCALE).float()[:, None]).to(dtype)

    return {name: weight(name) for name in sorted(names) if not name.endswith(SCALE)}


def _native(device: "torch.device") -> "torch.dtype":
    import torch

    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # older versions do not say
    if device.type == "cuda" or able.get("avx512_bf16"):
        return torch.bfloat16
    if device.type == "cpu" and able.get("avx512_vnni"):  # with AVX2's VNNI 8 bits are hardly faster
        return torch.int8
    return torch.float32


def folder() -> Path:
    """Where the files lie, for tools that want to read them."""
    return Path(str(files(__name__)))
