"""A corpus through the engines of `groundrail score`: rows a second, memory, errors, and what larger ones would take.

    python benchmarks/corpus.py
    python benchmarks/corpus.py --scorer nearest --rows 300 --engines local --sizes 1e6 1e9

Ten claims a source of 40 sentences drawn from examples/documents, every other claim with a figure changed, one row in
500 without a claim. With the scorer `overlap` there is no model, so that the engine's own cost is seen. Each engine has
a process of its own. The second table is the first one's figures times the rows of a corpus, for one such machine; a
call of the model may take the pairs of several claims.
"""

import argparse
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shared import DOCUMENTS, alone, head, megabytes, row

from groundrail.corpus.folder import score_corpus
from groundrail.entailment.base import FloatArray, Pair
from groundrail.entailment.loading import load
from groundrail.evaluation.counting import CountingEntailment
from groundrail.scoring.base import Reader, Score, Scorer, ScorerMetadata
from groundrail.scoring.registry import load_scorer, needs_entailment, scorers
from groundrail.text.sentences import split
from groundrail.types import Source

CLAIMS, SENTENCES = 10, 40
_FIGURE = re.compile(r"\d+")


def written(path: Path, rows: int) -> None:
    """The corpus as JSON lines."""
    draw = random.Random(0)
    texts = [(DOCUMENTS / f"{name}.txt").read_text(encoding="utf-8") for name in ("lease", "manual", "meeting")]
    known = [text for document in texts for part in split(document) if (text := part.text.strip())]
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            if number % CLAIMS == 0:
                chosen = [
                    _FIGURE.sub(lambda _: str(draw.randrange(1, 1000)), text) for text in draw.sample(known, SENTENCES)
                ]
            claim = chosen[(number % CLAIMS) * SENTENCES // CLAIMS]
            if number % 2:
                claim = _FIGURE.sub("12345", claim, count=1)
            line = {"id": number, "claim": "" if number % 500 == 499 else claim, "source": " ".join(chosen)}
            file.write(json.dumps(line) + "\n")


class Noting(Scorer):
    """Scores as another; notes in a file, one a process, what its model was asked and the process's peak memory."""

    def __init__(self, name: str, notes: Path) -> None:
        self._counter = Counting() if needs_entailment(name) else None
        self.scorer = load_scorer(name, self._counter)
        self._file = notes / f"{os.getpid()}.json"

    @property
    def metadata(self) -> ScorerMetadata:
        return self.scorer.metadata

    def read(self, source: Source) -> Reader:
        return _NotingReader(self, self.scorer.read(source))

    def note(self) -> None:
        asked = (self._counter.calls, self._counter.pairs, self._counter.tokens) if self._counter else (0, 0, 0)
        self._file.write_text(json.dumps({"peak": megabytes("VmHWM"), "asked": asked}))


class _NotingReader(Reader):
    def __init__(self, scorer: Noting, reader: Reader) -> None:
        self._scorer, self._reader = scorer, reader

    def score(self, claims: Sequence[str], threshold: float | None = None) -> list[Score]:
        found = self._reader.score(claims, threshold)
        self._scorer.note()
        return found


class Counting(CountingEntailment):
    """The built-in judge, its calls, pairs and their tokens counted."""

    def __init__(self) -> None:
        super().__init__(load(None))
        self.tokens = 0

    def classify(self, pairs: Sequence[Pair]) -> FloatArray:
        self.tokens += sum(len(self.model.offsets(text)) for pair in pairs for text in pair)
        return super().classify(pairs)


def measured(options: argparse.Namespace) -> dict[str, object]:
    """One engine's run in this process."""
    folder = Path(options.folder)
    notes, out = folder / f"notes-{options.alone}", folder / f"out-{options.alone}"
    notes.mkdir()
    started = time.perf_counter()
    if options.alone == "ray":
        import ray

        ray.init(num_cpus=options.workers + 1, include_dashboard=False, log_to_driver=False)
    began = time.perf_counter()
    tally = score_corpus(
        folder / "corpus.jsonl", out, partial(Noting, options.scorer, notes), engine=options.alone, workers=options.workers
    )
    ended = time.perf_counter()
    noted = [json.loads(path.read_text()) for path in notes.glob("*.json")]
    return {
        "started": began - started,
        "seconds": ended - began,
        "verdicts": tally.verdicts,
        "peak": megabytes("VmHWM"),
        "worker": max(each["peak"] for each in noted),
        "asked": [sum(each["asked"][place] for each in noted) for place in range(3)],
        "bytes": sum(path.stat().st_size for path in out.glob("*.parquet")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--scorer", choices=scorers(), default="overlap")
    parser.add_argument("--engines", nargs="+", choices=("local", "ray"), default=["local", "ray"])
    parser.add_argument("--workers", type=int, default=1, help="actors on Ray")
    parser.add_argument("--sizes", type=float, nargs="*", default=[1e6, 1e9], help="rows of the corpora computed with")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options)))
        return
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder) / "corpus.jsonl", options.rows)
        size = (Path(folder) / "corpus.jsonl").stat().st_size
        for engine in options.engines:
            own = [engine, "--folder", folder, "--scorer", options.scorer, "--workers", str(options.workers)]
            found[engine] = alone(__file__, *own)
    print(f"{options.rows} rows, {size / 1e6:.1f} MB, scorer {options.scorer}\n")
    head(
        "engine | seconds to start | seconds | rows a second | peak of the command, MB | of a worker, MB",
        "error rows | calls a claim | pairs a claim | tokens a pair",
    )
    for engine, run in found.items():
        calls, pairs, tokens = run["asked"]
        asked = (f"{calls / options.rows:.2f}", f"{pairs / options.rows:.1f}", f"{tokens / max(pairs, 1):.0f}")
        speed = (f"{run['started']:.1f}", f"{run['seconds']:.1f}", f"{options.rows / run['seconds']:.0f}")
        row(engine, *speed, f"{run['peak']:.0f}", f"{run['worker']:.0f}", run["verdicts"].get("error", 0), *asked)
    if options.sizes:
        print()
        head("rows | engine | input, GB | verdicts, GB | calls | pairs | tokens | hours")
    for rows in options.sizes:
        for engine, run in found.items():
            times = rows / options.rows
            disk = (count * times / 1e9 for count in (size, run["bytes"]))
            cells = [
                f"{number:,.3g}"
                for number in (*disk, *(count * times for count in run["asked"]), run["seconds"] * times / 3600)
            ]
            row(f"{rows:,.0f}", engine, *cells)


if __name__ == "__main__":
    main()
