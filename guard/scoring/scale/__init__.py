"""SCALE (Lattimer et al., EMNLP 2023): chunks of the source, the maximum over them, a search tree for the citation."""

from groundrail.scoring.scale.scale import ScaleScorer

__all__ = ["ScaleScorer"]
