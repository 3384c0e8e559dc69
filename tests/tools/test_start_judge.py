"""A judge with layers put on top and word pieces taken out reads what it read before, where nothing of that is concerned."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from start_judge import frequent, only_pieces, texts_of, with_upper_layers
from transformers import AutoTokenizer, MPNetConfig, MPNetModel

from groundrail.entailment.builtin import folder

TEXTS = ["The lease ends on 12 May 2024.", "Nobody paid the invoice; the lease ends."]


@cache
def shipped() -> Any:
    return AutoTokenizer.from_pretrained(folder())


@pytest.fixture
def smaller(tmp_path: Path) -> tuple[Any, list[int]]:
    """The shipped tokenizer with what always stays and the pieces of the two texts, and the ids it kept."""
    with pytest.raises(SystemExit, match="--rows must be at least") as error:
        frequent(shipped(), [], 10)
    fewest = int(str(error.value).split("at least ")[1].split(":")[0])
    kept = frequent(shipped(), TEXTS, fewest + 14)
    shipped().save_pretrained(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(only_pieces(json.loads(file.read_text(encoding="utf-8")), kept)), encoding="utf-8")
    return AutoTokenizer.from_pretrained(tmp_path), kept


def test_what_the_kept_pieces_spell_is_read_as_before(smaller: tuple[Any, list[int]]) -> None:
    tokenizer, kept = smaller
    assert len(tokenizer) == len(kept) < len(shipped())
    for first, second in (TEXTS, reversed(TEXTS)):
        found = tokenizer(first, second)["input_ids"]
        assert [kept[id] for id in found] == shipped()(first, second)["input_ids"]
    for name in ("cls_token_id", "sep_token_id", "pad_token_id", "unk_token_id", "mask_token_id"):
        assert kept[getattr(tokenizer, name)] == getattr(shipped(), name)


def test_other_words_are_spelt_out_with_no_character_lost(smaller: tuple[Any, list[int]]) -> None:
    tokenizer, _ = smaller
    said = "Sphinxes of black quartz judge 9,876 vows @ 5 % zürich."
    assert tokenizer.unk_token not in tokenizer.tokenize(said)
    spelt = "".join(piece.removeprefix("##") for piece in tokenizer.tokenize(said))
    assert spelt == "".join(piece.removeprefix("##") for piece in shipped().tokenize(said))
    assert len(tokenizer.tokenize(said)) > len(shipped().tokenize(said))


def test_upper_layers_are_the_base_s_and_what_lies_below_the_judge_s() -> None:
    torch.manual_seed(0)
    config = MPNetConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=20,
    )  # fmt: skip
    base = MPNetModel(config, add_pooling_layer=False).eval()
    judge = MPNetModel(MPNetConfig(**config.to_dict() | {"num_hidden_layers": 2}), add_pooling_layer=False).eval()
    mine = {f"mpnet.{name}": weight for name, weight in judge.state_dict().items()}
    grown = with_upper_layers(mine, base.state_dict(), 2, 4)
    whole = MPNetModel(config, add_pooling_layer=False).eval()
    whole.load_state_dict({name.removeprefix("mpnet."): weight for name, weight in grown.items()})
    ids = torch.tensor([[4, 7, 9, 3]])
    read = whole(ids, output_hidden_states=True).hidden_states
    torch.testing.assert_close(read[2], judge(ids).last_hidden_state)
    bias = whole.encoder.compute_position_bias(read[2])  # the judge's, as everything that layers share
    above = base.encoder.layer[2](read[2], torch.zeros(1, 1, 1, 4), bias)[0]
    torch.testing.assert_close(read[3], above, msg="the third layer is not the base's")


def test_every_string_of_the_files_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one", "claims": [{"text": "two", "n": 3}]}\n', encoding="utf-8")
    assert list(texts_of([tmp_path])) == ["one", "two"]
