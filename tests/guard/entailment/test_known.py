"""Known judges: each one's number against its authors' formula, written anew over plain tokens and torch.

The weights are random and the models tiny, of the architecture that the real ones have. What holds for them holds for
the real weights, since nothing but the numbers in them differs.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests import tiny
from transformers import (
    DebertaV2ForSequenceClassification,
    GraniteForCausalLM,
    ModernBertForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaForSequenceClassification,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
    T5ForTokenClassification,
)

from groundrail import Guard
from groundrail.entailment import load
from groundrail.entailment.known import JUDGES, find
from groundrail.errors import InputError, ModelError
from groundrail.scoring.scale import ScaleScorer

CHAT = (
    "{% for message in messages %}<role>{{ message['role'] }}<end>{{ message['content'] }}</s>\n{% endfor %}"
    "<role>user<end>Is it {{ guardian_config['risk_name'] }}?</s>\n"
    "{% if add_generation_prompt %}<role>assistant<end>{% endif %}"
)


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """Words and punctuation, with special tokens placed as the architecture's own tokenizer places them."""
    special = {
        "t5": ["<pad>", "</s>", "<unk>"],
        "roberta": ["<s>", "<pad>", "</s>", "<unk>"],
        "deberta": ["[PAD]", "[CLS]", "[SEP]", "<unk>"],
        "granite": ["</s>", "<pad>", "<unk>", "<role>", "<end>"],
    }[kind]
    said = (
        "predict premise hypothesis Choose your answer based above can we conclude OPTIONS I think is Determine if true "
        "Premise Hypothesis given Summarize following text passage output context assistant user groundedness yes NO"
    )
    words = [*special, *dict.fromkeys(f"{tiny.WORDS} {said}".split()), *tiny.MARKS]
    words += [f"filler{number}" for number in range(len(words), 240)]
    single, pair = {
        "t5": ("$A </s>", "$A </s> $B:1 </s>:1"),
        "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
        "deberta": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]"),
        "granite": ("$A", "$A $B"),
    }[kind]
    end, gap = ("[SEP]", "[PAD]") if kind == "deberta" else ("</s>", "<pad>")
    more = [word for word in special if word not in ("<unk>", gap, end)]
    named: dict[str, Any] = {"pad_token": gap, "eos_token": end, "unk_token": "<unk>", "additional_special_tokens": more}
    built = tiny.tokenizer(words, single=single, pair=pair, limit=512, **named)
    if kind == "granite":
        built.chat_template = CHAT
    return built


VARIED: dict[str, Any] = {"vocab_size": 240, "initializer_range": 0.3}
T5: dict[str, Any] = {"vocab_size": 240, "initializer_factor": 1.5, "tie_word_embeddings": False}
T5 |= {"feed_forward_proj": "gated-gelu"}
ROBERTA: dict[str, Any] = {**VARIED, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}
DEBERTA: dict[str, Any] = {
    **VARIED,
    "pad_token_id": 0,
    "type_vocab_size": 0,
    "num_labels": 2,
    "pos_att_type": ["p2c", "c2p"],
}
DEBERTA |= {"relative_attention": True, "position_biased_input": False, "position_buckets": 16}
MODERNBERT: dict[str, Any] = {**VARIED, "num_labels": 2, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}
MODERNBERT |= {"bos_token_id": 1, "eos_token_id": 2}
KINDS: dict[str, tuple[type[PreTrainedModel], dict[str, Any]]] = {
    "t5": (T5ForConditionalGeneration, T5),
    "t5 tokens": (T5ForTokenClassification, {**T5, "num_labels": 2}),
    "roberta": (RobertaForSequenceClassification, {**ROBERTA, "num_labels": 2}),
    "deberta": (DebertaV2ForSequenceClassification, DEBERTA),
    "modernbert": (ModernBertForTokenClassification, MODERNBERT),
    "granite": (GraniteForCausalLM, {**VARIED, "num_key_value_heads": 2, "max_position_embeddings": 512}),
}


def build(kind: str) -> PreTrainedModel:
    """A model of random weights, large enough that answers vary."""
    made, settings = KINDS[kind]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model: Any = tiny.model(made, 23, **settings)
        if kind == "t5":
            model.lm_head.weight.mul_(0.3)
        if kind == "t5 tokens":
            torch.manual_seed(23)
            model.classifier.weight.normal_()
    built: PreTrainedModel = model
    return built


def saved(folder: Path, kind: str, words: str) -> tuple[Any, PreTrainedTokenizerFast]:
    """Model and tokenizer, also as files."""
    model, tokens = build(kind), tokenizer(words)
    tiny.saved(folder, model, tokens)
    return model, tokens


def ids(tokens: PreTrainedTokenizerFast, text: Any) -> torch.Tensor:
    return torch.tensor([tokens(text)["input_ids"]])


