"""P(Yes) against P(No) at the first decoder position, for any weights."""

import numpy as np
import pytest

from groundrail.entailment import Seq2SeqEntailment
from groundrail.errors import InputError, ModelError


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
