"""SCALE's speed: the authors' package and groundrail on the same random T5, the same source and claims, interleaved.

    python benchmarks/scale.py --tokens 6000 --claims 4 --repeats 3
    python benchmarks/scale.py --tokens 3000 --claims 1 --profile

Prints processor seconds (medians) and their ratio to the package's, beside what the machine would need if it
multiplied matrices and did nothing else. Weights are random, so nothing is said about quality. "groundrail" is the paper's
maximum, "decision" the guard's scorer with a threshold that the most similar chunk and its tree reach, one claim at a time. `--profile` prints
which of torch's operations take groundrail's time instead.
"""

import argparse
import contextlib
import io
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from scale_score.score import score as authors_score
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from groundrail.entailment import Seq2SeqEntailment
from groundrail.evaluation.counting import CountingEntailment
from groundrail.papers.scale.scorer import PaperScaleScorer
from groundrail.papers.scale.windows import Windows
from groundrail.scoring.scale import ScaleScorer

CHUNK = 512
CLAIM = 15
WORDS = [f"word{number}" for number in range(900)]
PROMPT = f' Question: Does this imply that "{" ".join(WORDS[:CLAIM])}"? Yes or No?'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=6000)
    parser.add_argument("--claims", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="where the time goes, and no comparison")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tokenizer, draw = word_tokenizer(), random.Random(0)
    prompt = len(tokenizer(PROMPT).input_ids)
    source = " ".join(some_words(draw, options.tokens, CHUNK - prompt))
    claims = [" ".join(draw.choices(WORDS, k=CLAIM)) for _ in range(options.claims)]
    exact, rounded = t5(len(tokenizer)), t5(len(tokenizer)).bfloat16()
    judges = {name: counting(model, tokenizer) for name, model in (("float32", exact), ("bfloat16", rounded))}
    size = CHUNK - prompt
    papers = {name: PaperScaleScorer(judge, chunk_tokens=size, search=None) for name, judge in judges.items()}
    scorers = {name: ScaleScorer(judge, chunk_tokens=size) for name, judge in judges.items()}
    results: dict[str, list[float]] = {}

    def theirs() -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            results["scale-score"] = authors_score(
                [source], [claims], chunk_size=CHUNK, device="cpu", model=exact, tokenizer=tokenizer
            )

    def ours(name: str) -> None:
        results[f"groundrail, {name}"] = [found.value for found in papers[name].score(claims, source)]

    if options.profile:
        for name in scorers:
            profiled(name, partial(ours, name))
        return
    thresholds = {name: nearest(scorer, claims, source) for name, scorer in scorers.items()}

    def decided(name: str) -> None:
        reader = scorers[name].read(source)
        for claim, threshold in zip(claims, thresholds[name], strict=True):
            reader.score([claim], threshold)

    rows: dict[str, Callable[[], None]] = {
        "scale-score": theirs,
        "groundrail, float32": lambda: ours("float32"),
        "groundrail, bfloat16": lambda: ours("bfloat16"),
        "decision, float32": lambda: decided("float32"),
        "decision, bfloat16": lambda: decided("bfloat16"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    calls = {}
    for _ in range(options.repeats):
        for name, run in rows.items():
            for judge in judges.values():
                judge.calls = judge.pairs = 0
            started = time.process_time()
            run()
            seconds[name].append(time.process_time() - started)
            calls[name] = sum(j.calls for j in judges.values()), sum(j.pairs for j in judges.values())
    chunks = len(Windows(source, judges["float32"].offsets).cut(size, 0.25))
    work = options.claims * chunks * flops(CHUNK, exact.config)
    print(
        f"torch {torch.__version__}, {options.threads} thread(s); {len(source.split())} words, {chunks} chunks of {CHUNK}"
    )
    for dtype in (torch.float32, torch.bfloat16):
        print(f"matrices alone, {dtype}: {work / matrix_speed(dtype):.2f} s for all chunks")
    base = statistics.median(seconds["scale-score"])
    print(
        "| way | processor seconds | times scale-score's speed | calls a claim | pairs a claim | largest difference |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        apart = results.get(name) and max(
            abs(a - b) for a, b in zip(results[name], results["scale-score"], strict=True)
        )
        cost = [f"{count / len(claims):.2g}" if count else "" for count in calls[name]]
        print(
            f"| {name} | {median:.2f} | {base / median:.2f} | {' | '.join(cost)} | {'' if apart is None else f'{apart:.1g}'} |"
        )


def profiled(name: str, run: Callable[[], None]) -> None:
    """Print each operation's own share of the time, and what is left for everything else."""
    run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        started = time.perf_counter()
        run()
        whole = 1e6 * (time.perf_counter() - started)
    found = sorted(profile.key_averages(), key=lambda event: event.self_cpu_time_total, reverse=True)
    print(f"\n{name}: {whole / 1e6:.2f} s\n\n| operation | calls | share |\n| --- | --- | --- |")
    for event in found[:8]:
        print(f"| {event.key} | {event.count} | {event.self_cpu_time_total / whole:.1%} |")
    rest = whole - sum(event.self_cpu_time_total for event in found)
    print(f"| other operations | | {sum(event.self_cpu_time_total for event in found[8:]) / whole:.1%} |")
    print(f"| not torch | | {rest / whole:.1%} |")


def some_words(draw: random.Random, wanted: int, size: int) -> list[str]:
    """Sentences of 20 words; as many words as end where both packages begin no further window."""
    stride = int(size * 0.75)
    words = draw.choices(WORDS, k=round(wanted / stride) * stride)
    for start in range(0, len(words), 20):
        words[start] = words[start].capitalize()
    for end in range(19, len(words), 20):
        words[end] += "."
    return words


def nearest(scorer: ScaleScorer, claims: list[str], source: str) -> list[float]:
    """The score of each claim by its first chunk and tree: a threshold that they just reach."""
    reader = scorer.read(source)
    return [reader.score([claim], 0.0)[0].value for claim in claims]


def counting(model: T5ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast) -> CountingEntailment:
    return CountingEntailment(Seq2SeqEntailment(model, tokenizer, max_length=2 * CHUNK))


def t5(words: int) -> T5ForConditionalGeneration:
    """T5-small's shape."""
    torch.manual_seed(0)
    shape: dict[str, Any] = {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8}
    shape |= {"decoder_start_token_id": 0, "tie_word_embeddings": True}
    model = T5ForConditionalGeneration(T5Config(vocab_size=max(words, 32128), **shape))
    model.eval()  # type: ignore[no-untyped-call]
    return model


def flops(length: int, config: T5Config) -> float:
    """Operations of an encoder pass: projections, feed-forward and attention."""
    inner = config.num_heads * config.d_kv
    token = 4 * config.d_model * inner + 2 * config.d_model * config.d_ff + 2 * length * inner
    return 2.0 * config.num_layers * length * token


def matrix_speed(dtype: torch.dtype) -> float:
    """Floating-point operations per second of a product as large as the model's largest."""
    left, right = torch.randn(2048, 512, dtype=dtype), torch.randn(512, 2048, dtype=dtype)
    best = min(timed(lambda: left @ right) for _ in range(6))
    return 2.0 * left.numel() * right.shape[1] / best


def timed(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def word_tokenizer() -> PreTrainedTokenizerFast:
    """One token a word, so that both packages cut the same chunks."""
    words = ["<pad>", "</s>", "<unk>", *WORDS, *map(str.capitalize, WORDS), *(f"{word}." for word in WORDS)]
    words += "Yes No Question: Does this imply that or No?".split()
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=CHUNK
    )


if __name__ == "__main__":
    main()
