"""Train the head of the built-in judge on a few hundred labelled claims of a user.

The encoder is not changed, so that it reads each premise and claim once. The head (two layers that turn the state of
the first token into three classes) is trained on the premises of `NearestScorer`, which are the same whatever the head says,
and measured on held-out claims by the default scorer.
`groundrail.evaluation.loaders` reads the labels; the command is in `groundrail.evaluation.cli`.
"""

import copy
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from groundrail.entailment.base import FloatArray, Pair, Wrapped
from groundrail.entailment.builtin import as_cross_encoder
from groundrail.entailment.cross_encoder import CrossEncoderEntailment
from groundrail.entailment.respelled import Respelled
from groundrail.errors import InputError
from groundrail.evaluation.examples import Example
from groundrail.evaluation.metrics import best_balanced_accuracy, roc_auc
from groundrail.scoring.base import Scorer
from groundrail.scoring.nearest import NearestScorer
from groundrail.scoring.scale import ScaleScorer
from groundrail.scoring.weighing import ALONE
from groundrail.text.english.language import is_english

FEWEST = 100
"""Minimum number of labelled claims; with fewer, the held-out claims cannot show an improvement."""
FEWEST_OF_EACH = 30
"""Minimum number of supported claims and of unsupported claims."""

_HELD_OUT, _VALIDATION = 0.3, 0.2
_STEPS, _PATIENCE, _RATE, _DECAY = 300, 40, 1e-4, 0.01
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class Measured:
    """A judge's measures on the held-out claims: ROC-AUC, shares of wrong claims caught and of true claims passed."""

    name: str
    threshold: float
    auc: float
    caught: float
    passed: float

    @property
    def balanced(self) -> float:
        """Balanced accuracy: the mean of the two shares."""
        return (self.caught + self.passed) / 2


@dataclass(frozen=True, slots=True)
class Tuned:
    """A trained judge with measures on the held-out claims before and after training.

    rows: measures of the shipped judge at its threshold, of the shipped judge at a threshold fitted to the labels, and
        of the trained judge at its threshold.
    counts: number of training claims, of validation claims (which end the training), and of held-out claims.
    """

    judge: CrossEncoderEntailment
    rows: tuple[Measured, Measured, Measured]
    counts: tuple[int, int, int]

    @property
    def better(self) -> bool:
        """Whether the trained judge has a higher ROC-AUC and no lower balanced accuracy than both other rows."""
        *before, after = self.rows
        return after.auc > before[0].auc and after.balanced >= max(row.balanced for row in before)

    def save(self, folder: str | Path) -> None:
        """Save the judge as a folder for `groundrail.entailment.load`. Raises: InputError for a judge not better."""
        if not self.better:
            raise InputError(
                "the trained judge is not better on the held-out claims, so it is not saved: label more claims, or fit "
                "the threshold alone with `groundrail calibrate`"
            )
        self.judge.model.half().save_pretrained(folder)
        self.judge.tokenizer.save_pretrained(folder)
        self.judge.model.float()


