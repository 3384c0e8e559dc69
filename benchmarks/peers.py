"""Time and memory of a check beside models that a user might take instead, as the table of docs/speed.md.

    python benchmarks/peers.py
    python benchmarks/peers.py --pages 1 2 --sentences 2 --rounds 1 --layers 1

The peers have random weights in the shapes of the published models, in bfloat16, and read random tokens, as many as the text
has for the built-in judge's tokenizer; their own tokenizing is left out. They read as their programs do:

- LettuceDetect (ModernBERT) reads the whole answer beside the source, in pieces of whole pages of at most 4,096 tokens.
- HHEM-2.1 (the encoder of T5 base) reads each sentence beside the whole source, however long. Its program puts all pairs into
  one batch; here they go one by one, which takes less memory.
- MiniCheck (Flan-T5 large) reads each sentence beside each chunk of 500 words, up to 16 at a time.
- FactCG (DeBERTa-v3 large) reads each sentence beside each chunk of 550 words, up to 32 at a time.

Each runs in a process of its own, and they take turns. A page has 300 words. The sentence is one that the source does not
support, which takes groundrail longest, and so is every other one of the answer. Seconds are medians of the rounds; a case in
which a turn takes over a minute has one round. Memory is the most that the process ever held.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from busy import READY, answered, process
from memory import claims, source
from shared import head, megabytes, row

PAGE = 300
"""Words of a page."""

LONG = 60.0
"""Seconds of a turn after which a case is not run again."""

INSTRUCTION = 60
"""Tokens of a peer's own words around source and answer."""

OURS = "groundrail"

Case = tuple[int, int]
"""Pages of the source, sentences of the answer."""

Asked = tuple[Case, list[int], list[int]]
"""A case, the tokens of each page, the tokens of each sentence."""


