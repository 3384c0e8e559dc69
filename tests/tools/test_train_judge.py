"""A run of training goes on exactly where it stopped, and nothing but its steps changes the judge that comes out."""

import json
import os
import random
import signal
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from batches import Batches
from judge_forward import logits_of, scores_of
from judge_training import Training, read_checkpoint
from safetensors.torch import load_file
from tests.conftest import WORDS
from train_judge import Run, Signals, options
from windows import Pair, Windows, load_texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CLAIMS = {
    "The flat has two rooms. The rent is due on the first. Cats are not allowed. The deposit is 500 euros.": [
        ("A tenant pays on the first.", "entailment", [(24, 53)]),
        ("The deposit is 500 euros.", "entailment", [(77, 102)]),
        ("Cats are allowed.", "contradiction", [(54, 76)]),
        ("The landlord pays the water.", "neutral", []),
    ],
    "The keys were lost in march. Bob did it. Anna signed the contract. The late fee is 45 euros.": [
        ("Bob lost the keys.", "entailment", [(0, 40)]),
        ("The late fee is 45 euros.", "entailment", [(67, 92)]),
        ("The fee is due in april.", "neutral", [(67, 92)]),
    ],
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MPNet of three classes and a tokenizer of words, as files."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Punctuation, Sequence, WhitespaceSplit
    from transformers import MPNetConfig, MPNetForSequenceClassification, PreTrainedTokenizerFast

    words = ["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys(WORDS.split()), *".,;()"]
    backend = Tokenizer(WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = Sequence([WhitespaceSplit(), Punctuation()])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="<s>", sep_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    labels = {"entailment": 0, "neutral": 1, "contradiction": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        config = MPNetConfig(
            vocab_size=len(words),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=48,
            max_position_embeddings=514,
            initializer_range=0.3,
            label2id=labels,
            id2label={n: label for label, n in labels.items()},
        )
        model = MPNetForSequenceClassification(config)
    folder = tmp_path_factory.mktemp("base")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with one file of texts and claims."""
    rows = [
        {
            "id": text[:12],
            "text": text,
            "claims": [
                {"text": claim, "label": label, "kind": "any", "evidence": evidence}
                for claim, label, evidence in claims
            ],
        }
        for text, claims in CLAIMS.items()
    ]
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture
def settings(base: Path, written: Path, tmp_path: Path) -> Callable[..., Namespace]:
    """The settings of a run of six steps in a folder of its own, and further options."""

    def made(out: str, *more: str) -> Namespace:
        line = [
            "--base",
            base,
            "--written",
            written,
            "--out",
            tmp_path / out,
            "--steps",
            6,
            "--tokens",
            150,
            "--lr",
            0.01,
        ]
        return options().parse_args([*map(str, line), *more])

    return made


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_equal(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_equal, first, second))
    return bool(first == second)


def _state(settings: Namespace) -> dict[str, Any]:
    state = read_checkpoint(settings.out / "checkpoint.pt")
    return {name: value for name, value in state.items() if name != "minutes"}


def test_three_steps_and_three_after_a_pause_give_the_judge_of_six(settings: Callable[..., Namespace]) -> None:
    whole, halves = settings("whole"), settings("halves")
    assert Run(whole).train()
    first = Run(halves)
    assert not first.train(lambda: first.training.steps == 3)
    assert _state(halves)["training"]["steps"] == 3
    halves.resume = True
    assert Run(halves).train()
    assert _equal(_state(halves), _state(whole))
    judges = [load_file(each.out / "model.safetensors") for each in (whole, halves, Namespace(out=whole.base))]
    assert _equal(judges[0], judges[1])
    assert not _equal(judges[0], judges[2])


def test_looking_measuring_and_saving_change_nothing(settings: Callable[..., Namespace], written: Path) -> None:
    dev = ["--dev", str(written / "one.jsonl")]
    plain, busy = settings("plain"), settings("busy", "--every", "0", "--reload", "0", "--checkpoint", "0", *dev)
    assert Run(plain).train()
    assert Run(busy).train()
    assert _equal(_state(plain), _state(busy))
    lines = [json.loads(line) for line in (busy.out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines if "dev" in line] == [1, 2, 3, 4, 5, 6, 6]
    assert lines[-1]["dev"]["one-150"]["n"] == 7


def test_files_that_come_meanwhile_are_read(settings: Callable[..., Namespace], written: Path) -> None:
    run = Run(settings("growing", "--reload", "0"))
    row = json.loads((written / "one.jsonl").read_text(encoding="utf-8").splitlines()[0])

    def added() -> bool:
        (written / "two.jsonl").write_text(json.dumps(row | {"id": "another"}) + "\n", encoding="utf-8")
        return False

    assert run.train(added)
    assert [text.id for text in run.windows.texts] == ["The flat has", "The keys wer", "another"]


def test_a_run_keeps_its_settings_and_its_folder(settings: Callable[..., Namespace], written: Path) -> None:
    paused = settings("paused")
    assert not Run(paused).train(lambda: True)
    with pytest.raises(SystemExit, match="add --resume to go on"):
        Run(paused)
    with pytest.raises(SystemExit, match="was written with --seed 0, not 7"):
        Run(settings("paused", "--seed", "7", "--resume"))
    (written / "one.jsonl").unlink()
    with pytest.raises(SystemExit, match="holds no claims"):
        Run(settings("empty"))


def test_frozen_layers_stay_and_the_others_move(settings: Callable[..., Namespace], base: Path) -> None:
    run = settings("frozen", "--frozen", "1")
    assert Run(run).train()
    before, after = (load_file(folder / "model.safetensors") for folder in (base, run.out))
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert not any("embeddings" in name or "layer.0." in name or "relative" in name for name in moved)
    assert any("layer.1." in name for name in moved)


def test_the_first_request_to_end_is_noted_and_the_second_is_the_programs_own() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        assert not signals()
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals()
        assert signal.getsignal(signal.SIGTERM) is before


def _pool() -> Iterator[Pair]:
    return (Pair([4, 5, n % 40], (n % 30 + 4,), "neutral", "pool") for n in count())


@pytest.mark.parametrize("done", range(1, 12, 2))
def test_batches_go_on_after_their_state(done: int, written: Path, tiny_tokenizer: "PreTrainedTokenizerFast") -> None:
    texts = load_texts(written / "one.jsonl", tiny_tokenizer)

    def begun(seed: int) -> Batches:
        windows = Windows(random.Random(seed), tiny_tokenizer)
        windows.load(texts)
        return Batches(windows, _pool(), 120, 0.3)

    whole = list(islice(begun(2), 20))
    first, second = begun(2), begun(99)
    assert list(islice(first, done)) == whole[:done]
    second.restore(first.state(), same_texts=True)
    assert list(islice(second, 20 - done)) == whole[done:]
    sizes = {
        kind: sum(len(p) for batch in whole for p in batch if (p.kind == "pool") == kind) for kind in (True, False)
    }
    assert sizes[True] / sum(sizes.values()) == pytest.approx(0.3, abs=0.02)


def test_logits_are_those_of_the_library_s_own_forward_pass(base: Path) -> None:
    training = Training(base, torch.device("cpu"), 0.01)
    draw = random.Random(8)
    pairs = [
        Pair([draw.randrange(4, 50) for _ in range(n)], (5, 6, draw.randrange(4, 50)), "neutral", "any")
        for n in (1, 30, 200, 7)
    ]
    rows = [[0, *pair.premise, 2, 2, *pair.claim, 2] for pair in pairs]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [1] * (longest - len(row)) for row in rows])
    with torch.no_grad():
        expected = training.model(input_ids=ids, attention_mask=(ids != 1).long()).logits
        found = logits_of(training.model, training.tokenizer, pairs)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        scores_of(training.model, training.tokenizer, pairs, 250), expected.softmax(-1), rtol=0.05, atol=0.02
    )


def test_a_step_read_in_parts_learns_the_same(base: Path) -> None:
    draw = random.Random(3)
    batch = [Pair([draw.randrange(4, 50) for _ in range(20 + n)], (5, 6), "entailment", "any") for n in range(6)]
    losses = []
    for at_once in (40, 100_000):
        training = Training(base, torch.device("cpu"), 0.001, at_once=at_once)
        training.step(batch, 0.001)
        losses.append([loss for _, loss in training.step(batch, 0.001)])
    assert losses[0] == pytest.approx(losses[1], rel=0.1, abs=0.05)
