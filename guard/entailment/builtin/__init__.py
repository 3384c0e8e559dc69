"""The entailment model shipped with groundrail, and how its 8-bit weights are restored.

The files are as transformers writes them, but for the matrices: each is stored as int8 with one scale a row, and
`weight = int8 * scale`. They are read by torch and `tokenizers` alone, since importing transformers takes longer than
all else. `MODEL_CARD.md` in this folder says what it was trained on and how well it does.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from tokenizers import Encoding as Tokens
from tokenizers import Tokenizer
from torch import Tensor

from groundrail.entailment.base import EntailmentModel, FloatArray, JudgeMetadata, Pair
from groundrail.entailment.batching import Encoding, in_batches, refuse_long, refuse_long_claims
from groundrail.entailment.builtin.mpnet import FIRST, WORDS, MPNet, pack, quantise
from groundrail.entailment.respelled import Respelled
from groundrail.errors import InputError, ModelError
from groundrail.runtime.checksums import require_sha256
from groundrail.runtime.locks import one_at_a_time
from groundrail.text.context import MARK, claimed

if TYPE_CHECKING:
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment

SCALE = ".scale"
WEIGHTS, HEAD, DIGEST = "model.safetensors", "kinds.safetensors", "model.sha256"
"""The weights, the head for the kinds of sentences, and the SHA-256 of both as `sha256sum` prints it."""

_CLASSES = ("entailment", "neutral", "contradiction")
_BATCH_TOKENS = 2048

_AROUND = 120
"""Maximum tokens of the words around a sentence that its kind is read from."""

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
"""Texts that show which inputs of the model's layers are the largest."""


