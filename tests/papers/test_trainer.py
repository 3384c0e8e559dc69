"""Which examples are dropped, that they teach nothing, and that nothing else changes."""

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from tests import tiny
from transformers import (
    DataCollatorForSeq2Seq,
    LlamaForCausalLM,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
)

from groundrail.errors import InputError
from groundrail.papers.trainer import LossTruncationTrainer, PairedCollator, RunningTruncation

VOCABULARY = 60
TARGET = 4


def llama(seed=0, vocabulary=VOCABULARY):
    ends = {"max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return tiny.model(LlamaForCausalLM, seed, vocab_size=vocabulary, **ends).train()


def t5(seed=0):
    return tiny.model(T5ForConditionalGeneration, seed, vocab_size=VOCABULARY, eos_token_id=2, dropout_rate=0.0).train()


def collator():
    tokenizer = tiny.tokenizer((f"w{number}" for number in range(VOCABULARY)), pad_token="w0")
    return DataCollatorForSeq2Seq(tokenizer)


def arguments(folder, **settings):
    return TrainingArguments(
        output_dir=str(folder),
        **{
            "per_device_train_batch_size": 8,
            "learning_rate": 0.01,
            "lr_scheduler_type": "constant",
            "report_to": [],
            "save_strategy": "no",
            "logging_steps": 1,
            "disable_tqdm": True,
            "use_cpu": True,
            "dataloader_pin_memory": False,
            "remove_unused_columns": False,
            **settings,
        },
    )


def example(prompt, target, kind):
    ids = [*prompt, *target]
    labels = [-100] * len(prompt) + list(target)
    if kind == "t5":
        return {"input_ids": list(prompt), "labels": list(target)}
    return {"input_ids": ids, "labels": labels}


def copies(count, seed, noisy=()):
    """Prompts of random words of which the target repeats the first; the noisy ones have a random target."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        prompt = [1] + [draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 5))]
        first = draw.choices(range(3, VOCABULARY), k=TARGET) if number in noisy else [7] * TARGET
        rows.append((prompt, first))
    return rows


class Watched(LossTruncationTrainer):
    """Remembers the verdict on every example it saw, by target."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.verdicts = []

    def kept(self, inputs, losses, targets):
        keep = super().kept(inputs, losses, targets)
        for labels, verdict in zip(inputs["labels"].tolist(), keep.tolist(), strict=True):
            self.verdicts.append((tuple(label for label in labels if label != -100), verdict))
        return keep


@pytest.mark.parametrize("seed", range(20))
def test_truncation_equals_sorting_the_window(seed):
    draw = np.random.default_rng(seed)
    window, hot_start, c = int(draw.integers(5, 40)), int(draw.integers(0, 60)), float(draw.uniform(0.1, 1))
    truncation, history = RunningTruncation(c, window, hot_start), []
    for _ in range(30):
        values = draw.normal(size=int(draw.integers(1, 9)))
        history += values.tolist()
        recent = sorted(history[-window:])
        place = c * (len(recent) - 1)
        low = recent[int(place)]
        high = recent[min(int(place) + 1, len(recent) - 1)]
        cutoff = low + (high - low) * (place - int(place))
        expected = [len(history) <= hot_start or value <= cutoff + 1e-12 for value in values]
        assert truncation.keep(torch.tensor(values)).tolist() == expected


def test_by_default_a_full_window_is_seen_first():
    truncation = RunningTruncation(window=50)
    assert truncation.keep(torch.arange(50.0)).all()
    assert truncation.keep(torch.arange(100.0, 200.0)).sum() < 100


def test_a_loss_that_is_not_a_number_reaches_the_trainer():
    truncation = RunningTruncation(c=0.5, hot_start=0)
    assert truncation.keep(torch.tensor([1.0, 2.0, torch.nan, torch.inf])).tolist() == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_the_noisy_examples_are_the_ones_dropped(tmp_path, kind):
    noisy = set(range(0, 160, 5))
    rows = copies(160, seed=1, noisy=noisy)
    trainer = Watched(
        llama() if kind == "llama" else t5(),
        arguments(tmp_path, num_train_epochs=4),
        train_dataset=[example(row[0], row[1], kind) for row in rows],
        data_collator=collator(),
        c=0.8,
        hot_start=160,
    )
    trainer.train()
    assert all(verdict for _, verdict in trainer.verdicts[:160])
    late = trainer.verdicts[-320:]
    dropped = [target for target, verdict in late if not verdict]
    assert len(dropped) == pytest.approx(0.2 * len(late), rel=0.25)
    clean = [target for target in dropped if target == (7,) * TARGET]
    assert len(clean) <= 0.1 * len(dropped)
    shares = [entry["dropped"] for entry in trainer.state.log_history if "dropped" in entry]
    assert shares[0] == 0.0
    assert max(shares) > 0.0


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_hot_start_in_epochs_keeps_every_example_of_them(tmp_path, epochs):
    rows = copies(44, seed=1, noisy=set(range(0, 44, 4)))
    trainer = Watched(
        llama(),
        arguments(tmp_path, num_train_epochs=3, gradient_accumulation_steps=4),
        train_dataset=[example(row[0], row[1], "llama") for row in rows],
        data_collator=collator(),
        c=0.5,
        window=20,
        hot_start_epochs=epochs,
    )
    trainer.train()
    verdicts = [verdict for _, verdict in trainer.verdicts]
    assert len(verdicts) == 3 * len(rows)
    assert all(verdicts[: epochs * len(rows)])
    assert not all(verdicts[epochs * len(rows) :][:8])  # the window is full by then
    assert sum(verdicts[epochs * len(rows) :]) < 0.8 * (3 - epochs) * len(rows)


def test_a_hot_start_in_epochs_goes_on_where_a_resumed_run_was(tmp_path):
    rows = [example(row[0], row[1], "llama") for row in copies(32, seed=1, noisy=set(range(0, 32, 4)))]
    settings: dict[str, Any] = {"c": 0.5, "window": 16, "hot_start_epochs": 2}
    first = arguments(tmp_path, num_train_epochs=2, save_strategy="epoch")
    Watched(llama(), first, train_dataset=rows, data_collator=collator(), **settings).train()
    trainer = Watched(
        llama(), arguments(tmp_path, num_train_epochs=3), train_dataset=rows, data_collator=collator(), **settings
    )
    trainer.train(resume_from_checkpoint=True)
    assert len(trainer.verdicts) == len(rows)
    assert not all(verdict for _, verdict in trainer.verdicts[-16:])


def test_the_hot_start_holds_for_the_gain_too(tmp_path):
    rows = grounded_rows(32, set(range(0, 32, 4)))
    trainer = Watched(
        llama(),
        arguments(tmp_path, num_train_epochs=2),
        train_dataset=rows,
        data_collator=PairedCollator(collator()),
        c=1.0,
        c_gnd=0.5,
        ungrounded_model=llama(seed=1),
        hot_start_epochs=1,
    )
    trainer.train()
    verdicts = [verdict for _, verdict in trainer.verdicts]
    assert all(verdicts[:32])
    assert not all(verdicts[32:])


def grounded_rows(count, ungrounded_target):
    """The target repeats the source's word; a row in `ungrounded_target` has one that context alone gives."""
    draw, rows = random.Random(5), []
    for number in range(count):
        source = draw.randrange(10, 18)
        target = [9] * TARGET if number in ungrounded_target else [source] * TARGET
        row = example([1, source, 5], target, "llama")
        twin = example([1, 5], target, "llama")
        rows.append({**row, **{f"ungrounded_{name}": value for name, value in twin.items()}})
    return rows


def test_the_ungrounded_examples_are_dropped_by_gain_though_their_loss_is_low(tmp_path):
    generic = set(range(0, 160, 5))
    rows = grounded_rows(160, generic)
    without = [
        {name.removeprefix("ungrounded_"): value for name, value in row.items() if name.startswith("un")}
        for row in rows
    ]
    second = llama(seed=1)
    Trainer(second, arguments(tmp_path, num_train_epochs=4), train_dataset=without, data_collator=collator()).train()
    trainer = Watched(
        llama(),
        arguments(tmp_path, num_train_epochs=6),
        train_dataset=rows,
        data_collator=PairedCollator(collator()),
        c=1.0,
        c_gnd=0.8,
        ungrounded_model=second,
        hot_start=480,
        window=320,
    )
    trainer.train()
    dropped = [target for target, verdict in trainer.verdicts[-320:] if not verdict]
    assert len(dropped) > 30
    assert sum(target == (9,) * TARGET for target in dropped) >= 0.8 * len(dropped)


@pytest.mark.parametrize(("kind", "accumulation"), [("llama", 1), ("llama", 3), ("t5", 1)])
def test_with_nothing_dropped_it_is_the_trainer(tmp_path, kind, accumulation):
    rows = [example(row[0], row[1], kind) for row in copies(48, seed=2)]
    trained = []
    trainers: list[tuple[Any, Any]] = [(Trainer, {}), (LossTruncationTrainer, {"c": 1.0, "hot_start": 0})]
    for trainer_class, settings in trainers:
        model = llama() if kind == "llama" else t5()
        trainer = trainer_class(
            model,
            arguments(tmp_path, gradient_accumulation_steps=accumulation, max_grad_norm=1.0),
            train_dataset=rows,
            data_collator=collator(),
            **settings,
        )
        trainer.train()
        trained.append({name: value.detach().clone() for name, value in model.state_dict().items()})
    for name, value in trained[0].items():
        torch.testing.assert_close(
            trained[1][name], value, rtol=1e-4, atol=1e-4
        )  # Adam makes much of rounding in tiny gradients


def test_a_dropped_example_adds_nothing_to_the_gradient(tmp_path):
    rows = [example(row[0], row[1], "llama") for row in copies(12, seed=3, noisy=range(12))]
    model = llama()
    trainer = Watched(model, arguments(tmp_path), data_collator=collator(), c=0.5, hot_start=0)
    batch = dict(collator()(rows))
    model.train()
    trainer.compute_loss(model, batch).backward()
    gradient = model.lm_head.weight.grad.clone()
    keep = [verdict for _, verdict in trainer.verdicts]
    assert 4 <= sum(keep) <= 8

    model.zero_grad()
    tokens = sum(TARGET for _ in rows)
    for row, verdict in zip(rows, keep, strict=True):
        if verdict:
            alone = {name: torch.tensor([value]) for name, value in row.items()}
            (model(**alone).loss * TARGET / tokens).backward()
    torch.testing.assert_close(model.lm_head.weight.grad, gradient, rtol=1e-4, atol=1e-6)


def test_a_batch_with_everything_dropped_has_a_zero_gradient(tmp_path):
    model = llama()
    trainer = LossTruncationTrainer(model, arguments(tmp_path), data_collator=collator(), c=0.5, hot_start=0)
    model.train()
    easy = dict(collator()([example([1, 4], [7], "llama")]))
    for value in torch.linspace(-9, -8, 50):
        trainer._by_loss.keep(value[None])
    loss = trainer.compute_loss(model, easy)
    loss.backward()
    assert loss.item() == 0.0
    assert not model.lm_head.weight.grad.any()


def test_evaluation_drops_nothing_and_reads_paired_batches(tmp_path):
    rows = grounded_rows(24, set())
    results = []
    trainers: list[tuple[Any, Any]] = [(Trainer, {}), (LossTruncationTrainer, {"c": 0.2, "hot_start": 0})]
    for trainer_class, settings in trainers:
        paired = trainer_class is LossTruncationTrainer
        data = rows if paired else [{k: v for k, v in row.items() if k[:2] != "un"} for row in rows]
        trainer = trainer_class(
            llama(),
            arguments(tmp_path),
            eval_dataset=data,
            data_collator=PairedCollator(collator()) if paired else collator(),
            **settings,
        )
        results.append(trainer.evaluate()["eval_loss"])
    assert results[0] == pytest.approx(results[1], rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"c": 0.0}, {}, "c is the share"),
        ({"c": 1.2}, {}, "c is the share"),
        ({"window": 0}, {}, "window"),
        ({"reduce": "most"}, {}, "'mean' or 'sum'"),
        ({"c_gnd": 0.8}, {}, "belong together"),
        ({"hot_start": 5, "hot_start_epochs": 1}, {}, "one of the two"),
        ({"hot_start_epochs": -1}, {}, "hot_start_epochs=-1 epochs"),
        ({}, {"label_smoothing_factor": 0.1}, "label_smoothing_factor"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path, settings, options, message):
    with pytest.raises(InputError, match=message):
        LossTruncationTrainer(llama(), arguments(tmp_path, **options), data_collator=collator(), **settings)


