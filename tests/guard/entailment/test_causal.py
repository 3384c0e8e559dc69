"""A decoder-only judge: the same answers with its cache as without, for far fewer tokens."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tests import tiny
from transformers import GPT2LMHeadModel, LlamaForCausalLM, MambaForCausalLM, MistralForCausalLM, PreTrainedModel

from groundrail import Guard
from groundrail.entailment import CausalEntailment, load
from groundrail.entailment.respelled import Respelled
from groundrail.errors import ClaimTooLongError, InputError, ModelError
from groundrail.papers import GainScorer
from groundrail.scoring.batched import batched
from groundrail.scoring.scale import ScaleScorer

GROUPED = {"vocab_size": 99, "num_key_value_heads": 2, "max_position_embeddings": 256}


def decoder(kind: str) -> PreTrainedModel:
    """Random weights large enough that answers vary."""
    if kind == "llama":
        return tiny.model(LlamaForCausalLM, 5, **GROUPED, initializer_range=0.3)
    return tiny.model(GPT2LMHeadModel, 5, vocab_size=99, n_positions=256, initializer_range=0.3)


@pytest.fixture(params=["llama", "gpt2"])
def model(request) -> PreTrainedModel:
    return decoder(request.param)


def one_by_one(model, tokenizer, pairs) -> np.ndarray:
    """Each whole prompt fed alone, without any cache."""
    yes, no = tokenizer.convert_tokens_to_ids(["Yes", "No"])
    values = []
    for premise, claim in pairs:
        prompt = f'{premise} Question: Does this imply that "{claim}"? Yes or No?'
        ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
        with torch.inference_mode():
            last = model(input_ids=ids, use_cache=False).logits[0, -1, [yes, no]]
        values.append(torch.softmax(last, dim=0)[0].item())
    return np.array(values)


@pytest.mark.parametrize("budget", [0, 30_000, 1 << 30])
def test_answers_are_those_without_a_cache(budget, model, tiny_tokenizer, pairs) -> None:
    asked = [(premise, claim) for premise, _ in pairs[:12] for _, claim in pairs[:3]]
    judge = CausalEntailment(model, tiny_tokenizer, cache_bytes=budget)
    expected = one_by_one(model, tiny_tokenizer, asked)
    assert expected.std() > 0.05
    for _ in range(2):
        np.testing.assert_allclose(judge.entailment(asked), expected, atol=1e-4)


def tokens_read(judge: CausalEntailment, *pairs: tuple[str, str]) -> int:
    """The number of tokens that the model reads for these pairs."""
    read: list[int] = []
    hook = judge.model.base_model.register_forward_pre_hook(
        lambda _, __, given: read.append(given["input_ids"].numel()), with_kwargs=True
    )
    judge.entailment(pairs)
    hook.remove()
    return sum(read)


def of_claim(tokenizer, claim: str) -> int:
    """The number of tokens behind the premise."""
    text = f' Question: Does this imply that "{claim}"? Yes or No?'
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_a_premise_is_read_once_for_all_claims_and_calls(tiny_tokenizer) -> None:
    judge = CausalEntailment(decoder("llama"), tiny_tokenizer)
    premise = "the rent is due on first of every month " * 10
    assert tokens_read(judge, (premise, "keys were lost"), (premise, "cats are not allowed")) > 90
    assert tokens_read(judge, (premise, "the tenant pays")) == of_claim(tiny_tokenizer, "the tenant pays")


def test_left_halves_of_the_tree_are_cropped_from_what_was_read(tiny_tokenizer) -> None:
    judge = CausalEntailment(decoder("llama"), tiny_tokenizer)
    left, right = "The rent is due in march. The keys were lost.", "Cats are not allowed. Bob signed it."
    whole = f"{left} {right}"
    pairs = [(left, "the keys were lost"), (right, "the keys were lost")]
    expected = one_by_one(judge.model, tiny_tokenizer, pairs)
    judge.entailment([(whole, "the keys were lost")])
    assert tokens_read(judge, pairs[0]) == of_claim(tiny_tokenizer, "the keys were lost")
    np.testing.assert_allclose(judge.entailment(pairs), expected, atol=1e-4)


def test_the_least_used_goes_first(tiny_tokenizer) -> None:
    judge = CausalEntailment(decoder("llama"), tiny_tokenizer, cache_bytes=2 * 2 * 2 * 16 * 4 * 12)
    premises = ["rent is due " * 4, "cats are lost " * 4, "keys were allowed " * 4]  # two of three fit
    for premise in (premises[0], premises[1], premises[0], premises[2]):
        judge.entailment([(premise, "it is")])
    kept = [tokens_read(judge, (premises[n], "it is")) == of_claim(tiny_tokenizer, "it is") for n in (0, 2, 1)]
    assert kept == [True, True, False]


def test_models_whose_cache_cannot_be_cropped_are_refused_before_any_work(tiny_tokenizer) -> None:
    sliding = tiny.model(MistralForCausalLM, **GROUPED, sliding_window=8)
    stateful = tiny.model(MambaForCausalLM, vocab_size=99)
    for model in (sliding, stateful):
        with pytest.raises(ModelError, match=r"cannot be cut back"):
            CausalEntailment(model, tiny_tokenizer, max_length=256)


def test_bad_templates_and_texts_are_errors(tiny_tokenizer) -> None:
    model = decoder("gpt2")
    for template in ("{claim} {premise}", "{premise}", ""):
        with pytest.raises(InputError, match="template"):
            CausalEntailment(model, tiny_tokenizer, template=template)
    judge = CausalEntailment(model, tiny_tokenizer, max_length=60)
    with pytest.raises(InputError, match="cut the premise"):
        judge.entailment([("the rent " * 40, "it is due")])
    with pytest.raises(ClaimTooLongError):
        judge.entailment([("the rent", "it is due " * 40)])
    assert judge.entailment([]).shape == (0,)


def test_it_is_loaded_by_name_and_serves_scale(tiny_tokenizer, tmp_path: Path) -> None:
    decoder("llama").save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    judge = load(str(tmp_path))
    assert isinstance(judge, CausalEntailment)
    source = " ".join("The rent is due in march. Keys were lost. Cats are not allowed." for _ in range(9))
    scorer = ScaleScorer(judge, chunk_tokens=40)
    (score,) = scorer.score(["Keys were lost."], source)
    assert re.fullmatch(r"[A-Z][^A-Z]*\.( [A-Z][^A-Z]*\.){0,3}", score.citations[0].text)
    (decided,) = scorer.read(source).score(["Keys were lost."], score.value)
    assert decided.value == pytest.approx(score.value, abs=1e-5)


def test_a_generator_judges_itself_and_nothing_else_does(tiny_tokenizer) -> None:
    from groundrail.decoding import HFGenerator
    from groundrail.generators import Generator

    class Writer(HFGenerator, Generator):
        """Declares what it is."""

    generator = Writer(decoder("llama"), tiny_tokenizer)
    scorer = Guard(generator, scorer="scale", judge="self").scorer
    assert isinstance(scorer, ScaleScorer)
    assert isinstance(scorer.entailment, CausalEntailment)
    assert scorer.entailment.model is generator.model
    own = CausalEntailment(generator.model, tiny_tokenizer)
    for judge in ("self", own, Respelled(own)):  # one model does one thing at a time
        assert Guard(generator, judge=judge).scorer.metadata.asks(generator.weights)
    for whole in (ScaleScorer(own), batched("scale", own), GainScorer(generator.model, tiny_tokenizer)):
        assert Guard(generator, scorer=whole).scorer.metadata.asks(generator.weights)
    other_model = CausalEntailment(decoder("llama"), tiny_tokenizer)
    assert not Guard(generator, scorer="scale", judge=other_model).scorer.metadata.asks(generator.weights)
    for other in (None, lambda prompt, documents: "text"):
        with pytest.raises(InputError, match="HFGenerator"):
            Guard(other, judge="self")
