"""The tables and figures that `groundrail reproduce` computes, by name."""

from collections.abc import Mapping
from typing import Any

from groundrail.errors import InputError
from groundrail.papers.q2.asking import PAPER_GENERATOR
from groundrail.papers.q2.extractive import PAPER_ANSWERER
from groundrail.papers.reproduce import ablation, q2, scale, summaries
from groundrail.papers.reproduce.table import BUILTIN, Figures, Table

_BASE, _LARGE, _XL, _XXL = (f"google/flan-t5-{size}" for size in ("base", "large", "xl", "xxl"))
_VITAMINC = "tals/albert-xlarge-vitaminc-mnli"
_SNLI = "cross-encoder/nli-roberta-base"


def _rows(measure: str, names: tuple[str, ...], values: tuple[float, ...]) -> Figures:
    return {name: {measure: value} for name, value in zip(names, values, strict=True)}


_TRUE_FILES = tuple(f"{name}.csv" for name in scale.TRUE_SETS)
_TRUE_ROWS = (*scale.TRUE_SETS, "average")
_SCREEN = ("screen_eval.json",)
_SMOKE_JUDGE: Mapping[str, Any] = {"model": BUILTIN}


def _scale_settings(**more: Any) -> dict[str, Any]:
    return {"model": _LARGE, "template": scale.TEMPLATE, **more}


_SIZES = (100, 300, 500, 750, 1000, 2000, 3000)
_SIZE_ROWS = tuple(f"{size} tokens" for size in _SIZES)

_SCALE = (
    Table(
        "scale-table3",
        "SCALE, table 3: ROC-AUC on TRUE",
        "Each text is one claim; chunks of 512 tokens, question and claim included, overlap by a quarter.",
        _TRUE_FILES,
        _scale_settings(chunk_tokens=512),
        scale.true_auc,
        _SMOKE_JUDGE,
        {
            _LARGE: _rows(
                "ROC-AUC x 100",
                _TRUE_ROWS,
                (88.0, 79.4, 74.2, 81.0, 81.4, 79.3, 84.3, 91.6, 96.9, 93.9, 89.3, 84.0),
            ),
            _XL: _rows(
                "ROC-AUC x 100",
                _TRUE_ROWS,
                (89.8, 83.3, 73.2, 82.1, 84.3, 77.8, 86.3, 91.0, 91.9, 94.5, 91.5, 84.4),
            ),
            _XXL: _rows(
                "ROC-AUC x 100",
                _TRUE_ROWS,
                (90.8, 91.5, 73.1, 85.2, 85.3, 79.2, 86.6, 93.4, 96.7, 94.8, 92.7, 88.1),
            ),
        },
    ),
    Table(
        "scale-table4",
        "SCALE, table 4: calibration error on TRUE",
        "As table 3; scores are stretched to go from 0 to 1 and put in 15 bins.",
        _TRUE_FILES,
        _scale_settings(chunk_tokens=512),
        scale.true_ece,
        _SMOKE_JUDGE,
        {
            _LARGE: _rows(
                "ECE",
                _TRUE_ROWS,
                (0.179, 0.043, 0.215, 0.144, 0.117, 0.149, 0.103, 0.117, 0.019, 0.058, 0.049, 0.108),
            ),
            _XL: _rows(
                "ECE",
                _TRUE_ROWS,
                (0.093, 0.243, 0.026, 0.060, 0.116, 0.069, 0.286, 0.071, 0.060, 0.209, 0.150, 0.126),
            ),
        },
    ),
    Table(
        "scale-table5",
        "SCALE, table 5: inconsistent sentences of ScreenEval",
        "Chunks of 1,000 tokens, question and claim included: the authors' run with these figures, where the paper says 512.",
        _SCREEN,
        _scale_settings(chunk_tokens=1000),
        scale.screen_correlations,
        _SMOKE_JUDGE,
        {
            _LARGE: {"ScreenEval": {"Pearson": 0.391, "Kendall tau": 0.322, "ROC-AUC x 100": 76.1}},
            _BASE: {"ScreenEval": {"Pearson": 0.28, "Kendall tau": 0.24, "ROC-AUC x 100": 69.5}},
        },
    ),
    Table(
        "scale-table6",
        "SCALE, table 6: macro F1 on ScreenEval",
        "As table 5; the best threshold on the claims it is measured on, in hundredths of the stretched scores.",
        _SCREEN,
        _scale_settings(chunk_tokens=1000),
        scale.screen_f1,
        _SMOKE_JUDGE,
        {
            _LARGE: {"ScreenEval": {"macro F1 x 100": 68.74}},
            _XL: {"ScreenEval": {"macro F1 x 100": 73.86}},
        },
    ),
    Table(
        "scale-table7",
        "SCALE, table 7: relevant utterances of ScreenEval",
        "A binary tree over the utterances of the whole dialogue; supported claims alone; halves are read whole.",
        _SCREEN,
        _scale_settings(tokens=16384),
        scale.retrieval,
        _SMOKE_JUDGE,
        {
            _LARGE: {"ScreenEval": {"recall": 0.463, "seconds": 4.67}},
            _XL: {"ScreenEval": {"recall": 0.471, "seconds": 12.46}},
        },
    ),
    Table(
        "scale-figure4",
        "SCALE, figure 4: calibration error by chunk size on ScreenEval",
        "As table 5 with seven chunk sizes; stretched scores in 15 bins. The figures are those of the authors' notebook.",
        _SCREEN,
        _scale_settings(chunk_tokens=_SIZES),
        scale.chunk_calibration,
        {**_SMOKE_JUDGE, "chunk_tokens": (100, 300)},
        {_LARGE: _rows("ECE", _SIZE_ROWS, (0.333, 0.286, 0.273, 0.274, 0.280, 0.296, 0.314))},
    ),
    Table(
        "scale-figure5",
        "SCALE, figure 5: ROC-AUC by chunk size on ScreenEval",
        "As table 5 with seven chunk sizes. The figures are those of the authors' notebook.",
        _SCREEN,
        _scale_settings(chunk_tokens=_SIZES),
        scale.chunk_auc,
        {**_SMOKE_JUDGE, "chunk_tokens": (100, 300)},
        {_LARGE: _rows("ROC-AUC x 100", _SIZE_ROWS, (66.6, 72.0, 73.5, 75.5, 76.1, 75.6, 76.0))},
    ),
)

