"""The built-in judge says what transformers says of its files, without transformers, and reads no others."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import tiny
from tokenizers import Tokenizer
from transformers import MPNetForSequenceClassification

from groundrail.entailment import builtin
from groundrail.entailment.builtin.mpnet import WORDS, MPNet, attended
from groundrail.errors import ClaimTooLongError, InputError

SENTENCE = "The rent is 950 euros.\n"
LEASE = (
    "The lease ends on 28 February 2026. The monthly rent is 1,450 euros, due on the third working day of each month. "
    "A café may not be run in the flat; “quiet hours” begin at 10 pm – see §4. "
)
PAIRS = [
    (LEASE, "The rent is 1,450 euros a month."),
    (LEASE * 6, "The rent is 1,650 euros a month."),
    ("Cats are allowed.", "Pets are not allowed; see \U0001f63a."),
    ("", "It ends in June."),
]


@pytest.mark.slow
def test_it_says_what_transformers_says_of_the_same_files() -> None:
    judge, model = builtin.load_builtin("cpu", "float32").model, builtin.as_cross_encoder("cpu", torch.float32)
    expected = model.classify(PAIRS)
    np.testing.assert_allclose(judge.classify(PAIRS), expected, atol=1e-5)
    np.testing.assert_allclose([judge.classify([pair])[0] for pair in PAIRS], expected, atol=1e-5)
    own, other = judge.metadata, model.metadata
    assert own.max_tokens == other.max_tokens - own.reads_context  # the mark behind the context is a token
    for name in ("identity", "threshold", "thresholds", "chunk_tokens", "english_only"):
        assert getattr(own, name) == getattr(other, name)
    for text in (text for pair in PAIRS for text in pair):
        assert [*judge.offsets(text)] == [*model.offsets(text)]
        assert own.unread(text) == other.unread(text)
    assert own.unread(PAIRS[2][1])


def test_scores_in_bfloat16_do_not_depend_on_packing_or_on_company() -> None:
    judge = builtin.load_builtin("cpu", "bfloat16").model
    config = json.loads((builtin.folder() / "config.json").read_text(encoding="utf-8"))
    plain = MPNet(builtin.restored(builtin.folder() / builtin.WEIGHTS, torch.bfloat16, but=[WORDS]), config)
    unpacked = builtin.BuiltinEntailment(plain, Tokenizer.from_file(str(builtin.folder() / "tokenizer.json")), config)
    together = judge.classify(PAIRS)
    np.testing.assert_allclose(unpacked.classify(PAIRS), together, atol=1e-3)
    np.testing.assert_allclose([judge.classify([pair])[0] for pair in PAIRS], together, atol=1e-3)


def test_layers_see_few_lengths_of_the_row() -> None:
    model, _ = tiny_models()
    seen = set()
    model.get_submodule("layers.0.widen").register_forward_pre_hook(lambda _, inputs: seen.add(len(inputs[0])))
    totals = range(1, 600)
    for total in totals:
        model([[2] * (total // 3), [3] * (total - total // 3)] if total > 2 else [[2] * total])
    assert len(seen) < 45
    assert all(min(length for length in seen if length >= total) < 1.125 * total + 4 for total in totals)


def tiny_models() -> tuple[MPNet, MPNetForSequenceClassification]:
    """The judge's architecture with random weights, and the same in transformers."""
    torch.manual_seed(5)
    reference = tiny.model(
        MPNetForSequenceClassification,
        5,
        vocab_size=60,
        max_position_embeddings=420,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        initializer_range=0.5,
    )
    config = reference.config
    weights = reference.state_dict()
    rounded = torch.randint(-127, 128, weights[WORDS].shape, dtype=torch.int8)
    scales = torch.rand(60).half() / 100
    weights[WORDS].copy_(rounded * scales.float()[:, None])
    model = MPNet({**weights, WORDS: rounded, f"{WORDS}.scale": scales}, config.to_dict())
    return model, reference


def test_any_weights_give_the_logits_of_transformers() -> None:
    model, reference = tiny_models()
    texts = [torch.randint(2, 60, (length,)).tolist() for length in (290, 7, 1, 150)]
    with torch.inference_mode():
        expected = torch.cat([reference(torch.tensor([text])).logits for text in texts])
        torch.testing.assert_close(model(texts), expected, atol=1e-5, rtol=1e-5)


def test_attention_at_once_is_attention_text_by_text() -> None:
    torch.manual_seed(6)
    lengths = [5, 1, 9]
    query, key, value = torch.randn(3, sum(lengths), 2, 4)
    bias = torch.randn(2, 9, 9)
    found, expected = (attended(query, key, value, lengths, bias, at_once=each) for each in (True, False))
    torch.testing.assert_close(found, expected)


def test_nothing_is_cut_off() -> None:
    judge = builtin.load_builtin("cpu", "float32").model
    with pytest.raises(InputError, match="cut the premise into chunks"):
        judge.classify([("rent " * judge.max_tokens, "The rent is due.")])
    with pytest.raises(ClaimTooLongError, match="leaves no room"):
        judge.classify([("", "rent " * judge.max_tokens)])
    assert judge.classify([("rent " * (judge.max_tokens - 1), "rent")]).shape == (1, 3)


def refused(code: str, tmp_path: Path) -> str:
    """The line that `groundrail check` prints of an installation that `code` has broken."""
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE)
    code += f"""
import sys
from groundrail.cli.main import main
sys.exit(main(["check", {str(text)!r}, "--source", {str(text)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    return done.stderr


def changed(weights: Path) -> None:
    with weights.open("r+b") as opened:
        opened.seek(50_000_000)
        byte = opened.read(1)
        opened.seek(50_000_000)
        opened.write(bytes([byte[0] ^ 1]))


def truncated(weights: Path) -> None:
    with weights.open("r+b") as opened:
        opened.truncate(1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [changed, truncated, Path.unlink])
def test_weights_with_other_bytes_are_one_line_and_exit_code_2(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    files = Path(shutil.copytree(builtin.folder(), tmp_path / "builtin"))
    spoil(files / builtin.WEIGHTS)
    code = f"""
import pathlib
from groundrail.entailment import builtin
builtin.files = lambda name: pathlib.Path({str(files)!r})
"""
    told = refused(code, tmp_path)
    assert told.startswith("groundrail: ")
    assert "einstall groundrail" in told


@pytest.mark.slow
@pytest.mark.parametrize("package", ["torch", "tokenizers"])
def test_a_missing_package_is_one_line_and_exit_code_2(tmp_path: Path, package: str) -> None:
    told = refused(f"import sys; sys.modules[{package!r}] = None", tmp_path)
    assert told.startswith(f"groundrail: {package} cannot be imported")
