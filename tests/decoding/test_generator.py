"""Sentence sessions: the text never changes behind an accepted character, and caches equal fresh runs."""

import gc
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny
from tests.decoding.conftest import named, steered
from tests.guard.parts import Scoring
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Cache,
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
from groundrail.decoding.session import HFSession
from groundrail.decoding.steering import CAD, PMI, AdaCAD
from groundrail.generators import Generator, Session
from groundrail.scoring.base import Score
from groundrail.text.sentences import split

Build: TypeAlias = Callable[..., HFGenerator]

TEXT = "The lease ends in May. The rent is due. Who pays? Café Zoë – 12 €. Übergabe! It ends. The end. "
DOCUMENTS = [Document(text="The lease ends in May. The rent is 12 €.")]
COMMON = settings(max_examples=30)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE, as in most chat models: spaces lead their words, a character can take several tokens."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        [TEXT * 3], trainers.BpeTrainer(vocab_size=330, special_tokens=["<eos>"], initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<eos>")


def built(kind: type[Any], seed: int, tokenizer: PreTrainedTokenizerFast, **options: Any) -> Any:
    own = {"max_position_embeddings": 512, "bos_token_id": None, "eos_token_id": 0, "initializer_range": 0.6}
    return tiny.model(kind, seed, vocab_size=len(tokenizer), **own, **options).requires_grad_(False)


@pytest.fixture(scope="module")
def model(tokenizer) -> PreTrainedModel:
    return built(LlamaForCausalLM, 3, tokenizer)


@pytest.fixture(scope="module")
def sliding(tokenizer) -> PreTrainedModel:
    """Its cache forgets what the attention no longer reaches."""
    return built(MistralForCausalLM, 4, tokenizer, num_key_value_heads=2, sliding_window=5)


def generator(model: Any, tokenizer: Any, writer: Any = None, sampling: Any = (), **options: Any) -> HFGenerator:
    settings = Sampling(**{"max_new_tokens": 24, **dict(sampling)})
    return HFGenerator(model if writer is None else writer, tokenizer, sampling=settings, **options)


@pytest.fixture(scope="module")
def build(model, tokenizer) -> Build:
    """A generator of at most 24 tokens by these options."""
    return partial(generator, model, tokenizer)


def caches() -> int:
    """How many caches of keys and values are in memory."""
    gc.collect()
    return sum(isinstance(thing, Cache) for thing in gc.get_objects())


def started(generator: HFGenerator) -> HFSession:
    return generator.start("When?", DOCUMENTS)


def all_of(session: HFSession) -> str:
    return "".join(session.propose())


def test_greedy_text_is_that_of_generate(model, tokenizer, build: Build) -> None:
    text = all_of(started(build()))
    ids = torch.tensor([build().encode("When?", DOCUMENTS[0].text)])
    options = {"max_new_tokens": 24, "do_sample": False, "pad_token_id": 0}
    whole = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
    assert text == tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)
    assert text


def in_full(subject: HFGenerator, written: list[int]) -> list[torch.Tensor]:
    """log P after the prompt with its source and after the one without, no cache."""
    estimator = subject.model if subject.ungrounded_model is None else subject.ungrounded_model
    found = []
    for model, source in ((subject.model, DOCUMENTS[0].text), (estimator, "")):
        ids = torch.tensor([subject.encode("When?", source) + written])
        found.append(torch.log_softmax(model(ids, use_cache=False).logits[0, -1].float(), -1))
    return found


@pytest.mark.parametrize("steering", [PMI(0.7), CAD(0.7), AdaCAD()], ids=named)
@pytest.mark.parametrize("kind", ["one pass", "a cache that forgets", "another model"])
def test_steered_greedy_text_is_that_of_both_prompts_run_in_full(kind, steering, sliding, tokenizer, build) -> None:
    key = {"one pass": "", "a cache that forgets": "writer", "another model": "ungrounded_model"}[kind]
    subject = build(steering=steering, **({key: sliding} if key else {}))
    session = started(subject)
    text = all_of(session)
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
    while str(tokenizer.decode(written)).endswith("\ufffd"):  # tokens of a character that was cut off do not count
        written.pop()
    assert session.gains == [pytest.approx(sum(gains[: len(written)]) / len(written), abs=1e-4)]