_Q2_SETTINGS: Mapping[str, Any] = {
    "model": _SNLI,
    "questions": PAPER_GENERATOR,
    "answerer": PAPER_ANSWERER,
    "pipeline": "en_core_web_sm",
}
_Q2_SMOKE: Mapping[str, Any] = {"model": BUILTIN, "questions": None, "answerer": None, "pipeline": None}
_Q2_PROTOCOL = "Whole responses, spaCy's entities and noun phrases, greedy questions, none filtered as personal."

_Q2 = (
    Table(
        "q2-table2",
        "Q², table 2: scores of the annotated responses",
        _Q2_PROTOCOL,
        q2.FILES,
        _Q2_SETTINGS,
        q2.absolute,
        _Q2_SMOKE,
        {
            _SNLI: {
                name: dict(zip(("questions", "Q²", "Q² + NLI", "no answer, %"), values, strict=True))
                for name, values in {
                    "dodeca_inconsistent": (259, 0.175, 0.233, 60.62),
                    "dodeca_consistent": (263, 0.515, 0.669, 20.53),
                    "memnet_inconsistent": (238, 0.079, 0.099, 66.39),
                    "memnet_consistent": (279, 0.644, 0.722, 16.49),
                    "human, dodeca_inconsistent": (349, 0.463, 0.540, 35.82),
                    "human, dodeca_consistent": (342, 0.472, 0.573, 34.21),
                }.items()
            }
        },
    ),
    Table(
        "q2-table4",
        "Q², table 4: correlation over simulated systems",
        f"{_Q2_PROTOCOL} Spearman's rho of five systems of 350 contexts, 1,000 times. The paper's row is Q² without NLI.",
        (q2.CROSSED,),
        _Q2_SETTINGS,
        q2.correlation,
        _Q2_SMOKE,
        {
            _SNLI: {
                "Q²": {"correlation": 0.9697, "low": 0.9, "high": 1.0},
                "Overlap(r, k)": {"correlation": 0.8736, "low": 0.5, "high": 1.0},
            }
        },
    ),
    Table(
        "q2-table7",
        "Q², table 7: variants of the pipeline",
        "Each variant on top of the one before: the filter of personal questions, then five beams a span.",
        q2.FILES,
        _Q2_SETTINGS,
        q2.variants,
        _Q2_SMOKE,
        {
            _SNLI: {
                f"{file}, {variant}": {"coverage, %": coverage, "Q²": score}
                for file, rows in {
                    "dodeca_inconsistent": ((92.67, 0.175), (87.33, 0.178), (92.67, 0.15)),
                    "dodeca_consistent": ((90.0, 0.515), (85.33, 0.543), (94.0, 0.517)),
                    "memnet_inconsistent": ((86.0, 0.079), (84.67, 0.09), (94.67, 0.105)),
                    "memnet_consistent": ((88.0, 0.644), (85.33, 0.66), (92.67, 0.671)),
                }.items()
                for variant, (coverage, score) in zip(("base", "+ filter personal", "+ top-k"), rows, strict=True)
            }
        },
    ),
    Table(
        "q2-figure3",
        "Q², figure 3: precision and recall",
        f"{_Q2_PROTOCOL} All four files together; --out draws the curves. The paper prints no numbers.",
        q2.FILES,
        _Q2_SETTINGS,
        q2.curves,
        _Q2_SMOKE,
    ),
    Table(
        "q2-figure4",
        "Q², figure 4: score robustness in steps of a tenth",
        f"{_Q2_PROTOCOL} 400 responses of both systems, drawn 1,000 times. The paper prints no numbers.",
        q2.FILES,
        _Q2_SETTINGS,
        q2.robust_in_tenths,
        _Q2_SMOKE,
    ),
    Table(
        "q2-figure5",
        "Q², figure 5: score robustness at the shares of real systems",
        f"{_Q2_PROTOCOL} 400 responses of both systems, drawn 1,000 times. The paper prints no numbers.",
        q2.FILES,
        _Q2_SETTINGS,
        q2.robust_at_real_shares,
        _Q2_SMOKE,
    ),
)

