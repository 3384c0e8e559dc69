"""Which examples are dropped, that they teach nothing, and that nothing else changes."""

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from tests import tiny
from transformers import DataCollatorForSeq2Seq, LlamaForCausalLM, T5ForConditionalGeneration, Trainer, TrainingArguments

from groundrail.errors import InputError, ModelError
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


SETTINGS = {
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
}


def trainer_of(folder, model, rows=None, *, kind=None, options=None, **settings):
    """A trainer, by default one that remembers its verdicts, with the columns of both collated where there are both."""
    paired = bool(rows) and "ungrounded_labels" in rows[0]
    return (kind or Watched)(
        model,
        TrainingArguments(output_dir=str(folder), **{**SETTINGS, **(options or {})}),
        train_dataset=rows,
        data_collator=PairedCollator(collator()) if paired else collator(),
        **settings,
    )


def example(prompt, target, kind="llama"):
    if kind == "t5":
        return {"input_ids": list(prompt), "labels": list(target)}
    return {"input_ids": [*prompt, *target], "labels": [-100] * len(prompt) + list(target)}


def with_twin(row, twin):
    """A row with the columns of the same target without its source."""
    return {**row, **{f"ungrounded_{name}": value for name, value in twin.items()}}


def copies(count, seed, noisy=(), kind="llama"):
    """Prompts of random words of which the target repeats the first; the noisy ones have a random target."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        prompt = [1] + [draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 5))]
        first = draw.choices(range(3, VOCABULARY), k=TARGET) if number in noisy else [7] * TARGET
        rows.append(example(prompt, first, kind))
    return rows


def grounded_rows(count, ungrounded_target):
    """The target repeats the source's word; a row in `ungrounded_target` has one that context alone gives."""
    draw, rows = random.Random(5), []
    for number in range(count):
        source = draw.randrange(10, 18)
        target = [9] * TARGET if number in ungrounded_target else [source] * TARGET
        rows.append(with_twin(example([1, source, 5], target), example([1, 5], target)))
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
    values = torch.tensor([1.0, 2.0, torch.nan, torch.inf])
    assert truncation.keep(values).tolist() == [True, False, True, False]


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_the_noisy_examples_are_the_ones_dropped(tmp_path, kind):
    rows = copies(160, seed=1, noisy=set(range(0, 160, 5)), kind=kind)
    model = llama() if kind == "llama" else t5()
    trainer = trainer_of(tmp_path, model, rows, options={"num_train_epochs": 4}, c=0.8, hot_start=160)
    trainer.train()
    assert all(verdict for _, verdict in trainer.verdicts[:160])
    late = trainer.verdicts[-320:]
    dropped = [target for target, verdict in late if not verdict]
    assert len(dropped) == pytest.approx(0.2 * len(late), rel=0.25)
    assert dropped.count((7,) * TARGET) <= 0.1 * len(dropped)
    shares = [entry["dropped"] for entry in trainer.state.log_history if "dropped" in entry]
    assert shares[0] == 0.0
    assert max(shares) > 0.0


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_hot_start_in_epochs_keeps_every_example_of_them(tmp_path, epochs):
    rows, options = copies(44, seed=1, noisy=set(range(0, 44, 4))), {"num_train_epochs": 3}
    options["gradient_accumulation_steps"] = 4
    trainer = trainer_of(tmp_path, llama(), rows, options=options, c=0.5, window=20, hot_start_epochs=epochs)
    trainer.train()
    verdicts = [verdict for _, verdict in trainer.verdicts]
    assert len(verdicts) == 3 * len(rows)
    assert all(verdicts[: epochs * len(rows)])
    assert not all(verdicts[epochs * len(rows) :][:8])  # the window is full by then
    assert sum(verdicts[epochs * len(rows) :]) < 0.8 * (3 - epochs) * len(rows)


