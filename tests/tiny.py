"""Tiny models with random weights and tokenizers of whole words, built offline: what holds for them holds for any."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import PreTokenizer, Punctuation, Sequence, WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from groundrail.text import sentences

M = TypeVar("M", bound=PreTrainedModel)

WORDS = (
    "the a rent is due on first of every month tenant pays landlord keys were lost in march and "
    "april deposit was returned to Anna by bank cats are not allowed flat has two rooms water heating "
    "included contract ends June who signed it Bob did late fee 45 500 euros 12 3 clause "
    "Yes No Question Does this imply that or The Rent It Cats Keys Deposit He"
)
MARKS = ".,?!:\"'()-"

SIZES: dict[str, dict[str, Any]] = {
    "t5": {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 4,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    },
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "mamba": {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4},
}
"""Sizes of the architectures that name them in their own way."""
OTHERS = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def written(seed: int, count: int) -> str:
    """A document of this many sentences of four to nine words that differ from each other."""
    draw = random.Random(seed)
    words = "rent deposit tenant landlord keys heating garden pays kept soon".split()
    return " ".join(f"Clause {n} {' '.join(draw.choices(words, k=draw.randint(2, 7)))}." for n in range(count))


def cut(text: str) -> list[str]:
    """The sentences of a document, without the blanks around them."""
    return [part.text.strip() for part in sentences.split(text)]


def model(kind: type[M], seed: int = 0, **settings: Any) -> M:
    """A model of this class with random weights; the generator outside is left as it was."""
    made: Any = kind.config_class
    config = made(**{**SIZES.get(made.model_type, OTHERS), **settings})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config).eval()


def classifier(kind: type[M], seed: int, labels: str, **settings: Any) -> M:
    """A model of this class with these labels, in this order, whose answers vary widely with the input."""
    names = dict(enumerate(labels.split()))
    ids = {name: number for number, name in names.items()}
    return model(kind, seed, initializer_range=0.3, id2label=names, label2id=ids, **settings)


def tokenizer(
    words: Iterable[str],
    *,
    single: str = "",
    pair: str = "",
    splits: PreTokenizer | None = None,
    paired: bool = False,
    limit: int | None = None,
    **special: Any,
) -> PreTrainedTokenizerFast:
    """One token a word or punctuation mark.

    single, pair: the places of special tokens around a text and a pair of texts, "$A </s>" for example.
    paired: give token types.
    special: `unk_token`, `pad_token` and others.
    """
    ids = {word: number for number, word in enumerate(words)}
    unknown = special.get("unk_token")
    inner = Tokenizer(WordLevel(ids, **({"unk_token": unknown} if unknown else {})))
    inner.pre_tokenizer = splits or Sequence([WhitespaceSplit(), Punctuation()])
    if single:
        used = [(word, ids[word]) for word in dict.fromkeys(f"{single} {pair}".split()) if word in ids]
        inner.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=used)
    names = ["input_ids", *(["token_type_ids"] if paired else []), "attention_mask"]
    if limit is not None:
        special["model_max_length"] = limit
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=names, **special)


def taught(model: Any, tokenizer: PreTrainedTokenizerFast, source: str, target: str) -> PreTrainedModel:
    """The model, tuned until it writes `target` for `source`."""
    inputs = tokenizer(source, return_tensors="pt")
    words: Any = tokenizer.convert_tokens_to_ids(target.split())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        model(**inputs, labels=torch.tensor([[*words, tokenizer.eos_token_id]])).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    made: PreTrainedModel = model
    return made


def saved(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Path:
    """The folder, with model and tokenizer as files."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