_SUMMARIES = (
    Table(
        "infuse-table2",
        "InFusE, table 2: ROC-AUC on AggreFact and DiverSumm",
        "Mean over a summary's sentences; the minimum over a sentence's sub-sentences, which a parser cuts here.",
        ("aggre_fact*.csv", "diversumm.csv"),
        {"model": _VITAMINC, "units": "parsed", "splitter": None},
        summaries.infuse,
        {"model": BUILTIN, "units": "subsentences"},
        {
            _VITAMINC: {
                row: dict(zip((*summaries.INFUSE_COLUMNS, "AVG"), values, strict=True))
                for row, values in {
                    "FullDoc": (72.77, 64.40, 50.15, 37.12, 62.78, 79.19, 44.76, 58.74),
                    "SummaC-ZS": (70.29, 74.54, 54.41, 48.21, 69.44, 79.37, 50.17, 63.78),
                    "SeNtLI": (73.61, 75.83, 50.13, 47.56, 64.49, 79.68, 46.61, 62.56),
                    "InFusE": (73.42, 76.21, 54.11, 52.16, 71.38, 80.45, 53.16, 65.84),
                    "InFusE, sub-sentences": (73.21, 73.34, 59.26, 53.20, 73.89, 80.05, 49.37, 66.05),
                }.items()
            }
        },
    ),
    Table(
        "glover-summac",
        "Glover et al.: balanced accuracy on SummaC",
        "Mean over a summary's sentences, k = 5; thresholds of the validation parts. The authors' summary prints no numbers.",
        ("summac*.json*",),
        {"model": _VITAMINC},
        summaries.glover_summac,
        _SMOKE_JUDGE,
    ),
    Table(
        "glover-frank",
        "Glover et al.: partial correlations on FRANK",
        "Mean over a summary's sentences, k = 5; FRANK's own measure. The authors' summary prints no numbers.",
        ("benchmark_data.json",),
        {"model": _VITAMINC},
        summaries.glover_frank,
        _SMOKE_JUDGE,
    ),
)

_TUNED = {
    "PMI interpolation, alpha 0.1": (75.0, 20.8, 88.0, 69.0),
    "PMI interpolation, alpha 0.3": (75.0, 21.4, 88.6, 71.3),
    "PMI interpolation, alpha 0.5": (76.8, 23.8, 88.9, 76.1),
    "PMI addition, alpha 0.1": (74.4, 23.8, 87.9, 70.6),
    "PMI addition, alpha 0.3": (73.2, 28.6, 87.9, 72.7),
    "PMI addition, alpha 0.5": (71.4, 32.1, 87.3, 73.0),
}

_WEST = (
    Table(
        "west-table2",
        "West et al., table 2: factual ablation",
        "Grounding, then context. The paper's steered rows are of a tuned model: --model TUNED --set ungrounded_model=OTHER. "
        "GPT-2 reads 1,024 tokens: the end of longer groundings is cut, or --set 'too_long=leave out'.",
        ("synthetic.jsonl", "natural.jsonl"),
        {"model": "openai-community/gpt2", "ungrounded_model": None, "too_long": "cut"},
        ablation.factual_ablation,
        {"model": None},
        {
            "openai-community/gpt2": {
                f"{file}, {row}": {"acc": values[place], f"acc at log {ratio}": values[place + 1]}
                for file, ratio, place in (("synthetic", 100, 0), ("natural", 1000, 2))
                for row, values in {"no steering": (78.0, 2.4, 84.5, 54.5), **_TUNED}.items()
            }
        },
    ),
)

TABLES: dict[str, Table] = {table.name: table for table in (*_SCALE, *_Q2, *_SUMMARIES, *_WEST)}
"""All tables by name."""


def table_named(name: str) -> Table:
    """The table called `name`. Raises: InputError that lists the names."""
    if name not in TABLES:
        raise InputError(f"no table is called {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]
