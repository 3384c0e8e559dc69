"""Tiny models with random weights and a word tokenizer, built offline: what holds for them holds for any."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from transformers import (
        BertForSequenceClassification,
        PreTrainedModel,
        PreTrainedTokenizerFast,
        T5ForConditionalGeneration,
    )

pytest_plugins = ["tests.hashed"]

FEW = 25
COMMON = settings(deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("small", COMMON, max_examples=FEW)
settings.register_profile("large", COMMON, max_examples=300)
settings.load_profile("small")

SLOW_FIXTURES = {"browser", "wheel"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what looks at a page in a browser or builds the wheel to `make test-all`."""
    for item in items:
        if SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


WORDS = (
    "the a rent is due on first of every month tenant pays landlord keys were lost in march and "
    "april deposit was returned to Anna by bank cats are not allowed flat has two rooms water heating "
    "included contract ends June who signed it Bob did late fee 45 500 euros 12 3 clause "
    "Yes No Question Does this imply that or The Rent It Cats Keys Deposit He"
)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> "PreTrainedTokenizerFast":
    """One token a word or punctuation mark; `</s>` closes every input, as in T5."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Punctuation, Sequence, WhitespaceSplit
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "</s>", "<unk>", *dict.fromkeys(WORDS.split()), *".,?!:\"'()-"]
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Punctuation()])
    tokenizer.post_processor = TemplateProcessing(
        single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=256,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


@pytest.fixture(scope="session")
def tiny_t5(tiny_tokenizer: "PreTrainedTokenizerFast") -> "T5ForConditionalGeneration":
    """An encoder-decoder whose answers vary widely with the input, without being sure of any."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    with _seeded(17):  # its answers vary with the oldest transformers and with the newest, which draw differently
        config = T5Config(  # type: ignore[call-arg]
            vocab_size=len(tiny_tokenizer),
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            initializer_factor=1.7,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
            tie_word_embeddings=False,
        )
        model = T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(0.3)
    return model


@pytest.fixture(scope="session")
def tiny_nli(tiny_tokenizer: "PreTrainedTokenizerFast") -> "BertForSequenceClassification":
    """A classifier of three classes, in an order of its own."""
    from transformers import BertConfig, BertForSequenceClassification

    with _seeded(11):
        config = BertConfig(
            vocab_size=len(tiny_tokenizer),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=128,
            initializer_range=0.3,
            pad_token_id=0,
            id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
            label2id={"contradiction": 0, "entailment": 1, "neutral": 2},
        )
        return BertForSequenceClassification(config).eval()


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """Premises of 0 to 60 words and claims of 1 to 8, for models that take words one by one."""
    draw = random.Random(5)
    words = WORDS.split()
    return [
        (
            " ".join(draw.choices(words, k=draw.randrange(60))),
            " ".join(draw.choices(words, k=draw.randrange(1, 9))),
        )
        for _ in range(30)
    ]


@pytest.fixture(scope="session")
def tiny_nli_folder(
    tiny_nli: "BertForSequenceClassification",
    tiny_tokenizer: "PreTrainedTokenizerFast",
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The classifier and its tokenizer as files."""
    return _saved(tiny_nli, tiny_tokenizer, tmp_path_factory.mktemp("tiny_nli"))


@pytest.fixture(scope="session")
def tiny_t5_folder(
    tiny_t5: "T5ForConditionalGeneration",
    tiny_tokenizer: "PreTrainedTokenizerFast",
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The encoder-decoder and its tokenizer as files."""
    return _saved(tiny_t5, tiny_tokenizer, tmp_path_factory.mktemp("tiny_t5"))


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder and its tokenizer as files."""
    from tests.decoding.conftest import letters, llama

    return _saved(llama(), letters(), tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="session")
def models() -> "dict[str, PreTrainedModel]":
    """Tiny generators by kind: two decoders and an encoder-decoder."""
    from tests.decoding.conftest import KINDS

    return {name: build() for name, build in KINDS.items()}


@pytest.fixture(params=["llama", "gpt2"])
def decoder(request: pytest.FixtureRequest, models: "dict[str, PreTrainedModel]") -> "PreTrainedModel":
    """Each of the decoder-only ones."""
    return models[request.param]


def _saved(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Random weights from a seed inside the block; the generator outside it is left as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