class BuiltinEntailment(EntailmentModel):
    """The built-in judge: MPNet with three classes, for claims in English. `load_builtin` makes it."""

    def __init__(self, model: MPNet, tokenizer: Tokenizer, config: Mapping[str, Any]) -> None:
        self.model, self._tokenizer, self._config = model, tokenizer, config
        self._tokenizer.no_truncation()
        self._start, self._end = config["bos_token_id"], config["eos_token_id"]
        self._order = [config["label2id"][name] for name in _CLASSES]
        self._longest = config["max_position_embeddings"] - FIRST
        self._reads_context = config.get("entailment_reads_context", False)
        self.max_tokens = self._longest - tokenizer.num_special_tokens_to_add(is_pair=True) - self._reads_context

    @property
    def metadata(self) -> JudgeMetadata:
        """The limits and the threshold that were fitted for it."""
        config = self._config
        return JudgeMetadata(
            config["entailment_identity"],
            self.max_tokens,
            config["entailment_threshold"],
            config["entailment_chunk_tokens"],
            english_only=True,
            reads_context=self._reads_context,
            unread=self._unread,
            weights=self.model,
            thresholds=config.get("entailment_thresholds", {}),
            tells_contradiction=True,
        )

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span of every token of `text`, in order."""
        return self._tokens(text).offsets

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        """Probabilities of entailment, neutral, contradiction, in this order, shape (n, 3). Raises: as the protocol."""
        refuse_long_claims(self, pairs)
        return in_batches(pairs, self._encode, self._probabilities, columns=3, batch_tokens=_BATCH_TOKENS)

    def kinds(self, sentences: Sequence[tuple[str, str]]) -> FloatArray:
        """Probabilities of claim, talk, silence, in this order, shape (n, 3), for (the words around it, a sentence).

        The last of the words around are read if not all fit. Raises: InputError for a sentence that does not fit.
        """
        return in_batches(sentences, self._encode_around, self._kind_probabilities, columns=3, batch_tokens=_BATCH_TOKENS)

    def kind_states(self, sentences: Sequence[tuple[str, str]]) -> Tensor:
        """The states that `kinds` reads for each sentence (`MPNet.kind_states`)."""
        return self.model.kind_states([encoding["input_ids"] for encoding in self._encode_around(sentences)])

    def _encode_around(self, sentences: Sequence[tuple[str, str]]) -> list[Encoding]:
        found = []
        for around, sentence in sentences:
            words, before = self._tokens(sentence).ids, self._tokens(around).ids[-_AROUND:]
            found.append([self._start, *before, self._end, self._end, *words, self._end])
        refuse_long(map(len, found), self._longest)
        return [{"input_ids": ids} for ids in found]

    def _kind_probabilities(self, encodings: list[Encoding]) -> Tensor:
        found: Tensor = self.model.kind_logits([encoding["input_ids"] for encoding in encodings]).softmax(dim=-1)
        return found

    def _tokens(self, text: str) -> Tokens:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _unread(self, text: str) -> list[str]:
        """The words that the tokenizer gives its unknown token for."""
        found, unknown = self._tokens(text), self._tokenizer.token_to_id("[UNK]")
        return [text[slice(*span)] for token, span in zip(found.ids, found.offsets, strict=True) if token == unknown]

    def _context(self, claim: str) -> list[int]:
        return [*self._tokens(claim.rpartition(MARK)[0]).ids, self._end]

    def _encode(self, pairs: Sequence[Pair]) -> list[Encoding]:
        found = [tokens.ids for tokens in self._tokenizer.encode_batch([(p, claimed(claim)) for p, claim in pairs])]
        context = {claim: self._context(claim) for claim in {claim for _, claim in pairs if MARK in claim}}
        for ids, (_, claim) in zip(found, pairs, strict=True):
            if claim in context:  # <s> premise </s> </s> context </s> claim </s>
                place = ids.index(self._end) + 2
                ids[place:place] = context[claim]
        refuse_long(map(len, found), self._longest)
        return [{"input_ids": ids} for ids in found]

    def _probabilities(self, encodings: list[Encoding]) -> Tensor:
        logits: Tensor = self.model([encoding["input_ids"] for encoding in encodings])
        found: Tensor = (logits[:, self._order] / self._config["entailment_temperature"]).softmax(dim=-1)
        return found


@one_at_a_time
def load_builtin(device: str | torch.device | None = None, dtype: str | torch.dtype | None = None) -> Respelled:
    """The built-in judge, which reads claims in the premise's spelling.

    `dtype` None takes what the processor multiplies natively: bfloat16, else "int8", else float32.

    Raises: ModelError if its files are missing or have changed; InputError for "int8" on anything but a processor.
    """
    return _load(*_place(device, dtype))


@lru_cache(maxsize=2)
def _load(device: str, dtype: torch.dtype) -> Respelled:
    with as_file(files(__name__)) as folder:
        _require_weights(folder)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        kind = torch.float32 if dtype is torch.int8 else dtype
        head = {name: weight.to(kind) for name, weight in load_file(folder / HEAD).items()}
        model = MPNet(restored(folder / WEIGHTS, kind, but=[WORDS]) | head, config).to(device)
    judge = BuiltinEntailment(model, tokenizer, config)
    if dtype is torch.int8:
        quantise(model.layers, lambda: judge.classify(_TYPICAL))
    elif dtype is torch.bfloat16 and device == "cpu" and _packs_bfloat16():
        pack(model.layers)
    return Respelled(judge)


@one_at_a_time
def as_cross_encoder(device: str | torch.device | None = None, dtype: torch.dtype | None = None) -> "CrossEncoderEntailment":
    """The built-in judge as a model of transformers, for training it or reading its layers. Raises: as `load_builtin`.

    `dtype` None takes bfloat16 where that is native, else float32.
    """
    from transformers import AutoTokenizer, MPNetConfig, MPNetForSequenceClassification

    from groundrail.entailment.cross_encoder import CrossEncoderEntailment

    place, dtype = _place(device, dtype)
    dtype = torch.float32 if dtype is torch.int8 else dtype
    with as_file(files(__name__)) as folder:
        _require_weights(folder)
        config = MPNetConfig.from_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        with torch.device("meta"):  # no weights are drawn that would be thrown away
            model = MPNetForSequenceClassification(config)
        weights = restored(folder / WEIGHTS, dtype)
        model.load_state_dict({name: weights[name] for name in model.state_dict()}, assign=True)
    places = torch.arange(config.max_position_embeddings).expand((1, -1))
    model.mpnet.embeddings.register_buffer("position_ids", places, persistent=False)
    model.to(torch.device(place))  # type: ignore[arg-type]
    return CrossEncoderEntailment(model, tokenizer, batch_tokens=_BATCH_TOKENS, english_only=True)


def _require_weights(folder: Path) -> None:
    """Raises: ModelError for weights that are missing or differ from `model.sha256`."""
    if not all((folder / name).is_file() for name in (WEIGHTS, HEAD, DIGEST)):
        raise ModelError("the built-in judge's weights are not installed; reinstall groundrail, or pass a model")
    for line in (folder / DIGEST).read_text(encoding="ascii").splitlines():
        digest, name = line.split()
        require_sha256(folder / name, digest, "Reinstall groundrail, or pass a model")


def restored(file: Path, dtype: torch.dtype, but: Collection[str] = ()) -> dict[str, Tensor]:
    """Weights as the model wants them: `int8 * scale` by row, the rest converted to `dtype`.

    `but`: matrices that stay int8, mapped from the file and not copied, with their scales.
    """
    with safe_open(file, framework="pt") as stored:
        found: dict[str, Tensor] = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    space = torch.empty(max(each.numel() for name, each in found.items() if name not in but))  # one for all: no holes

    def weight(name: str) -> Tensor:
        if name in but or name.removesuffix(SCALE) in but:
            return found[name]
        if name + SCALE not in found:
            return found[name].to(dtype, copy=True)
        product = space[: found[name].numel()].view_as(found[name]).copy_(found[name])
        return product.mul_(found[name + SCALE].float()[:, None]).to(dtype, copy=True)

    return {name: weight(name) for name in found if not name.endswith(SCALE) or name.removesuffix(SCALE) in but}


def _place(device: str | torch.device | None, dtype: str | torch.dtype | None) -> tuple[str, torch.dtype]:
    """Device and type, None filled in. Raises: InputError for int8 on anything but a processor."""
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype or _native(device)
    if dtype is torch.int8 and device.type != "cpu":
        raise InputError(f"int8 is for processors, not {device}: leave dtype out, or pass bfloat16")
    return str(device), dtype


def _native(device: torch.device) -> torch.dtype:
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # older versions do not say
    if device.type == "cuda" or able.get("avx512_bf16"):
        return torch.bfloat16
    if device.type == "cpu" and able.get("avx512_vnni"):  # with AVX2's VNNI 8 bits are hardly faster
        return torch.int8
    return torch.float32


def _packs_bfloat16() -> bool:
    """Whether oneDNN multiplies bfloat16 natively here, with weights in its own order."""
    return bool(torch.backends.mkldnn.is_available()) and _native(torch.device("cpu")) is torch.bfloat16  # type: ignore[no-untyped-call]


def folder() -> Path:
    """Where the files lie, for tools that want to read them."""
    return Path(str(files(__name__)))