def texts(case: Case) -> tuple[list[str], list[str]]:
    """The pages of the source and the sentences of the answer; the first and every other one have a false figure."""
    pages, count = case
    sentences = source(pages * PAGE * 8)
    words = " ".join(sentences).split()[: pages * PAGE]
    answer = claims(sentences[: len(sentences) // 2], count, some_false=False)
    wrong = [re.sub(r"\d+", "12345", each, count=1) if number % 2 == 0 else each for number, each in enumerate(answer)]
    return [" ".join(words[start : start + PAGE]) for start in range(0, len(words), PAGE)], wrong


def asked_of(case: Case) -> Asked:
    """A case with the tokens of its pages and of its sentences."""
    from groundrail.entailment import load

    judge = load(None)
    pages, sentences = ([len(judge.offsets(text)) for text in each] for each in texts(case))
    return case, pages, sentences


def reader_of_ours() -> Callable[[Asked], None]:
    from groundrail import Guard

    guard = Guard()
    known: dict[Case, tuple[str, str]] = {}

    def read(asked: Asked) -> None:
        case = (asked[0][0], asked[0][1])
        if case not in known:
            pages, answer = texts(case)
            known[case] = (" ".join(answer), "\n\n".join(pages))
        guard.check(*known[case])

    return read


def models(layers: int | None) -> dict[str, Callable[[], Any]]:
    """How each peer's model is built; `layers` keeps that many of its layers."""
    import transformers as hf

    def built(model: Any, config: Any) -> Any:
        return model._from_config(config, dtype="bfloat16").eval()

    def modern(**size: int) -> Any:
        settings: dict[str, Any] = {"num_labels": 2, **size, "num_hidden_layers": layers or size["num_hidden_layers"]}
        return built(hf.ModernBertForTokenClassification, hf.ModernBertConfig(**settings))

    def t5(model: Any, **size: Any) -> Any:
        size |= {"num_layers": layers or size["num_layers"], "num_labels": 2, "tie_word_embeddings": False}
        return built(model, hf.T5Config(feed_forward_proj="gated-gelu", **size))

    deberta: dict[str, Any] = {"num_labels": 2, "vocab_size": 128100, "hidden_size": 1024, "intermediate_size": 4096}
    deberta |= {"num_hidden_layers": layers or 24, "num_attention_heads": 16, "type_vocab_size": 0}
    deberta |= {"relative_attention": True, "position_buckets": 256, "position_biased_input": False}
    deberta |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
    return {
        "LettuceDetect base": lambda: modern(
            hidden_size=768, num_hidden_layers=22, num_attention_heads=12, intermediate_size=1152
        ),
        "LettuceDetect large": lambda: modern(
            hidden_size=1024, num_hidden_layers=28, num_attention_heads=16, intermediate_size=2624
        ),
        "HHEM-2.1": lambda: t5(hf.T5ForTokenClassification, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12),
        "MiniCheck Flan-T5 large": lambda: t5(
            hf.T5ForConditionalGeneration, d_model=1024, d_kv=64, d_ff=2816, num_layers=24, num_heads=16
        ),
        "FactCG DeBERTa-v3 large": lambda: built(hf.DebertaV2ForSequenceClassification, hf.DebertaV2Config(**deberta)),
    }


def plan(name: str, pages: Sequence[int], sentences: Sequence[int]) -> list[tuple[int, int]]:
    """The model calls of a peer, each as (sequences, tokens of the longest), from the tokens of pages and of sentences."""
    whole = sum(pages)
    if name.startswith("LettuceDetect"):
        room, lengths = 4096 - INSTRUCTION - sum(sentences), [0]
        for tokens in pages:
            if lengths[-1] and lengths[-1] + tokens > room:
                lengths.append(0)
            lengths[-1] += tokens
        return [(1, length + 4096 - room) for length in lengths]
    if name.startswith("HHEM"):
        return [(1, INSTRUCTION + whole + tokens) for tokens in sentences]
    words, most = (500, 16) if name.startswith("MiniCheck") else (550, 32)
    chunks = -(-len(pages) * PAGE // words)
    pairs = [INSTRUCTION + -(-whole // chunks) + tokens for tokens in sentences for _ in range(chunks)]
    if name.startswith("MiniCheck"):  # each sentence is a batch of its own
        groups = [pairs[start : start + chunks] for start in range(0, len(pairs), chunks)]
    else:
        groups = [pairs]
    batches = [group[start : start + most] for group in groups for start in range(0, len(group), most)]
    return [(len(batch), max(batch)) for batch in batches]


def reader_of_peer(name: str, layers: int | None) -> Callable[[Asked], None]:
    import torch

    model = models(layers)[name]()

    def read(asked: Asked) -> None:
        _, pages, sentences = asked
        for sequences, tokens in plan(name, pages, sentences):
            given: dict[str, Any] = {"input_ids": torch.randint(10, 30_000, (sequences, tokens))}
            if name.startswith("MiniCheck"):
                given["decoder_input_ids"] = torch.zeros(sequences, 1, dtype=torch.long)
            with torch.inference_mode():
                model(**given)

    return read


def work(name: str, layers: int | None) -> None:
    """In a process of its own: for each line with an `Asked` its seconds, for an empty one the megabytes, on a line."""
    read = reader_of_ours() if name == OURS else reader_of_peer(name, layers)
    print(READY, flush=True)
    for line in sys.stdin:
        if not line.strip():
            print(megabytes("VmHWM"), flush=True)
            continue
        asked = json.loads(line)
        started = time.perf_counter()
        read(asked)
        print(time.perf_counter() - started, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, nargs="+", default=[3, 20])
    parser.add_argument("--sentences", type=int, default=10, help="sentences of the longer answer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="the names of the programs that run")
    parser.add_argument("--layers", type=int, help="keep so many layers of each peer: to try this script, not to measure")
    options = parser.parse_args()
    names = options.only or [OURS, *models(None)]
    cases: list[Case] = [(pages, count) for pages in options.pages for count in (1, options.sentences)]
    asked = {case: json.dumps(asked_of(case)) for case in cases}
    seconds: dict[tuple[str, Case], list[float]] = {(name, case): [] for case in cases for name in names}
    with ExitStack() as running:
        workers = {}
        for name in names:
            code = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom peers import work\n"
            worker = running.enter_context(process(sys.executable, "-c", f"{code}work({name!r}, {options.layers})"))
            workers[name] = worker
            if answered(worker) != READY:
                raise SystemExit(f"{name} did not start")
            answered(worker, asked[cases[0]])  # a first turn, which does not count
        for _ in range(options.rounds):
            for (name, case), found in seconds.items():
                if not found or max(found) < LONG:
                    found.append(float(answered(workers[name], asked[case])))
                    print(f"  {name}, {case[0]} pages, {case[1]} sentences: {found[-1]:.2f} s", file=sys.stderr, flush=True)
        memory = {name: float(answered(worker, "")) for name, worker in workers.items()}
    told = [f"{'a sentence' if count == 1 else f'an answer of {count}'}, {pages} pages, s" for pages, count in cases]
    head("program", *told, "memory, MB")
    for name in names:
        row(name, *(f"{median(seconds[name, case]):.2f}" for case in cases), f"{memory[name]:,.0f}")


if __name__ == "__main__":
    main()
