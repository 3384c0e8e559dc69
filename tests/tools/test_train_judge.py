"""Training on packed claims: the plan's settings, the loss, a run that stops and goes on, and the model itself."""

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from export_builtin import products_of, quantised
from mpnet import SCALE, bucket, judge_of, weights_of
from packed import KIND, LABELS, PAD, Builder, Packed, Pair
from safetensors.torch import load_file, save_file
from sklearn.metrics import roc_auc_score
from tests import tiny
from torch.nn import functional as F
from train_judge import auc, cut, loss_of, options, padded, plan_of, train

from groundrail.entailment.builtin import _CLASSES
from groundrail.entailment.builtin.mpnet import WORDS, MPNet
from groundrail.text.kinds import Kind

pytestmark = pytest.mark.slow

PLAN = """
[run]
seed = [1, 2]
millions = 0.02
learning_rate = 1e-3
head = 10.0
frozen = [0, 1]
loss_cap = 2.5
dropout = 0.0
batch_tokens = 1000
mean = 0.1
joined = 0.1
exchanged = 0.3
[sets.written]
files = []
share = [3, 5]
[sets.people]
files = []
share = 1
smoothing = 0.1
wrong = 2
[groups]
all = ["written", "people"]
"""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MPNet of three classes in a file of its own names."""
    from transformers import MPNetForSequenceClassification

    model = tiny.model(
        MPNetForSequenceClassification,
        4,
        vocab_size=2100,
        max_position_embeddings=514,
        initializer_range=0.3,
        id2label={0: "a", 1: "b", 2: "c"},
        layer_norm_eps=1e-5,
    )
    folder = tmp_path_factory.mktemp("weights")
    model.save_pretrained(folder)
    return folder / "model.safetensors"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan and packed claims: a claim is true where its first token stands in the premise."""
    made = tmp_path_factory.mktemp("packed")
    builder = Builder()
    for t in range(6):
        text = builder.text("written" if t % 2 else "people", [[1100 + 20 * t + n, 5, 1016] for n in range(8)])
        for n in range(8):
            evidence = [n] if t % 2 else []
            builder.claim(text, [1100 + 20 * t + n, 6], "entailment", "", evidence, list(range(8)), [], False)
            builder.claim(text, [1000 + n, 6], "not_entailment", "", evidence, list(range(8)), [], False)
    for name in ("claims.npz", "dev.npz"):
        builder.write(made / name)
    (made / "plan.toml").write_text(PLAN, encoding="utf-8")
    return made


@pytest.fixture
def settings(weights: Path, folder: Path, tmp_path: Path) -> Callable[..., Namespace]:
    def made(*more: str) -> Namespace:
        line = [folder / "plan.toml", "--weights", weights, "--packed", folder, "--out", tmp_path / "out", *more]
        return options().parse_args([str(word) for word in line])

    return made


def test_a_run_takes_its_value_of_each_list(folder) -> None:
    first, second = plan_of(folder / "plan.toml", 1), plan_of(folder / "plan.toml", 2)
    assert (first["run"]["seed"], second["run"]["seed"]) == (1, 2)
    assert (first["sets"]["written"]["share"], second["sets"]["written"]["share"]) == (3, 5)
    assert first["groups"] == second["groups"]
    with pytest.raises(SystemExit, match="has no run 3"):
        plan_of(folder / "plan.toml", 3)


def test_logits_are_those_of_the_library(weights) -> None:
    from transformers import MPNetConfig, MPNetForSequenceClassification

    config = MPNetConfig.from_pretrained(weights.parent)
    model = MPNetForSequenceClassification.from_pretrained(weights.parent, config=config).eval()
    pairs = [Pair(np.array([0, *range(10, 10 + n), 2], np.uint16), 0, "any") for n in (3, 40, 300, 9)]
    ids = padded(pairs).long()
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=(ids != PAD).long()).logits
        found = judge_of(weights_of([weights])).eval()(ids)
    torch.testing.assert_close(found[:, :3], expected, rtol=1e-4, atol=1e-5)


def test_kinds_are_those_of_the_guard(weights) -> None:
    """The guard reads the same kinds from the weights that training writes, text by text and without padding."""
    trained = judge_of(weights_of([weights])).eval()
    named = {name: p.detach() for name, p in trained.by_name().items()}
    words = named[WORDS]
    scales = words.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
    named |= {WORDS: (words / scales).round().to(torch.int8), WORDS + SCALE: scales[:, 0].half()}
    config = json.loads((weights.parent / "config.json").read_text(encoding="utf-8"))
    texts = [[0, *range(10, 10 + n), 2, 2, *range(50, 60 + n), 2] for n in (3, 40, 0)]
    with torch.no_grad():
        trained.words.weight.copy_(named[WORDS].float() * named[WORDS + SCALE].float()[:, None])
        expected = trained(padded([Pair(np.array(text, np.uint16), 0, "any") for text in texts]).long())[:, 3:]
        found = MPNet(named, config).kind_logits(texts)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_buckets_are_those_of_the_library() -> None:
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distance = torch.arange(-500, 501)
    assert torch.equal(bucket(distance), MPNetEncoder.relative_position_bucket(distance))