def test_another_vocabulary_is_refused_with_both_numbers(tmp_path):
    with pytest.raises(InputError, match=r"60 and ungrounded_model one of 61"):
        LossTruncationTrainer(llama(), arguments(tmp_path), c_gnd=0.8, ungrounded_model=llama(vocabulary=61))


def test_columns_that_would_be_removed_are_named(tmp_path):
    with pytest.raises(InputError, match="remove_unused_columns=False"):
        LossTruncationTrainer(
            llama(), arguments(tmp_path, remove_unused_columns=True), c_gnd=0.8, ungrounded_model=llama()
        )


def test_examples_without_a_twin_or_with_another_target_are_refused(tmp_path):
    model = llama()
    trainer = LossTruncationTrainer(model, arguments(tmp_path), c_gnd=0.8, ungrounded_model=llama(seed=1))
    model.train()
    row = example([1, 4], [7, 8], "llama")
    with pytest.raises(InputError, match="ungrounded_labels"):
        trainer.compute_loss(model, dict(PairedCollator(collator())([row])))
    twin = {f"ungrounded_{name}": value for name, value in example([1], [7], "llama").items()}
    with pytest.raises(InputError, match="2 label tokens with its source and 1 without"):
        trainer.compute_loss(model, dict(PairedCollator(collator())([{**row, **twin}])))


