"""The command `score`: a corpus of claims, on this machine or on Ray."""

from pathlib import Path

from groundrail.cli.scorers import ScorerChoice
from groundrail.cli.screen import progress
from groundrail.corpus.folder import Engine, score_corpus
from groundrail.report.hidden import plain

_REASONS = 5
"""Number of reasons of errors that are printed, the most frequent first."""


def score(
    input: Path,
    /,
    *,
    out: Path,
    engine: Engine = "local",
    workers: int = 1,
    gpus: float = 0.0,
    scoring: ScorerChoice = ScorerChoice(),
    threshold: float | None = None,
) -> int:
    """Score a corpus of claims, on this machine or on Ray.

    Args:
        input: JSON lines or Parquet with id, claim and source
        out: folder of Parquet files; run again to continue
        workers: actors on Ray, each with a model
        gpus: accelerators of each actor, whole or a fraction
        threshold: score from which a claim is supported (the judge's own)
    """
    with progress("scoring") as report:
        tally = score_corpus(
            input,
            out,
            scoring.load,
            engine=engine,
            threshold=threshold,
            workers=workers,
            gpus=gpus,
            progress=report,
        )
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.verdicts.items())) or "none"
    again = f" ({tally.retried} that were errors before were tried again)" if tally.retried else ""
    print(f"{tally.verdicts.total()} rows in {out}: {counts}{again}")
    for reason, rows in tally.errors.most_common(_REASONS):
        print(f"{rows} error{'s' if rows > 1 else ''}: {plain(reason)}")
    return 0 if set(tally.verdicts) <= {"supported", "no_claim"} else 1
