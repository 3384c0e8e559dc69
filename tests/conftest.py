"""Fixtures for all tests: tiny models and their tokenizers (`tests.tiny`), and how many examples a property gets."""

import gc
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

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


def pytest_collection_finish() -> None:
    """Spare every later run of the garbage collector the objects of all modules, which stay to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Any:
    """One token a word or punctuation mark; `</s>` closes every input, as in T5."""
    from tests import tiny

    words = ["<pad>", "</s>", "<unk>", *dict.fromkeys(tiny.WORDS.split()), *tiny.MARKS]
    ends: dict[str, Any] = {"single": "$A </s>", "pair": "$A </s> $B:1 </s>:1", "paired": True, "limit": 256}
    return tiny.tokenizer(words, **ends, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


@pytest.fixture(scope="session")
def tiny_t5(tiny_tokenizer) -> Any:
    """An encoder-decoder whose answers vary widely with the input, without being sure of any."""
    import torch
    from tests import tiny
    from transformers import T5ForConditionalGeneration

    varied: dict[str, Any] = {"d_ff": 64, "initializer_factor": 1.7, "tie_word_embeddings": False}
    # with this seed its answers vary with the oldest transformers and with the newest, which draw differently
    model = tiny.model(T5ForConditionalGeneration, 17, vocab_size=len(tiny_tokenizer), **varied)
    with torch.no_grad():
        model.lm_head.weight.mul_(0.3)
    return model


@pytest.fixture(scope="session")
def tiny_nli(tiny_tokenizer) -> Any:
    """A classifier of three classes, in an order of its own."""
    from tests import tiny
    from transformers import BertForSequenceClassification

    size = {"vocab_size": len(tiny_tokenizer), "intermediate_size": 64, "max_position_embeddings": 128}
    return tiny.classifier(BertForSequenceClassification, 11, "contradiction entailment neutral", **size, pad_token_id=0)


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """Premises of 0 to 60 words and claims of 1 to 8, for models that take words one by one."""
    from tests.tiny import WORDS

    draw = random.Random(5)
    words = WORDS.split()
    return [
        (" ".join(draw.choices(words, k=draw.randrange(60))), " ".join(draw.choices(words, k=draw.randrange(1, 9))))
        for _ in range(30)
    ]


@pytest.fixture(scope="session")
def tiny_nli_folder(tiny_nli, tiny_tokenizer, tmp_path_factory) -> Path:
    from tests import tiny

    return tiny.saved(tmp_path_factory.mktemp("tiny_nli"), tiny_nli, tiny_tokenizer)


@pytest.fixture(scope="session")
def tiny_t5_folder(tiny_t5, tiny_tokenizer, tmp_path_factory) -> Path:
    from tests import tiny

    return tiny.saved(tmp_path_factory.mktemp("tiny_t5"), tiny_t5, tiny_tokenizer)


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory) -> Path:
    from tests import tiny
    from tests.decoding.conftest import letters, llama

    return tiny.saved(tmp_path_factory.mktemp("causal"), llama(), letters())


@pytest.fixture(scope="session")
def models() -> dict[str, Any]:
    """Tiny generators by kind: two decoders and an encoder-decoder."""
    from tests.decoding.conftest import KINDS

    return {name: build() for name, build in KINDS.items()}


@pytest.fixture(params=["llama", "gpt2"])
def decoder(request, models) -> Any:
    return models[request.param]