def tune(
    examples: Sequence[Example],
    *,
    judge: Respelled | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """Train the head of the built-in judge, or of `judge`, on labelled claims.

        tune(load("labelled.jsonl")).save("my-judge")

    Three tenths of the claims are held out, and a fifth decides when training ends; claims of one source stay together.
    Claims without a label or with a label between 0 and 1 are left out. `progress` gets the number of claims read and
    the number of all claims.

    Raises: InputError for too few labels, for labels of one kind only, or for claims in another language than English.
    """
    given = judge or Respelled(as_cross_encoder("cpu", torch.float32))
    if not isinstance(given.model, CrossEncoderEntailment):
        raise InputError("only a classifier's head can be trained")
    claims = _usable(examples, given.metadata.english_only)
    training, validation, held_out = in_parts(claims, seed)
    read = _Read(given.model)
    scorer, premises = ScaleScorer(Respelled(read)), NearestScorer(Respelled(read))
    scores, asked = {}, {}
    for number, example in enumerate(claims):
        with read.recorded() as pairs:
            _score(premises, example)
        scores[id(example)], asked[id(example)] = _score(scorer, example), pairs
        if progress is not None:
            progress(number + 1, len(claims))
    fitting = [*training, *validation]
    shipped = _measured("as shipped", scorer.metadata.threshold, held_out, scores)
    fitted = _measured("as shipped, threshold fitted", _threshold(fitting, scores), held_out, scores)
    read.head = _trained(read, training, validation, asked, seed)
    after = {id(example): _score(scorer, example) for example in claims}
    threshold = _threshold(fitting, after)
    rows = shipped, fitted, _measured("trained", threshold, held_out, after)
    tuned = _judge(given.model, read.head, threshold, claims)
    return Tuned(tuned, rows, (len(training), len(validation), len(held_out)))


def _usable(examples: Sequence[Example], english_only: bool) -> list[Example]:
    """The claims with a label of 0 or 1. Raises: InputError if they cannot train the judge."""
    claims = [
        example
        for example in examples
        if example.label in (0.0, 1.0) and example.claim.strip() and any(one.text.strip() for one in example.source)
    ]
    supported = sum(example.label == 1.0 for example in claims)
    wrong = len(claims) - supported
    if claims and not (supported and wrong):
        which = "supported" if supported else "unsupported"
        raise InputError(f"all {len(claims)} labels are {which}; label claims of both kinds, {FEWEST_OF_EACH} at least")
    if len(claims) < FEWEST or min(supported, wrong) < FEWEST_OF_EACH:
        raise InputError(
            f"there are {supported} supported and {wrong} unsupported claims with a label of 0 or 1; tuning needs "
            f"{FEWEST} in all and {FEWEST_OF_EACH} of each kind"
        )
    other = sum(not is_english(f"{e.claim} {e.source[0].text}") for e in claims) if english_only else 0
    if other > len(claims) // 10:
        raise InputError(
            f"{other} of {len(claims)} claims seem to be in another language than English, which alone the built-in "
            "judge reads; calibrate a judge of their language instead: groundrail calibrate --judge ID"
        )
    return claims


def in_parts(claims: Sequence[Example], seed: int) -> tuple[list[Example], list[Example], list[Example]]:
    """Training, validation and held-out claims. Raises: InputError if a part lacks supported or unsupported claims."""
    of_source: dict[str, list[Example]] = {}
    for example in claims:
        of_source.setdefault("\0".join(document.text for document in example.source), []).append(example)
    groups = [of_source[text] for text in sorted(of_source)]
    if len(groups) < 6:  # too few to keep sources in separate parts
        groups = [[example] for example in claims]
    random.Random(seed).shuffle(groups)
    training, validation, held_out = parts = list[Example](), list[Example](), list[Example]()
    for group in groups:
        if len(held_out) < _HELD_OUT * len(claims):
            held_out += group
        elif len(validation) < _VALIDATION * len(claims):
            validation += group
        else:
            training += group
    if any(len({example.label for example in part}) < 2 for part in parts):
        raise InputError("labels of both kinds must come from several sources; label claims of more sources")
    return parts


class _Read(Wrapped):
    """A classifier that encodes each pair once and keeps the state; its head can be exchanged."""

    def __init__(self, judge: CrossEncoderEntailment) -> None:
        super().__init__(judge)
        self.judge = judge
        self.head: Any = judge.model.classifier
        self._states: dict[Pair, torch.Tensor] = {}
        self._asked: list[Pair] | None = None

    @contextmanager
    def recorded(self) -> Iterator[list[Pair]]:
        """The pairs of the first call, which decide a claim."""
        self._asked = asked = list[Pair]()
        yield asked
        self._asked = None

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        if self._asked is not None and not self._asked:
            self._asked += pairs
        with torch.inference_mode():
            rows: FloatArray = torch.softmax(self.logits(pairs), dim=-1).double().numpy()
        return rows

    def logits(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """Logits for entailment, neutral and contradiction, shape (pairs, 3)."""
        if not pairs:
            return torch.empty(0, 3)
        self._read(pairs)
        states = torch.stack([self._states[pair] for pair in pairs])
        found: torch.Tensor = self.head(states[:, None])[:, self.judge._order]
        return found / self.judge.temperature

    def _read(self, pairs: Sequence[Pair]) -> None:
        judge = self.judge
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._states]
        states = judge._batched(
            new,
            int(judge.model.config.hidden_size),
            lambda inputs: judge.model.base_model(**inputs).last_hidden_state[:, 0].float(),
        )
        self._states |= zip(new, torch.from_numpy(states).float(), strict=True)


def _score(scorer: Scorer, example: Example) -> float:
    (score,) = scorer.score([example.claim], example.source)
    return score.value


def _trained(
    read: _Read,
    training: Sequence[Example],
    validation: Sequence[Example],
    asked: dict[int, list[Pair]],
    seed: int,
) -> Any:
    """Train a copy of the head and return the version with the lowest loss on the validation claims."""
    torch.manual_seed(seed)
    head = copy.deepcopy(read.head).float()
    optimizer = torch.optim.AdamW(head.parameters(), lr=_RATE, weight_decay=_DECAY)
    shipped, read.head = read.head, head
    best, kept, waited = float("inf"), copy.deepcopy(head), 0
    for _ in range(_STEPS):
        with torch.no_grad():
            loss = float(_loss(read, validation, asked))
        if loss < best - 1e-5:
            best, kept, waited = loss, copy.deepcopy(head), 0
        elif (waited := waited + 1) > _PATIENCE:
            break
        optimizer.zero_grad()
        _loss(read, training, asked).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    read.head = shipped
    return kept.eval()


def _loss(read: _Read, claims: Sequence[Example], asked: dict[int, list[Pair]]) -> torch.Tensor:
    """Binary cross-entropy of the score of `NearestScorer` without rivals; both kinds of claims have the same weight.

    The score is the weighted mean of two log-odds: of the likeliest premise, and of the last premise, which is the window.
    """
    logits = read.logits([pair for example in claims for pair in asked[id(example)]])
    odds = logits[:, 0] - torch.logsumexp(logits[:, 1:], dim=-1)
    of_claim = torch.split(odds, [len(asked[id(example)]) for example in claims])
    scores = torch.stack([ALONE * each.max() + (1 - ALONE) * each[-1] for each in of_claim])
    labels = torch.tensor([example.label for example in claims])
    weights = torch.where(labels > 0.5, 1 / labels.mean(), 1 / (1 - labels).mean()) / 2
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, weight=weights)


