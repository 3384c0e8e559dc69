"""Sentence sessions: the text never changes behind an accepted character, and caches equal fresh runs."""

import gc
import math
import time
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny
from tests.decoding.conftest import named, steered
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    MistralForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5ForConditionalGeneration,
)

from groundrail import Document, Guard, InputError, ModelError, Policy, SourceTooLongError
from groundrail.decoding.generator import INSTRUCTION, HFGenerator, Sampling
from groundrail.decoding.joint import PMIDecoding
from groundrail.decoding.pmi import PMILogitsProcessor
from groundrail.decoding.prompt_cache import PromptCache
from groundrail.decoding.session import HFSession
from groundrail.decoding.steering import CAD, PMI, AdaCAD, Steering
from groundrail.generators import Generator, Session
from groundrail.scoring.base import Prepared, Reader, Score, Scorer
from groundrail.text.sentences import split
from groundrail.types import Source

TEXT = "The lease ends in May. The rent is due. Who pays? Café Zoë – 12 €. Übergabe! It ends. The end. "
DOCUMENTS = [Document(text="The lease ends in May. The rent is 12 €.")]
COMMON = settings(max_examples=30)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, as in most chat models: spaces lead their words, a character can take several tokens."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=["<eos>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    bpe.train_from_iterator([TEXT * 3], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<eos>")


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    return tiny.model(LlamaForCausalLM, 3, **shape(tokenizer)).requires_grad_(False)


def shape(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    own = {"max_position_embeddings": 512, "bos_token_id": None, "eos_token_id": 0, "initializer_range": 0.6}
    return {"vocab_size": len(tokenizer), **own}


def generator(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, **options: Any) -> HFGenerator:
    sampling = Sampling(**{"max_new_tokens": 24, **options.pop("sampling", {})})
    return HFGenerator(model, tokenizer, sampling=sampling, **options)


def test_greedy_text_is_that_of_generate(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    subject = generator(model, tokenizer)
    text = "".join(subject.start("When?", DOCUMENTS).propose())
    ids = torch.tensor([subject.encode("When?", DOCUMENTS[0].text)])
    mask = torch.ones_like(ids)
    whole = model.generate(ids, attention_mask=mask, max_new_tokens=24, do_sample=False, pad_token_id=0)  # type: ignore[misc]
    assert text == tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)
    assert text


def sliding(tokenizer: PreTrainedTokenizerFast) -> MistralForCausalLM:
    """Its cache forgets what the attention no longer reaches."""
    model = tiny.model(MistralForCausalLM, 4, num_key_value_heads=2, sliding_window=5, **shape(tokenizer))
    return model.requires_grad_(False)


def in_full(subject: HFGenerator, written: list[int]) -> list[torch.Tensor]:
    """log P after the prompt with its source and after the one without, no cache."""
    estimator = subject.model if subject.ungrounded_model is None else subject.ungrounded_model
    prompts = (subject.model, DOCUMENTS[0].text), (estimator, "")
    return [
        torch.log_softmax(
            model(torch.tensor([subject.encode("When?", source) + written]), use_cache=False).logits[0, -1].float(), -1
        )
        for model, source in prompts
    ]


@pytest.mark.parametrize("steering", [PMI(0.7), CAD(0.7), AdaCAD()], ids=named)
@pytest.mark.parametrize("kind", ["one pass", "a cache that forgets", "another model"])
def test_steered_greedy_text_is_that_of_both_prompts_run_in_full(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, kind: str, steering: Steering
) -> None:
    writer = sliding(tokenizer) if kind == "a cache that forgets" else model
    options = {"ungrounded_model": sliding(tokenizer)} if kind == "another model" else {}
    subject = generator(writer, tokenizer, steering=steering, **options)
    session = subject.start("When?", DOCUMENTS)
    text = "".join(session.propose())
    written: list[int] = []
    gains = []
    for _ in range(24):
        log_p = in_full(subject, written)
        token = int(steered(log_p[0], log_p[1], steering).argmax())
        if token == 0:
            break
        gains.append(float(log_p[0][token] - log_p[1][token]))
        written.append(token)
    assert text == tokenizer.decode(written)
    session.accept(len(text))
    whole = len(written)
    while str(tokenizer.decode(written[:whole])).endswith(
        "\ufffd"
    ):  # tokens of a character that was cut off do not count
        whole -= 1
    assert session.gains == [pytest.approx(sum(gains[:whole]) / whole, abs=1e-4)]


def test_steering_costs_one_forward_pass_a_token(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    session = generator(model, tokenizer, steering=PMI(0.7)).start("When?", DOCUMENTS)
    rows: list[int] = []
    hook = model.register_forward_pre_hook(lambda _, __, given: rows.append(len(given["input_ids"])), with_kwargs=True)
    text = "".join(session.propose())
    session.reject(len(text))
    "".join(session.propose())
    hook.remove()
    tokens = session.stats["tokens_generated"]
    assert rows[:2] == [1, 1]  # the two prompts
    assert set(rows[2:]) == {2}
    assert len(rows) - 2 <= tokens


@COMMON
@given(data=st.data(), forgets=st.booleans())
def test_after_any_rewinds_both_distributions_equal_a_fresh_run(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, data: st.DataObject, forgets: bool
) -> None:
    subject = generator(sliding(tokenizer) if forgets else model, tokenizer, steering=PMI(0.5))
    session = subject.start("When?", DOCUMENTS)
    for _ in range(3):
        proposed = "".join(session.propose())
        keep = data.draw(st.integers(0, len(proposed)))
        session.accept(keep)
        session.reject(len(proposed) - keep)
        ids = [token.id for token in session._tokens]
        for found, fresh in zip(session._log_probs(ids), in_full(subject, ids), strict=True):
            torch.testing.assert_close(found, fresh, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("steering", [None, PMI(0.5)])
def test_a_closed_session_holds_no_cache_and_can_still_write(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, steering: Steering | None
) -> None:
    session, twin = (generator(model, tokenizer, steering=steering).start("When?", DOCUMENTS) for _ in range(2))
    for each in (session, twin):
        text = "".join(each.propose())
        each.accept(len(text) // 2)
        each.reject(len(text) - len(text) // 2)
    held = [weakref.ref(cache._cache) for cache in session._caches]
    fed = session.stats["tokens_fed"]
    session.close()
    session.close()
    gc.collect()
    assert [ref() for ref in held] == [None]
    assert session.stats["tokens_fed"] == fed
    assert "".join(session.propose()) == "".join(twin.propose())


def test_a_session_says_what_a_session_may_say(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    subject = generator(model, tokenizer, sampling={"max_new_tokens": 3})
    session = subject.start("When?", DOCUMENTS)
    assert isinstance(subject, Generator)
    assert isinstance(session, Session)
    assert session.can_retry is True
    assert session.cut_off == ""
    assert session.stats == {"tokens_generated": 0, "tokens_kept": 0, "tokens_fed": 0}
    "".join(session.propose())
    assert "max_new_tokens=3" in session.cut_off


@pytest.mark.parametrize("kind", [HFGenerator, HFSession, Sampling, PMI, PromptCache, PMIDecoding, PMILogitsProcessor])
def test_every_public_method_says_what_it_does(kind: type) -> None:
    for name, member in vars(kind).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod)):
            assert member.__doc__, f"{kind.__name__}.{name}"


@COMMON
@given(data=st.data(), temperature=st.sampled_from([0.0, 1.3]), steering=st.sampled_from([None, PMI(0.5), AdaCAD()]))
def test_accepted_text_never_changes_by_a_character(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    data: st.DataObject,
    temperature: float,
    steering: Steering | None,
) -> None:
    subject = generator(
        model,
        tokenizer,
        steering=steering,
        sampling={"temperature": temperature, "seed": data.draw(st.integers(0, 99))},
    )
    session = subject.start("When?", DOCUMENTS)
    accepted = ""
    for _ in range(3):
        proposed = "".join(session.propose())
        if not proposed:
            break
        keep = data.draw(st.integers(0, len(proposed) - 1))
        session.accept(keep)
        accepted += proposed[:keep]
        session.reject(len(proposed) - keep)
        assert session._text == accepted
    assert (accepted + "".join(session.propose())).startswith(accepted)
    assert session._text.startswith(accepted)
    decoded = str(tokenizer.decode([token.id for token in session._tokens]))
    assert "\ufffd" in decoded or decoded.startswith(accepted) or accepted.startswith(decoded)


def test_a_retry_feeds_only_its_own_tokens(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    subject = generator(model, tokenizer)
    session = subject.start("When?", DOCUMENTS * 1)
    first = "".join(session.propose())
    fed = session.stats["tokens_fed"]
    session.reject(len(first))
    second = "".join(session.propose())
    assert session.stats["tokens_fed"] - fed <= 24 + 1 < len(subject.encode("When?", DOCUMENTS[0].text))
    assert second != first


@pytest.mark.parametrize("steering", [None, PMI(0.5), PMI(0.5, method="interpolation"), AdaCAD()])
def test_refused_sentences_do_not_come_back(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, steering: Steering | None
) -> None:
    session = generator(model, tokenizer, steering=steering).start("When?", DOCUMENTS)
    seen = []
    for _ in range(5):
        text = "".join(session.propose())
        session.reject(len(text))
        seen.append(text)
    assert len(set(seen)) == len(seen)


def test_refused_words_do_not_come_back_in_other_tokens(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    wanted = "The lease ends in May."

    class Stubborn(LogitsProcessor):
        """Whatever tokens spell the wanted sentence, and then the end."""

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            missing = wanted.removeprefix(str(tokenizer.decode(input_ids[0].long())))
            if not missing:
                scores[0, 0] += 1e4
            fits = [bool(text) and missing.startswith(text) for text in subject.vocabulary()]
            return scores + 1e3 * torch.tensor(fits)

    subject = generator(model, tokenizer, logits_processor=LogitsProcessorList([Stubborn()]))
    session = subject.start("When?", DOCUMENTS)
    first = "".join(session.propose())
    assert first == wanted
    for _ in range(6):
        session.reject(len(first))
        text = "".join(session.propose())
        sentence = split(text)[0]
        assert sentence.text.strip().rstrip(".!?") != wanted.rstrip(".")
        first = sentence.text


def test_a_dropped_sentence_can_be_followed(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    session = generator(model, tokenizer).start("When?", DOCUMENTS)
    pieces = session.propose()
    first = next(pieces)
    session.accept(len(first))
    rest = "".join(pieces)
    again = "".join(generator(model, tokenizer).start("When?", DOCUMENTS).propose())
    assert first + rest == again


def test_the_same_seed_writes_the_same(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    texts = [
        "".join(
            generator(model, tokenizer, sampling={"temperature": 1.0, "top_p": 0.9, "top_k": 40, "seed": seed})
            .start("When?", DOCUMENTS)
            .propose()
        )
        for seed in (5, 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_braces_in_a_source_are_only_text(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    subject = generator(model, tokenizer)
    encoded = subject.encode("{source} {0}?", "{prompt} {x}")
    assert tokenizer.decode(encoded) == INSTRUCTION.split("{source}")[0] + "{prompt} {x}\n\nQuestion: {source} {0}?"


def test_a_source_that_does_not_fit_names_both_numbers(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    with pytest.raises(SourceTooLongError, match=r"\d{3,}.*512"):
        generator(model, tokenizer).start("When?", [Document(text="The lease ends in May. " * 100)])


def test_bad_options_say_so(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(InputError, match="source"):
        HFGenerator(model, tokenizer, instruction="Answer {prompt}")
    with pytest.raises(ValueError, match="top_p"):
        Sampling(top_p=0)
    wrong: list[dict[str, Any]] = [{"temperature": math.nan}, {"retry_alpha": -1.0}, {"repetition_penalty": 0.0}]
    for options in wrong:
        with pytest.raises(ValueError, match=next(iter(options))):
            Sampling(**options)
    with pytest.raises(InputError, match="steering=PMI"):
        HFGenerator(model, tokenizer, ungrounded_model=model)
    smaller = tiny.model(LlamaForCausalLM, vocab_size=20)
    with pytest.raises(ModelError, match=rf"20 tokens, .* {len(tokenizer)}:"):
        HFGenerator(model, tokenizer, steering=PMI(0.5), ungrounded_model=smaller)
    t5 = tiny.model(T5ForConditionalGeneration, vocab_size=300)
    with pytest.raises(ModelError, match="decoder-only"):
        HFGenerator(t5, tokenizer)


class _Coin(Scorer):
    """Supports a claim or not by a sum over its characters, and takes its time."""

    def __init__(self, salt: int) -> None:
        self._salt = salt

    def read(self, source: Source) -> Reader:
        return Prepared(self._judge, source)

    def _judge(self, claims: Sequence[str], source: Source) -> list[Score]:
        time.sleep(0.01)
        return [Score(float((sum(map(ord, claim)) + self._salt) % 3 > 0)) for claim in claims]


@pytest.mark.parametrize("salt", range(3))
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_writing_on_while_judged_changes_no_answer(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, salt: int, temperature: float
) -> None:
    found = []
    for writes_ahead in (False, True):
        generator = HFGenerator(
            model,
            tokenizer,
            sampling=Sampling(max_new_tokens=60, temperature=temperature, repetition_penalty=1.3),
            writes_ahead=writes_ahead,
        )
        subject = Guard(generator, scorer=_Coin(salt), policy=Policy(longest_sentence=100), claim_of=lambda s, b, p: s)
        result = subject.generate("Until when?", DOCUMENTS)
        found.append([(s.text, s.verdict, [a.text for a in s.attempts]) for s in result.sentences])
    assert found[0] == found[1]


def test_who_writes_ahead(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    def session(writes_ahead: bool | None, temperature: float = 0.0) -> HFSession:
        sampling = Sampling(temperature=temperature)
        return HFGenerator(model, tokenizer, sampling=sampling, writes_ahead=writes_ahead).start("?", DOCUMENTS)

    assert not session(None).writes_ahead  # on the processor, beside the judge
    assert not session(True, 0.8).writes_ahead
    greedy = session(True)
    assert greedy.writes_ahead
    first = next(iter(greedy.propose()))
    greedy.reject(len(first))
    assert not greedy.writes_ahead  # what is drawn now is steered by the refusal
    again = next(iter(greedy.propose()))
    greedy.accept(len(again))
    assert greedy.writes_ahead
