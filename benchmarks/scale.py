"""SCALE's speed: the authors' package and groundrail on the same random T5, the same source and claims, interleaved.

    python benchmarks/scale.py --tokens 6000 --claims 4 --repeats 3

Prints processor seconds (medians) and their ratio to the package's. Weights are random, so nothing is said about quality.
"groundrail" is the paper's maximum, "decision" the guard's scorer with a threshold that the most similar chunk and its tree
reach, one claim at a time.
"""

import argparse
import contextlib
import io
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from scale_score.score import score as authors_score
from shared import head, row
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
    print(f"torch {torch.__version__}, {options.threads} thread(s); {len(source.split())} words, {chunks} chunks of {CHUNK}")
    base = statistics.median(seconds["scale-score"])
    head("way | processor seconds | times scale-score's speed | calls a claim | pairs a claim | largest difference")
    for name, taken in seconds.items():
        median = statistics.median(taken)
        apart = results.get(name) and max(abs(a - b) for a, b in zip(results[name], results["scale-score"], strict=True))
        cost = [f"{count / len(claims):.2g}" if count else "" for count in calls[name]]
        row(name, f"{median:.2f}", f"{base / median:.2f}", *cost, "" if apart is None else f"{apart:.1g}")


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