def compare(judge: str, expected: list[float], pairs: list[tuple[str, str]], spread: float = 0.03) -> None:
    """The judge says what was expected, in batches as for single pairs, and it has something to say."""
    assert np.std(expected) > spread
    model = load(judge, device="cpu")
    np.testing.assert_allclose(model.entailment(pairs), expected, atol=2e-5)
    np.testing.assert_allclose([model.entailment([pair])[0] for pair in pairs[:5]], expected[:5], atol=2e-5)


def of_one_against_a_blank(model, tokens, premise, claim) -> torch.Tensor:
    """The probabilities of two tokens, as the first that a T5 writes."""
    asked = ids(tokens, "predict: " + tokens.eos_token.join([premise, claim]))
    logits = model(input_ids=asked, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits
    return torch.softmax(logits[0, 0, [3, 209]], dim=0)[1]


def of_one_text(model, tokens, premise, claim) -> torch.Tensor:
    """A classifier of one text, with the end token between premise and claim."""
    return torch.softmax(model(ids(tokens, tokens.eos_token.join([premise, claim]))).logits, dim=1)[0, 1]


def of_a_question_after_the_paragraph(model, tokens, premise, claim) -> torch.Tensor:
    text = premise + "\n\nChoose your answer: based on the paragraph above can we conclude that "
    text += '"' + claim + '"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    return torch.softmax(model(ids(tokens, text)).logits, dim=-1)[0, 1]


def of_every_no_against_every_yes(model, tokens, premise, claim) -> torch.Tensor:
    vocabulary = tokens.get_vocab().items()
    spelled = [[n for text, n in vocabulary if text.strip().lower() == word] for word in ("no", "yes")]
    assert [len(places) for places in spelled] == [2, 2]
    messages = [{"role": "context", "content": premise}, {"role": "assistant", "content": claim}]
    text = tokens.apply_chat_template(
        messages, guardian_config={"risk_name": "groundedness"}, tokenize=False, add_generation_prompt=True
    )
    chances = torch.softmax(model(ids(tokens, text)).logits[0, -1], dim=0)
    safe, risky = (chances[places].sum() for places in spelled)
    return safe / (safe + risky)


def of_the_weakest_word(model, tokens, premise, claim) -> torch.Tensor:
    prompt = f"Summarize the following text:\npassage 1: {premise}\noutput:"
    inputs = tokens(prompt, claim, return_tensors="pt")
    count = len(tokens(claim, add_special_tokens=False)["input_ids"])
    of_claim = slice(inputs.input_ids.shape[1] - count - 1, -1)  # all but the last end token
    return 1 - torch.softmax(model(**inputs).logits, dim=-1)[0, of_claim, 1].max()


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "kind", "words", "probability"),
    [
        ("minicheck-flan-t5-large", "t5", "t5", of_one_against_a_blank),
        ("minicheck-roberta-large", "roberta", "roberta", of_one_text),
        ("minicheck-deberta-v3-large", "deberta", "deberta", of_one_text),
        ("factcg-deberta-v3-large", "deberta", "deberta", of_a_question_after_the_paragraph),
        ("granite-guardian-3.0-2b", "granite", "granite", of_every_no_against_every_yes),
        ("granite-guardian-3.1-8b", "granite", "granite", of_every_no_against_every_yes),
        ("lettucedetect-base", "modernbert", "deberta", of_the_weakest_word),
        ("lettucedetect-large", "modernbert", "deberta", of_the_weakest_word),
        ("tinylettuce-17m", "modernbert", "deberta", of_the_weakest_word),
    ],
)
def test_a_judge_says_what_its_authors_compute(name, kind, words, probability, tmp_path, pairs) -> None:
    model, tokens = saved(tmp_path, kind, words)
    compare(f"{name}:{tmp_path}", [probability(model, tokens, *pair).item() for pair in pairs], pairs)


@torch.no_grad()
def test_true_takes_the_probability_of_the_token_of_one_among_all(tmp_path, pairs) -> None:
    model, tokens = saved(tmp_path, "t5", "t5")
    model.lm_head.weight[209] *= 4  # one of 240 tokens would have next to nothing
    model.save_pretrained(tmp_path)
    expected = []
    for premise, claim in pairs:
        text = f"premise: {premise} hypothesis: {claim}"
        start = torch.tensor([[tokens.pad_token_id]])
        logits = model(input_ids=ids(tokens, text), decoder_input_ids=start).logits
        expected.append(torch.softmax(logits[0, 0], dim=0)[209].item())
    compare(f"true-t5-xxl:{tmp_path}", expected, pairs)