def test_a_hot_start_in_epochs_goes_on_where_a_resumed_run_was(tmp_path):
    rows = copies(32, seed=1, noisy=set(range(0, 32, 4)))
    settings: dict[str, Any] = {"c": 0.5, "window": 16, "hot_start_epochs": 2}
    first = {"num_train_epochs": 2, "save_strategy": "epoch"}
    trainer_of(tmp_path, llama(), rows, options=first, **settings).train()
    trainer = trainer_of(tmp_path, llama(), rows, options={"num_train_epochs": 3}, **settings)
    trainer.train(resume_from_checkpoint=True)
    assert len(trainer.verdicts) == len(rows)
    assert not all(verdict for _, verdict in trainer.verdicts[-16:])


def test_the_hot_start_holds_for_the_gain_too(tmp_path):
    rows, settings = grounded_rows(32, set(range(0, 32, 4))), {"c": 1.0, "c_gnd": 0.5, "hot_start_epochs": 1}
    options = {"num_train_epochs": 2}
    trainer = trainer_of(tmp_path, llama(), rows, options=options, ungrounded_model=llama(seed=1), **settings)
    trainer.train()
    verdicts = [verdict for _, verdict in trainer.verdicts]
    assert all(verdicts[:32])
    assert not all(verdicts[32:])


def test_the_ungrounded_examples_are_dropped_by_gain_though_their_loss_is_low(tmp_path):
    rows = grounded_rows(160, set(range(0, 160, 5)))
    without = [
        {name.removeprefix("ungrounded_"): value for name, value in row.items() if name.startswith("un")} for row in rows
    ]
    second = llama(seed=1)
    trainer_of(tmp_path, second, without, kind=Trainer, options={"num_train_epochs": 4}).train()
    settings = {"c": 1.0, "c_gnd": 0.8, "ungrounded_model": second, "hot_start": 480, "window": 320}
    trainer = trainer_of(tmp_path, llama(), rows, options={"num_train_epochs": 6}, **settings)
    trainer.train()
    dropped = [target for target, verdict in trainer.verdicts[-320:] if not verdict]
    assert len(dropped) > 30
    assert sum(target == (9,) * TARGET for target in dropped) >= 0.8 * len(dropped)


TRAINERS: list[tuple[Any, Any]] = [(Trainer, {}), (LossTruncationTrainer, {"hot_start": 0})]


@pytest.mark.parametrize(("kind", "accumulation"), [("llama", 1), ("llama", 3), ("t5", 1)])
def test_with_nothing_dropped_it_is_the_trainer(tmp_path, kind, accumulation):
    rows, trained = copies(48, seed=2, kind=kind), []
    options = {"gradient_accumulation_steps": accumulation, "max_grad_norm": 1.0}
    for trainer_class, settings in TRAINERS:
        model = llama() if kind == "llama" else t5()
        keeping = {"c": 1.0} if settings else {}
        trainer_of(tmp_path, model, rows, kind=trainer_class, options=options, **settings, **keeping).train()
        trained.append({name: value.detach().clone() for name, value in model.state_dict().items()})
    for name, value in trained[0].items():  # Adam makes much of rounding in tiny gradients
        torch.testing.assert_close(trained[1][name], value, rtol=1e-4, atol=1e-4)


def test_a_dropped_example_adds_nothing_to_the_gradient(tmp_path):
    rows, model = copies(12, seed=3, noisy=range(12)), llama()
    trainer = trainer_of(tmp_path, model, c=0.5, hot_start=0)
    trainer.compute_loss(model, dict(collator()(rows))).backward()
    gradient = model.lm_head.weight.grad.clone()
    keep = [verdict for _, verdict in trainer.verdicts]
    assert 4 <= sum(keep) <= 8

    model.zero_grad()
    for row, verdict in zip(rows, keep, strict=True):
        if verdict:
            alone = {name: torch.tensor([value]) for name, value in row.items()}
            (model(**alone).loss / len(rows)).backward()
    torch.testing.assert_close(model.lm_head.weight.grad, gradient, rtol=1e-4, atol=1e-6)


def test_a_batch_with_everything_dropped_has_a_zero_gradient(tmp_path):
    model = llama()
    trainer = trainer_of(tmp_path, model, kind=LossTruncationTrainer, c=0.5, hot_start=0)
    for value in torch.linspace(-9, -8, 50):
        trainer.kept({}, value[None, None], torch.ones(1, 1))
    loss = trainer.compute_loss(model, dict(collator()([example([1, 4], [7])])))
    loss.backward()
    assert loss.item() == 0.0
    assert not model.lm_head.weight.grad.any()


