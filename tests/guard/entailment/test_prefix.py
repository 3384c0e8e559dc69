"""A premise read once serves every claim, and nothing else changes."""

import threading
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import MPNetConfig, MPNetForSequenceClassification, PreTrainedTokenizerFast

from groundrail.entailment.base import NLIModel
from groundrail.entailment.prefix import PrefixEntailment, premise_block, read
from groundrail.errors import ClaimTooLongError, InputError

WORDS = "the rent is due on first of every month tenant pays landlord keys were lost".split()
PAIRS = [
    ("the rent is due on first of every month", "the tenant pays the rent"),
    ("the rent is due on first of every month", "keys were lost"),
    ("keys were lost", "the landlord pays"),
    ("the rent is due on first of every month", "rent"),
]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
    tokenizer = Tokenizer(WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="<s>", pad_token="<pad>", sep_token="</s>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def model() -> MPNetForSequenceClassification:
    torch.manual_seed(3)
    config = MPNetConfig(
        vocab_size=4 + len(WORDS),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=66,
        initializer_range=0.6,
        id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
        label2id={"contradiction": 0, "entailment": 1, "neutral": 2},
    )
    return MPNetForSequenceClassification(config).eval()


@pytest.fixture
def judge(model: MPNetForSequenceClassification, tokenizer: PreTrainedTokenizerFast) -> PrefixEntailment:
    return PrefixEntailment(model, tokenizer)


def slowly(model: Any, tokenizer: PreTrainedTokenizerFast, premise: str, claim: str) -> list[float]:
    """Entailment, neutral, contradiction of one pair, by the formulas, with one big mask."""
    before, after = tokenizer(premise)["input_ids"], tokenizer(claim)["input_ids"]
    ids = torch.tensor([*before, *after])
    n, encoder = len(ids), model.mpnet.encoder
    x = model.mpnet.embeddings(ids[None])[0]
    distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    bias = encoder.relative_attention_bias(encoder.relative_position_bucket(distance)).permute(2, 0, 1)
    mask = torch.zeros(n, n)
    mask[: len(before), len(before) :] = -torch.inf
    for layer in encoder.layer:
        a = layer.attention.attn
        heads = [each(x).view(n, 4, 8).transpose(0, 1) for each in (a.q, a.k, a.v)]
        scores = heads[0] @ heads[1].transpose(1, 2) / 8**0.5 + bias + mask
        mixed = (scores.softmax(-1) @ heads[2]).transpose(0, 1).reshape(n, 32)
        x = layer.attention.LayerNorm(a.o(mixed) + x)
        x = layer.output(layer.intermediate(x), x)
    logits = model.classifier(x[None, len(before) :])[0]
    return [float(logits.softmax(-1)[place]) for place in (1, 2, 0)]


@torch.inference_mode()
def test_it_is_the_encoder_with_the_prefix_mask(judge, model, tokenizer) -> None:
    found = judge.classify(PAIRS)
    wanted = [slowly(model, tokenizer, premise, claim) for premise, claim in PAIRS]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(judge.entailment(PAIRS), [row[0] for row in wanted], atol=1e-5)
    assert found.max() - found.min() > 0.1


@torch.inference_mode()
def test_a_premise_alone_is_read_as_the_encoder_reads_it(model, tokenizer) -> None:
    ids = torch.tensor(tokenizer(PAIRS[0][0])["input_ids"])
    states, _ = read(model, ids, torch.arange(len(ids)), [premise_block(len(ids))])
    torch.testing.assert_close(states, model.mpnet(ids[None]).last_hidden_state[0], atol=1e-5, rtol=0)


def test_many_claims_at_once_say_what_each_says_alone(judge) -> None:
    claims = [" ".join(WORDS[n % 7 : n % 7 + 1 + n % 9]) for n in range(60)]
    together = judge.classify([(PAIRS[0][0], claim) for claim in claims])
    alone = np.concatenate([judge.classify([(PAIRS[0][0], claim)]) for claim in claims])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_premise_is_read_once_as_long_as_it_is_kept(judge, monkeypatch) -> None:
    read_of: list[str] = []
    encoded = judge._encoded

    def noted(text: str) -> list[int]:
        read_of.append(text)
        return encoded(text)

    monkeypatch.setattr(judge, "_encoded", noted)
    judge.classify(PAIRS)
    judge.classify(PAIRS)
    assert read_of.count(PAIRS[0][0]) == 1
    judge.cache_bytes = 0  # the last one only
    for _ in range(2):
        judge.classify([PAIRS[0]])
        judge.classify([("the keys", "keys were lost")])
    assert read_of.count("the keys") == 2


def test_what_does_not_fit_is_an_error(judge) -> None:
    long = " ".join(["rent"] * 58)
    with pytest.raises(InputError, match="cut the premise into chunks"):
        judge.classify([(long, "keys were lost")])
    assert judge.classify([(" ".join(["rent"] * (judge.max_tokens - 3)), "keys were lost")]).shape == (1, 3)
    with pytest.raises(ClaimTooLongError):
        judge.classify([("rent", " ".join(["rent"] * 70))])


def test_threads_can_share_a_judge(judge) -> None:
    wanted = judge.classify(PAIRS)
    found: list[np.ndarray] = []
    judge.cache_bytes = 0
    threads = [threading.Thread(target=lambda: found.append(judge.classify(PAIRS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        np.testing.assert_allclose(each, wanted, atol=1e-5)


def test_no_pairs_and_the_protocol(judge) -> None:
    assert judge.classify([]).shape == (0, 3)
    assert isinstance(judge, NLIModel)
    assert [text for text in ("rent is",) for _ in judge.offsets(text)] == ["rent is"] * 2