def _threshold(claims: Sequence[Example], scores: dict[int, float]) -> float:
    """The threshold with the best balanced accuracy, halfway between the two scores that it separates."""
    values = [scores[id(example)] for example in claims]
    _, lowest = best_balanced_accuracy([float(example.label == 1.0) for example in claims], values)
    below = [value for value in values if value < lowest]
    return float(np.clip((lowest + max(below)) / 2 if below else lowest, _EDGE, 1 - _EDGE))


def _measured(name: str, threshold: float, claims: Sequence[Example], scores: dict[int, float]) -> Measured:
    labels = np.array([example.label == 1.0 for example in claims])
    values = np.array([scores[id(example)] for example in claims])
    released = values >= threshold
    return Measured(
        name, threshold, roc_auc(labels, values), float((~released)[~labels].mean()), float(released[labels].mean())
    )


def _judge(given: CrossEncoderEntailment, head: Any, threshold: float, claims: Sequence[Example]) -> CrossEncoderEntailment:
    """Build a new judge with the head; its configuration holds the settings that `load` needs."""
    model = copy.deepcopy(given.model)
    model.classifier = head
    labels = hashlib.blake2b(digest_size=4)
    for example in claims:
        labels.update(f"{example.source[0].text}\0{example.claim}\0{example.label}\0".encode("utf-8", "surrogatepass"))
    config = model.config
    config.entailment_identity = f"{given.metadata.identity}, tuned on {len(claims)} claims ({labels.hexdigest()})"
    config.entailment_threshold, config.entailment_temperature = threshold, given.temperature
    config.entailment_thresholds = {}
    config.entailment_english_only, config.entailment_respelled = given.metadata.english_only, True
    tokenizer = copy.deepcopy(given.tokenizer)
    tokenizer.model_max_length = given.max_length
    return CrossEncoderEntailment(model, tokenizer, batch_tokens=given.batch_tokens)


def lines(tuned: Tuned) -> Iterator[str]:
    """Lines of the table with the measures before and after training, without colours."""
    yield f"{'on the held-out claims':30} threshold  ROC-AUC  caught  passed"
    for row in tuned.rows:
        yield f"{row.name:30} {row.threshold:9.3f} {100 * row.auc:8.1f} {row.caught:7.0%} {row.passed:7.0%}"