@pytest.mark.slow
def test_without_accelerate_the_extra_is_named():
    program = "import sys; sys.modules['accelerate'] = None\nimport groundrail.papers.trainer"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "groundrail[train]" in done.stderr


def test_an_example_without_target_is_no_part_of_the_histogram(tmp_path):
    trainer = LossTruncationTrainer(llama(), arguments(tmp_path), c=0.5, hot_start=0, data_collator=collator())
    losses = torch.tensor([[2.0, 2.0], [2.1, 2.1], *[[0.0, 0.0]] * 18])
    targets = losses > 0
    assert trainer.kept({}, losses, targets).tolist() == [True, False, *[True] * 18]


@pytest.mark.parametrize(("reduce", "expected"), [("mean", [True, False, True]), ("sum", [False, True, True])])
def test_losses_are_compared_per_token_or_whole(tmp_path, reduce, expected):
    trainer = LossTruncationTrainer(
        llama(), arguments(tmp_path), c=0.6, hot_start=0, data_collator=collator(), reduce=reduce
    )
    losses = torch.tensor([[1.0] * 4, [3.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert trainer.kept({}, losses, losses > 0).tolist() == expected


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_gains_are_compared_per_token_or_whole(tmp_path, reduce):
    second = llama(seed=1).eval()
    rows, gains = [], []
    for length in range(1, 7):
        row = example([1, 4 + length], [7 + length] * length, "llama")
        rows.append({**row, **{f"ungrounded_{name}": value for name, value in row.items()}})
        with torch.no_grad():
            log_p = second(torch.tensor([row["input_ids"]])).logits[0].log_softmax(-1)
        chosen = -log_p[range(1, 1 + length), row["input_ids"][2:]]
        gains.append(float(chosen.mean() if reduce == "mean" else chosen.sum()))
    batch = dict(PairedCollator(collator())(rows))
    targets = torch.nn.functional.pad((batch["labels"][:, 1:] != -100).long(), (0, 1))
    trainer = LossTruncationTrainer(
        llama(), arguments(tmp_path), c=1.0, c_gnd=0.5, hot_start=0, ungrounded_model=second, reduce=reduce
    )
    kept = trainer.kept(batch, torch.zeros(targets.shape), targets)  # log P(y | c, g) = 0 for all
    assert kept.tolist() == [gain > np.median(gains) for gain in gains]
