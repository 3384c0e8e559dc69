"""The guarded streamer in the code that people have: generate in a thread, iterate in the foreground."""

import threading
import time
from threading import Thread
from typing import Any

import pytest
import torch
from tests import tiny
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from groundrail import Guard, InputError, Verdict
from groundrail.integrations.streamer import GuardedTextIteratorStreamer
from groundrail.scoring.scale import ScaleScorer
from groundrail.testing import FakeEntailment


def generated(tokenizer: PreTrainedTokenizerFast, judge: float) -> tuple[str, GuardedTextIteratorStreamer, str]:
    model: Any = tiny.model(LlamaForCausalLM, 5, vocab_size=len(tokenizer), num_hidden_layers=1)
    prompt = tokenizer("the rent is due", return_tensors="pt", add_special_tokens=False, return_token_type_ids=False)
    guard = Guard(scorer=ScaleScorer(FakeEntailment(lambda premise, claim: judge)))
    streamer = GuardedTextIteratorStreamer(tokenizer, guard, "The rent is due on the first.", "Who is it?", timeout=30)
    options = {**prompt, "max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    thread = Thread(target=model.generate, kwargs={**options, "streamer": streamer})
    thread.start()
    released = "".join(streamer)
    thread.join()
    whole = model.generate(**options)[0, prompt["input_ids"].shape[1] :]
    return released, streamer, str(tokenizer.decode(whole, skip_special_tokens=True))


def test_supported_text_comes_through_but_for_the_half_sentence_at_its_end(tiny_tokenizer) -> None:
    released, streamer, whole = generated(tiny_tokenizer, 1.0)
    assert streamer.result.text == released
    *complete, cut = streamer.result.sentences
    assert (released + cut.text).split() == whole.split()
    assert {sentence.verdict for sentence in complete} == {Verdict.SUPPORTED}
    assert cut.verdict is Verdict.ERROR
    assert "max_new_tokens" in str(cut.reason)


def test_an_answer_that_ends_by_itself_is_whole(tiny_tokenizer) -> None:
    guard = Guard(scorer=ScaleScorer(FakeEntailment(lambda premise, claim: 1.0)))
    streamer = GuardedTextIteratorStreamer(tiny_tokenizer, guard, "The rent is due.", skip_prompt=False)
    for token in [*tiny_tokenizer("the rent is due", add_special_tokens=False)["input_ids"], 1]:
        assert token != 1 or tiny_tokenizer.decode([token]) in tiny_tokenizer.all_special_tokens
        streamer.put(torch.tensor([token]))
    streamer.end()
    assert "".join(streamer).split() == ["the", "rent", "is", "due"]


def test_unsupported_text_does_not(tiny_tokenizer) -> None:
    released, streamer, whole = generated(tiny_tokenizer, 0.0)
    assert whole.strip()
    assert released == ""
    *complete, cut = streamer.result.sentences
    assert {(s.verdict, s.score) for s in complete} == {(Verdict.UNSUPPORTED, 0.0)}
    assert cut.verdict is Verdict.ERROR


def test_result_before_the_end_is_an_error(tiny_tokenizer) -> None:
    guard = Guard(scorer=ScaleScorer(FakeEntailment()))
    with pytest.raises(InputError, match="not ended"):
        _ = GuardedTextIteratorStreamer(tiny_tokenizer, guard, "text").result


def test_left_early_it_releases_nothing_more(tiny_tokenizer) -> None:
    guard = Guard(scorer=ScaleScorer(FakeEntailment(lambda premise, claim: 1.0)))
    streamer = GuardedTextIteratorStreamer(tiny_tokenizer, guard, "The rent is due.", skip_prompt=False)
    with streamer:
        for token in tiny_tokenizer("the rent is due. the rent is due", add_special_tokens=False)["input_ids"]:
            streamer.put(torch.tensor([token]))
    streamer.end()
    assert list(streamer) == []
    with pytest.raises(InputError, match="not ended"):
        _ = streamer.result


def waiting(tokenizer: PreTrainedTokenizerFast) -> tuple[GuardedTextIteratorStreamer, list[str], Thread]:
    """A streamer without a time limit, and a thread that follows it."""
    guard = Guard(scorer=ScaleScorer(FakeEntailment(lambda premise, claim: 1.0)))
    streamer = GuardedTextIteratorStreamer(tokenizer, guard, "The rent is due.", skip_prompt=False)
    released: list[str] = []
    follower = Thread(target=lambda: released.extend(streamer), daemon=True)
    follower.start()
    return streamer, released, follower


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("by_run", "words"), [(True, ""), (True, "the rent is due. the rent"), (False, "the rent is due. the rent")]
)
def test_a_generate_that_dies_ends_the_answer(tiny_tokenizer, by_run, words, monkeypatch) -> None:
    caught: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: caught.append(args.exc_value))

    def generate(streamer: Any) -> None:
        for token in tiny_tokenizer(words, add_special_tokens=False)["input_ids"]:
            streamer.put(torch.tensor([token]))
        raise ValueError("no such option")

    streamer, released, follower = waiting(tiny_tokenizer)
    run = Thread(target=streamer.run, args=(generate,)) if by_run else Thread(target=generate, args=(streamer,))
    run.start()
    run.join()
    follower.join(60)
    assert not follower.is_alive()
    if not words:  # nothing was written: the follower has the error
        assert not released
        assert "no such option" in str(caught)
        return
    assert "rent is due" in "".join(released)
    last = streamer.result.sentences[-1]
    assert last.verdict is Verdict.ERROR
    assert ("no such option" if by_run else "generate ended before its text did") in str(last.reason)


def test_closed_by_another_thread_it_stops_waiting(tiny_tokenizer) -> None:
    streamer, released, follower = waiting(tiny_tokenizer)
    for token in tiny_tokenizer("the rent is due. the rent", add_special_tokens=False)["input_ids"]:
        streamer.put(torch.tensor([token]))
    end = time.monotonic() + 60
    while not released and time.monotonic() < end:
        time.sleep(0.01)
    streamer.close()
    follower.join(60)
    assert not follower.is_alive()
    assert "rent is due" in "".join(released)
    with pytest.raises(InputError, match="not ended"):
        _ = streamer.result
