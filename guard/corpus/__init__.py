"""Score a corpus of claims into rows: `score_corpus(file, folder, build)`."""

from groundrail.corpus.folder import score_corpus

__all__ = ["score_corpus"]