def test_steering_costs_one_forward_pass_a_token(model, build: Build) -> None:
    session, rows = started(build(steering=PMI(0.7))), list[int]()
    hook = model.register_forward_pre_hook(lambda _, __, given: rows.append(len(given["input_ids"])), with_kwargs=True)
    session.reject(len(all_of(session)))
    all_of(session)
    hook.remove()
    assert rows[:2] == [1, 1]  # the two prompts
    assert set(rows[2:]) == {2}
    assert len(rows) - 2 <= session.stats["tokens_generated"]


@pytest.mark.parametrize("steering", [None, PMI(0.5)])
@pytest.mark.parametrize("forgets", [False, True])
def test_from_any_accepted_token_the_answer_goes_on_as_it_was(build: Build, sliding, steering, forgets) -> None:
    subject = build(writer=sliding if forgets else None, steering=steering)
    pieces = list(started(subject).propose())
    for number in range(len(pieces)):
        session = started(subject)
        all_of(session)
        session.accept(len("".join(pieces[:number])))
        assert all_of(session) == "".join(pieces[number:])


@pytest.mark.parametrize("steering", [None, PMI(0.5)])
def test_a_closed_session_holds_no_cache_and_can_still_write(build: Build, steering) -> None:
    session, twin = (started(build(steering=steering)) for _ in range(2))
    for each in (session, twin):
        text = all_of(each)
        each.accept(len(text) // 2)
        each.reject(len(text) - len(text) // 2)
    fed, before = session.stats["tokens_fed"], caches()
    session.close()
    session.close()
    assert caches() < before
    assert session.stats["tokens_fed"] == fed
    assert all_of(session) == all_of(twin)


def test_a_session_says_what_a_session_may_say(build: Build) -> None:
    subject = build(sampling={"max_new_tokens": 3})
    session = started(subject)
    assert isinstance(subject, Generator)
    assert isinstance(session, Session)
    assert session.can_retry is True
    assert session.cut_off == ""
    assert session.stats == {"tokens_generated": 0, "tokens_kept": 0, "tokens_fed": 0}
    all_of(session)
    assert "max_new_tokens=3" in session.cut_off


@pytest.mark.slow
@COMMON
@given(data=st.data(), temperature=st.sampled_from([0.0, 1.3]), steering=st.sampled_from([None, PMI(0.5), AdaCAD()]))
def test_accepted_text_never_changes_by_a_character(build: Build, tokenizer, data, temperature, steering) -> None:
    sampling = {"temperature": temperature, "seed": data.draw(st.integers(0, 99))}
    session = started(build(steering=steering, sampling=sampling))
    accepted = ""
    for _ in range(3):
        proposed = all_of(session)
        if not proposed:
            break
        keep = data.draw(st.integers(0, len(proposed) - 1))
        session.accept(keep)
        accepted += proposed[:keep]
        session.reject(len(proposed) - keep)
        assert session._text == accepted
    all_of(session)
    assert session._text.startswith(accepted)
    decoded = str(tokenizer.decode([token.id for token in session._tokens]))
    assert "\ufffd" in decoded or decoded.startswith(accepted) or accepted.startswith(decoded)


def test_a_retry_feeds_only_its_own_tokens(build: Build) -> None:
    session = started(build())
    first, fed = all_of(session), session.stats["tokens_fed"]
    session.reject(len(first))
    second = all_of(session)
    assert session.stats["tokens_fed"] - fed <= 24 + 1 < len(build().encode("When?", DOCUMENTS[0].text))
    assert second != first


@pytest.mark.parametrize("steering", [None, PMI(0.5), PMI(0.5, method="interpolation"), AdaCAD()])
def test_refused_sentences_do_not_come_back(build: Build, steering) -> None:
    session, seen = started(build(steering=steering)), list[str]()
    for _ in range(5):
        seen.append(all_of(session))
        session.reject(len(seen[-1]))
    assert len(set(seen)) == len(seen)


def test_refused_words_do_not_come_back_in_other_tokens(build: Build, tokenizer) -> None:
    wanted = "The lease ends in May."

    class Stubborn(LogitsProcessor):
        """Whatever tokens spell the wanted sentence, and then the end."""

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            missing = wanted.removeprefix(str(tokenizer.decode(input_ids[0].long())))
            if not missing:
                scores[0, 0] += 1e4
            fits = [bool(text) and missing.startswith(text) for text in build().vocabulary()]
            return scores + 1e3 * torch.tensor(fits)

    session = started(build(logits_processor=LogitsProcessorList([Stubborn()])))
    first = all_of(session)
    assert first == wanted
    for _ in range(6):
        session.reject(len(first))
        first = split(all_of(session))[0].text
        assert first.strip().rstrip(".!?") != wanted.rstrip(".")


def test_a_dropped_sentence_can_be_followed(build: Build) -> None:
    session = started(build())
    pieces = session.propose()
    first = next(pieces)
    session.accept(len(first))
    assert first + "".join(pieces) == all_of(started(build()))


def test_the_same_seed_writes_the_same(build: Build) -> None:
    drawn = {"temperature": 1.0, "top_p": 0.9, "top_k": 40}
    texts = [all_of(started(build(sampling={**drawn, "seed": seed}))) for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


def test_braces_in_a_source_are_only_text(build: Build, tokenizer) -> None:
    encoded = build().encode("{source} {0}?", "{prompt} {x}")
    assert tokenizer.decode(encoded) == INSTRUCTION.split("{source}")[0] + "{prompt} {x}\n\nQuestion: {source} {0}?"


def test_a_source_that_does_not_fit_names_both_numbers(build: Build) -> None:
    with pytest.raises(SourceTooLongError, match=r"\d{3,}.*512"):
        build().start("When?", [Document(text="The lease ends in May. " * 100)])


def test_bad_options_say_so(model, tokenizer) -> None:
    smaller = tiny.model(LlamaForCausalLM, vocab_size=20)
    t5 = tiny.model(T5ForConditionalGeneration, vocab_size=300)
    wrong: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
        (InputError, "source", model, {"instruction": "Answer {prompt}"}),
        (InputError, "steering=PMI", model, {"ungrounded_model": model}),
        (ModelError, rf"20 tokens, .* {len(tokenizer)}:", model, {"steering": PMI(0.5), "ungrounded_model": smaller}),
        (ModelError, "decoder-only", t5, {}),
    ]
    for error, told, writer, options in wrong:
        with pytest.raises(error, match=told):
            HFGenerator(writer, tokenizer, **options)
    for name, value in {"top_p": 0, "temperature": math.nan, "retry_alpha": -1.0, "repetition_penalty": 0.0}.items():
        option: Any = {name: value}
        with pytest.raises(ValueError, match=name):
            Sampling(**option)


def coin(salt: int) -> Scoring:
    """Supports a claim or not by a sum over its characters, and takes its time."""

    def judge(claims: Sequence[str]) -> list[Score]:
        time.sleep(0.01)
        return [Score(float((sum(map(ord, claim)) + salt) % 3 > 0)) for claim in claims]

    return Scoring(judge)


@pytest.mark.parametrize("salt", range(3))
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_writing_on_while_judged_changes_no_answer(build: Build, salt: int, temperature: float) -> None:
    sampling = {"max_new_tokens": 60, "temperature": temperature, "repetition_penalty": 1.3}
    options: Any = {"scorer": coin(salt), "policy": Policy(longest_sentence=100), "claim_of": lambda s, b, p: s}
    found = []
    for ahead in (False, True):
        result = Guard(build(sampling=sampling, writes_ahead=ahead), **options).generate("Until when?", DOCUMENTS)
        found.append([(s.text, s.verdict, [a.text for a in s.attempts]) for s in result.sentences])
    assert found[0] == found[1]


def test_who_writes_ahead(build: Build) -> None:
    assert not started(build()).writes_ahead  # on the processor, beside the judge
    assert not started(build(writes_ahead=True, sampling={"temperature": 0.8})).writes_ahead
    greedy = started(build(writes_ahead=True))
    assert greedy.writes_ahead
    first = next(iter(greedy.propose()))
    greedy.reject(len(first))
    assert not greedy.writes_ahead  # what is drawn now is steered by the refusal
    again = next(iter(greedy.propose()))
    greedy.accept(len(again))
    assert greedy.writes_ahead