def test_evaluation_drops_nothing_and_reads_paired_batches(tmp_path):
    paired, results = grounded_rows(24, set()), []
    plain = [{k: v for k, v in row.items() if k[:2] != "un"} for row in paired]
    for (trainer_class, settings), rows in zip(TRAINERS, (plain, paired), strict=True):
        dropping = {"c": 0.2} if settings else {}
        trainer = trainer_of(tmp_path, llama(), rows, kind=trainer_class, **settings, **dropping)
        results.append(trainer.evaluate(rows)["eval_loss"])
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
        ({"c_gnd": 0.8, "ungrounded_model": llama(vocabulary=61)}, {}, "scores 61 tokens, the generating one 60"),
        ({"c_gnd": 0.8, "ungrounded_model": llama()}, {"remove_unused_columns": True}, "remove_unused_columns=False"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path, settings, options, message):
    with pytest.raises((InputError, ModelError), match=message):
        trainer_of(tmp_path, llama(), options=options, **settings)


def test_examples_without_a_twin_or_with_another_target_are_refused(tmp_path):
    model, row = llama(), example([1, 4], [7, 8])
    trainer = trainer_of(tmp_path, model, c_gnd=0.8, ungrounded_model=llama(seed=1))
    with pytest.raises(InputError, match="ungrounded_labels"):
        trainer.compute_loss(model, dict(PairedCollator(collator())([row])))
    with pytest.raises(InputError, match="2 label tokens with its source and 1 without"):
        trainer.compute_loss(model, dict(PairedCollator(collator())([with_twin(row, example([1], [7]))])))


@pytest.mark.slow
def test_without_accelerate_the_extra_is_named():
    program = "import sys; sys.modules['accelerate'] = None\nimport groundrail.papers.trainer"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "groundrail[train]" in done.stderr


def test_an_example_without_target_is_no_part_of_the_histogram(tmp_path):
    trainer = trainer_of(tmp_path, llama(), kind=LossTruncationTrainer, c=0.5, hot_start=0)
    losses = torch.tensor([[2.0, 2.0], [2.1, 2.1], *[[0.0, 0.0]] * 18])
    assert trainer.kept({}, losses, losses > 0).tolist() == [True, False, *[True] * 18]


@pytest.mark.parametrize(("reduce", "expected"), [("mean", [True, False, True]), ("sum", [False, True, True])])
def test_losses_are_compared_per_token_or_whole(tmp_path, reduce, expected):
    trainer = trainer_of(tmp_path, llama(), kind=LossTruncationTrainer, c=0.6, hot_start=0, reduce=reduce)
    losses = torch.tensor([[1.0] * 4, [3.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert trainer.kept({}, losses, losses > 0).tolist() == expected


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_gains_are_compared_per_token_or_whole(tmp_path, reduce):
    second = llama(seed=1).eval()
    rows, gains = [], []
    for length in range(1, 7):
        row = example([1, 4 + length], [7 + length] * length)
        rows.append(with_twin(row, row))
        with torch.no_grad():
            log_p = second(torch.tensor([row["input_ids"]])).logits[0].log_softmax(-1)
        chosen = -log_p[range(1, 1 + length), row["input_ids"][2:]]
        gains.append(float(chosen.mean() if reduce == "mean" else chosen.sum()))
    batch = dict(PairedCollator(collator())(rows))
    targets = torch.nn.functional.pad((batch["labels"][:, 1:] != -100).long(), (0, 1))
    settings = {"c": 1.0, "c_gnd": 0.5, "hot_start": 0, "ungrounded_model": second, "reduce": reduce}
    trainer = trainer_of(tmp_path, llama(), kind=LossTruncationTrainer, **settings)
    kept = trainer.kept(batch, torch.zeros(targets.shape), targets)  # log P(y | c, g) = 0 for all
    assert kept.tolist() == [gain > np.median(gains) for gain in gains]
