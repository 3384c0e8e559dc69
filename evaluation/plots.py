"""The pictures of an evaluation as PNG files: reliability diagram, ROC curve and precision-recall curve.

They are drawn on matplotlib's Agg canvas, so that the caller's backend and figures stay unchanged.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from groundrail.evaluation.metrics import Bin, average_precision, library, roc_auc, two_classes


def _axes(title: str, x: str, y: str) -> Any:
    figure = library("matplotlib.figure").Figure(figsize=(5, 5), layout="constrained")
    library("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", title=title, xlabel=x, ylabel=y)
    return axes


def _save(axes: Any, path: str | Path) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(path, format="png", dpi=120)
    return path


def reliability_diagram(bins: Sequence[Bin], path: str | Path, title: str = "Reliability") -> Path:
    """Draw the share of supported claims over the mean score, a dot for each bin, sized by the number of claims.

    The dots of a calibrated scorer lie on the diagonal.
    """
    axes = _axes(title, "mean score in bin", "share of claims that are supported")
    axes.plot([0, 1], [0, 1], linestyle=":", color="0.5")
    filled = [found for found in bins if found.count]
    most = max((found.count for found in filled), default=1)
    scores, shares = [found.score for found in filled], [found.supported for found in filled]
    axes.plot(scores, shares, color="C0")
    axes.scatter(scores, shares, s=[20 + 180 * found.count / most for found in filled], color="C0", clip_on=False)
    return _save(axes, path)


def roc_curve(labels: ArrayLike, scores: ArrayLike, path: str | Path, title: str = "ROC") -> Path:
    """Draw the share of supported claims released over the share of unsupported claims released, for all thresholds."""
    supported, s = two_classes(labels, scores, "A ROC curve")
    released_wrongly, released_rightly, _ = library("sklearn.metrics").roc_curve(supported, s)
    axes = _axes(title, "share of unsupported claims released", "share of supported claims released")
    axes.plot([0, 1], [0, 1], linestyle=":", color="0.5")
    axes.plot(released_wrongly, released_rightly, label=f"AUC {roc_auc(labels, scores):.3f}", clip_on=False)
    axes.legend(loc="lower right")
    return _save(axes, path)


def precision_recall_curve(
    labels: ArrayLike, scores: ArrayLike, path: str | Path, title: str = "Precision and recall"
) -> Path:
    """Draw the share of released claims that are supported over the share of supported claims released (Q², figure 3)."""
    supported, s = two_classes(labels, scores, "A precision-recall curve")
    precision, recall, _ = library("sklearn.metrics").precision_recall_curve(supported, s)
    axes = _axes(title, "share of supported claims released", "share of released claims supported")
    axes.step(recall, precision, where="post", label=f"average precision {average_precision(labels, scores):.3f}")
    axes.axhline(supported.mean(), linestyle=":", color="0.5")
    axes.legend(loc="lower left")
    return _save(axes, path)