@torch.no_grad()
def test_hhem_classifies_the_first_token_of_a_t5_encoder(tmp_path, pairs) -> None:
    model, tokens = build("t5 tokens"), tokenizer("t5")
    stored = {f"t5.{name}": weight.clone() for name, weight in model.state_dict().items()}
    stored.pop("t5.transformer.encoder.embed_tokens.weight")  # tied to shared.weight, and not in the authors' file
    save_file(stored, tmp_path / "model.safetensors")
    T5Config(**tiny.SIZES["t5"], **T5).save_pretrained(tmp_path / "base")
    tokens.save_pretrained(tmp_path / "base")
    expected = []
    for premise, claim in pairs:
        text = "<pad> Determine if the hypothesis is true given the premise?\n\n"
        text += f"Premise: {premise}\n\nHypothesis: {claim}"
        found = ids(tokens, text)
        assert found[0, 0] == tokens.pad_token_id
        expected.append(torch.softmax(model(found).logits[:, 0, :], dim=-1)[0, 1].item())
    compare(f"hhem-2.1-open:{tmp_path}", expected, pairs)
    del stored["t5.classifier.bias"]
    save_file(stored, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"no weights for classifier\.bias"):
        load(f"hhem-2.1-open:{tmp_path}")


@torch.no_grad()
@pytest.mark.parametrize("name", ["alignscore-large", "alignscore-base"])
def test_alignscore_is_the_first_class_of_its_three_way_head(name, tmp_path, pairs) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        base, head = tiny.model(RobertaModel, 7, **ROBERTA), torch.nn.Linear(32, 3)
    tokens = tokenizer("roberta")
    stored = {f"base_model.{place}": weight.clone() for place, weight in base.state_dict().items()}
    stored |= {"tri_layer.weight": head.weight.clone(), "tri_layer.bias": head.bias.clone()}
    stored |= {"bin_layer.weight": torch.zeros(2, 32), "mlm_head.bias": torch.zeros(240)}
    stored["base_model.embeddings.position_ids"] = torch.arange(514)[None]
    save_file(stored, tmp_path / "model.safetensors")
    base.config.save_pretrained(tmp_path / "base")
    tokens.save_pretrained(tmp_path / "base")
    expected = []
    for premise, claim in pairs:
        inputs = tokens(premise, claim, return_tensors="pt")
        pooled = base(**inputs).pooler_output
        expected.append(torch.softmax(head(pooled), dim=-1)[0, 0].item())
    compare(f"{name}:{tmp_path}", expected, pairs)


def test_the_form_travels_into_the_scorer_and_options_replace_it(tmp_path) -> None:
    saved(tmp_path, "roberta", "roberta")
    scorer = Guard(scorer="scale", judge=f"minicheck-roberta-large:{tmp_path}").scorer
    assert isinstance(scorer, ScaleScorer)
    assert (scorer.chunk_tokens, scorer.metadata.threshold) == (400, 0.5)
    judge = scorer.entailment
    assert judge.metadata.english_only
    assert judge.metadata.identity == "lytang/MiniCheck-RoBERTa-Large"
    assert load(f"minicheck-roberta-large:{tmp_path}", threshold=0.8).metadata.threshold == 0.8
    fitting = " ".join(["rent"] * (judge.max_tokens - 1))
    assert np.isfinite(judge.entailment([(fitting, "rent")])).all()
    with pytest.raises(InputError, match="the model reads 512"):
        judge.entailment([(fitting + " rent" * 20, "rent")])


def test_names_and_hub_ids_are_found_and_no_other() -> None:
    assert len({judge.name for judge in JUDGES}) == len(JUDGES)
    for judge in JUDGES:
        assert find(judge.name) == (judge, judge.hub_id)
        assert find(f"{judge.name}@v1") == (judge, f"{judge.hub_id}@v1")
        assert find(f"{judge.name}:C:\\judges") == (judge, "C:\\judges")
        found = find(judge.hub_id)
        assert found is not None
        assert found[0].hub_id == judge.hub_id
        assert re.fullmatch(r"[a-z0-9.\-]+", judge.name)
        assert judge.code
        assert judge.licence
    for other in ("google/flan-t5-large", "lytang", "", ".", "/models/minicheck-flan-t5-large"):
        assert find(other) is None


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_weights_that_cannot_be_had_are_an_error_that_says_what_to_use(judge, tmp_path) -> None:
    with pytest.raises(ModelError) as error:
        load(judge.name, cache_dir=str(tmp_path), local_files_only=True)
    for part in (judge.name, judge.hub_id, f"{judge.name}:FOLDER", "built-in", judge.hint):
        assert part in str(error.value)
    with pytest.raises(ModelError, match="FOLDER"):
        load(f"{judge.name}:{tmp_path / 'nothing'}")


def test_a_chat_judge_without_its_template_and_an_unknown_word_are_errors(tmp_path) -> None:
    model, tokens = build("granite"), tokenizer("granite")
    tokens.chat_template = None
    model.save_pretrained(tmp_path)
    tokens.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="chat template"):
        load(f"granite-guardian-3.1-2b:{tmp_path}")
    with pytest.raises(ModelError, match="Known judges: minicheck-flan-t5-large"):
        load("minichek", local_files_only=True)
    with pytest.raises(ModelError, match=r"Did you mean 'minicheck-flan-t5-large'\?"):
        load("minicheck-flan-t5-lrage", local_files_only=True)
    with pytest.raises(InputError, match="no code from the hub"):
        load("hhem-2.1-open", trust_remote_code=True)
