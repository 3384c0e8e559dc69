"""P(Yes) against P(No) at the first decoder position, for any weights."""

import copy

import numpy as np
import pytest
import torch

from groundrail.entailment import EntailmentModel, Seq2SeqEntailment
from groundrail.errors import ClaimTooLongError, InputError, ModelError


def one_by_one(model, tokenizer, prompts: list[str]) -> np.ndarray:
    """P(Yes) against P(No) as the first token that `generate` would say, each prompt alone."""
    yes, no = tokenizer.convert_tokens_to_ids(["Yes", "No"])
    values = []
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        first = model.generate(ids, max_new_tokens=1, output_logits=True, return_dict_in_generate=True).logits[0][0]
        values.append((first[yes].exp() / (first[yes].exp() + first[no].exp())).item())
    return np.array(values)


def test_batches_say_what_generate_says_for_single_prompts(tiny_t5, tiny_tokenizer, pairs) -> None:
    prompts = [f'{premise} Question: Does this imply that "{claim}"? Yes or No?' for premise, claim in pairs]
    expected = one_by_one(tiny_t5, tiny_tokenizer, prompts)
    assert expected.std() > 0.05
    for batch_tokens in (1, 400, 100_000):
        judge = Seq2SeqEntailment(tiny_t5, tiny_tokenizer, batch_tokens=batch_tokens)
        np.testing.assert_allclose(judge.entailment(pairs), expected, atol=1e-5)


def test_the_template_is_a_parameter_and_text_with_braces_goes_in_as_it_is(tiny_t5, tiny_tokenizer) -> None:
    pairs = [("the {claim} rent {} {0} {premise}", "cats {premise} {"), ("% \\1 keys", "{{claim}} $x")]
    judge = Seq2SeqEntailment(tiny_t5, tiny_tokenizer, template="{claim} {not} or {premise}?")
    expected = one_by_one(tiny_t5, tiny_tokenizer, [claim + " {not} or " + premise + "?" for premise, claim in pairs])
    np.testing.assert_allclose(judge.entailment(pairs), expected, atol=1e-5)


@pytest.mark.parametrize("template", ["", "{premise}", "{claim}{claim}{premise}", "{premise} {hypothesis}"])
def test_a_template_that_cannot_be_filled_is_an_error(template, tiny_t5, tiny_tokenizer) -> None:
    with pytest.raises(InputError, match="template"):
        Seq2SeqEntailment(tiny_t5, tiny_tokenizer, template=template)


@pytest.mark.parametrize("missing", ["Yes", "No"])
def test_an_answer_that_is_no_single_token_is_an_error(missing, tiny_t5, tiny_tokenizer) -> None:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    text = tiny_tokenizer.backend_tokenizer.to_str().replace(f'"{missing}"', '"Maybe"')
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(text), pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    with pytest.raises(ModelError, match=missing):
        Seq2SeqEntailment(tiny_t5, tokenizer)


def test_any_premise_and_claim_within_max_tokens_fit_and_nothing_is_cut(tiny_t5, tiny_tokenizer) -> None:
    judge = Seq2SeqEntailment(tiny_t5, tiny_tokenizer, max_length=60)
    claim = "cats are allowed"
    fitting = judge.max_tokens - 3
    assert 20 < fitting < 60
    assert np.isfinite(judge.entailment([("rent " * fitting, claim)])).all()
    with pytest.raises(InputError, match="the model reads 60") as error:
        judge.entailment([("rent " * 60, claim)])
    assert not isinstance(error.value, ClaimTooLongError)
    with pytest.raises(ClaimTooLongError, match="cats"):
        judge.entailment([("", "cats " * judge.max_tokens)])


def test_the_limit_is_the_tokenizers_or_that_of_t5(tiny_t5, tiny_tokenizer) -> None:
    assert Seq2SeqEntailment(tiny_t5, tiny_tokenizer).max_length == 256
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.model_max_length = int(1e30)
    assert Seq2SeqEntailment(tiny_t5, tokenizer).max_length == 512


def test_loading_from_files_changes_nothing(tiny_t5, tiny_tokenizer, tiny_t5_folder, pairs) -> None:
    judge = Seq2SeqEntailment.from_pretrained(str(tiny_t5_folder), device="cpu", local_files_only=True)
    assert not judge.model.training
    expected = Seq2SeqEntailment(tiny_t5, tiny_tokenizer).entailment(pairs)
    np.testing.assert_allclose(judge.entailment(pairs), expected, atol=1e-6)


def test_broken_weights_give_nan(tiny_t5, tiny_tokenizer, pairs) -> None:
    model = copy.deepcopy(tiny_t5)
    with torch.no_grad():
        model.lm_head.weight.fill_(torch.nan)
    assert np.isnan(Seq2SeqEntailment(model, tiny_tokenizer).entailment(pairs)).all()


def test_no_pairs_and_the_protocol(tiny_t5, tiny_tokenizer) -> None:
    judge = Seq2SeqEntailment(tiny_t5, tiny_tokenizer)
    assert judge.entailment([]).shape == (0,)
    assert judge.threshold == 0.5
    assert isinstance(judge, EntailmentModel)