def test_a_run_learns_and_leaves_the_word_embeddings(settings, weights, tmp_path) -> None:
    assert train(settings("--every", "0.005"))
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line["room"] for line in lines} == {150, 400}
    assert lines[-1]["tokens"] >= 20_000
    assert lines[-1]["rule"] == pytest.approx(lines[-1]["mean all"])
    trained, before = load_file(tmp_path / "out" / "judge.safetensors"), load_file(weights)
    assert set(before) - set(trained) == {
        "mpnet.embeddings.word_embeddings.weight",
        "mpnet.encoder.relative_attention_bias.weight",
    }
    moved = [not torch.equal(trained[name].float(), before[name].half().float()) for name in before if name in trained]
    assert sum(moved) > 0.8 * len(moved)


def test_frozen_layers_stay(settings, weights, tmp_path) -> None:
    assert train(settings("--run", "2"))
    trained, before = load_file(tmp_path / "out" / "judge.safetensors"), load_file(weights)
    stayed = {name for name in before if name in trained and torch.equal(trained[name].float(), before[name].half().float())}
    assert {name for name in before if name.startswith(("mpnet.encoder.layer.0.", "mpnet.embeddings.pos"))} <= stayed
    assert not any(name.startswith("mpnet.encoder.layer.1.") and name.endswith("dense.weight") for name in stayed)


def test_a_run_that_was_stopped_goes_on(settings, tmp_path) -> None:
    assert not train(settings("--minutes", "0"))
    stopped = torch.load(tmp_path / "out" / "checkpoint.pt", weights_only=True)
    assert stopped["tokens"] < 20_000
    with pytest.raises(SystemExit, match="add --resume to go on"):
        train(settings())
    with pytest.raises(SystemExit, match="was written with seed = 1, not 2"):
        train(settings("--resume", "--run", "2"))
    assert train(settings("--resume"))
    done = torch.load(tmp_path / "out" / "checkpoint.pt", weights_only=True)
    assert done["steps"] > stopped["steps"]
    assert done["tokens"] >= 20_000


def test_the_loss_is_cross_entropy_and_leaves_open_what_the_label_does() -> None:
    logits = torch.randn(70, 6, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(70) % 7
    plain = loss_of(logits, labels, torch.zeros(70), 2.5)
    known, open, kinds = labels < 3, labels == 3, labels > 3
    classes, of_kinds = logits[:, :3], logits[:, 3:]
    torch.testing.assert_close(plain[known], F.cross_entropy(classes[known], labels[known], reduction="none"))
    p = classes.softmax(-1)
    torch.testing.assert_close(plain[open], -torch.log(p[open, 1] + p[open, 2]))
    torch.testing.assert_close(plain[kinds], F.cross_entropy(of_kinds[kinds], labels[kinds] - 4, reduction="none"))


def test_a_noisy_pair_beyond_the_cap_teaches_nothing() -> None:
    logits = torch.tensor([[-4.0, 3, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0], [-4.0, 3, 0, 0, 0, 0]], requires_grad=True)
    loss_of(logits, torch.zeros(3, dtype=torch.long), torch.tensor([0.1, 0.1, 0.0]), 2.5).sum().backward()
    assert logits.grad is not None
    assert [bool(row.any()) for row in logits.grad] == [False, True, True]


def test_auc_is_that_of_the_library() -> None:
    rng = np.random.default_rng(2)
    scores, true = rng.integers(0, 9, 300).astype(float), rng.random(300) < 0.4
    assert auc(scores, true) == pytest.approx(100 * roc_auc_score(true, scores))


def test_batches_hold_every_pair_once_within_their_tokens() -> None:
    pairs = sorted((Pair(np.ones(n, np.uint16), 0, "any") for n in range(3, 400, 7)), key=lambda pair: len(pair.ids))
    batches = cut(pairs, 900)
    assert [pair for batch in batches for pair in batch] == pairs
    assert all(padded(batch).numel() <= 900 for batch in batches if len(batch) > 1)


def test_the_export_takes_the_mean_and_keeps_what_layers_give(weights, folder, tmp_path) -> None:
    before = load_file(weights)
    files = []
    for n, step in enumerate((0.0, 0.02)):
        files.append(tmp_path / f"{n}.safetensors")
        save_file({name: weight + step for name, weight in before.items() if "layer" in name}, files[-1])
    mean = weights_of([weights, *files])
    name = "mpnet.encoder.layer.1.output.dense.weight"
    torch.testing.assert_close(mean[name], before[name] + 0.01)
    torch.testing.assert_close(weights_of([weights, *files], 0.3)[name], before[name] + 0.003)
    products = products_of(mean, Packed(np.load(folder / "claims.npz")))
    assert products[name].shape == (48, 48)
    large = {k: v for k, v in mean.items() if v.dim() == 2 and v.numel() > 10_000}
    stored = quantised(mean, products)
    assert {k for k in stored if k.endswith(SCALE)} == {k + SCALE for k in large}
    save_file(stored, tmp_path / "stored.safetensors")
    again = weights_of([tmp_path / "stored.safetensors"])
    assert set(again) == set(mean)
    for k, weight in large.items():
        torch.testing.assert_close(again[k], weight, atol=float(weight.abs().max()) / 200, rtol=0)


def test_labels_are_the_judge_s_classes() -> None:
    assert list(LABELS)[:3] == list(_CLASSES)
    assert list(LABELS)[KIND:] == [kind.name.lower() for kind in Kind]
