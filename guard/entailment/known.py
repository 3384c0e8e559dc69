"""Known judges by one word: how each wants its input, what its output means, and what its authors say of it.

A form is the authors' own: prompt, answer, chunk length and threshold are read from the code that the entry cites, and
no code of theirs is run. Where authors count a chunk in words, a word is taken as 1.3 tokens. Judges that cannot be
had in this way are left out. Bespoke-MiniCheck-7B needs code from the hub. Granite Guardian from 3.2 on writes its
reasons or its confidence around the answer, and its authors give no probability for one token. LettuceDetect's
EuroBERT models need code from the hub, and for its mmBERT model library and model card give different inputs.

How a form is applied to weights is `groundrail.entailment.known_loading`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["pair classifier", "encoder-decoder", "decoder", "token classifier"]


@dataclass(frozen=True, slots=True)
class Renamed:
    """Weights whose own code is not run: the transformers class they fit, and how the saved names become its names.

    `base` is the hub id of the model they were trained from, whose configuration and tokenizer they have.
    """

    architecture: Literal["T5FirstToken", "RobertaForSequenceClassification"]
    base: str
    labels: int
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KnownJudge:
    """A judge by name.

    `form` goes to the constructor of the class that `kind` stands for. `chunk_tokens` is the premise length that its
    authors cut a document to, None where they do not cut it. `chat` fills the tokenizer's own chat template, with
    `{premise}` and `{claim}` as contents. `published` has figures as their authors print them, `code` the place that
    the form was read from, `hint` the way to weights that the hub does not have as safetensors.
    """

    name: str
    hub_id: str
    kind: Kind
    parameters: str
    licence: str
    languages: str
    code: str
    form: Mapping[str, Any] = field(default_factory=dict)
    chunk_tokens: int | None = None
    threshold: float = 0.5
    published: str = ""
    chat: Mapping[str, Any] | None = None
    renamed: Renamed | None = None
    hint: str = ""


_SUPPORTED_LAST = ("unsupported", "supported")

_AGGREFACT = "LLM-AggreFact {}"
"""Mean balanced accuracy on the leaderboard of LLM-AggreFact, 8 September 2025."""

_RAGTRUTH = "RAGTruth F1 {}"
"""F1 of responses with a hallucination, RAGTruth's test part, as LettuceDetect's authors report it."""


def _minicheck(size: str, hub_id: str, parameters: str, kind: Kind, **facts: Any) -> KnownJudge:
    return KnownJudge(
        f"minicheck-{size}",
        f"lytang/MiniCheck-{hub_id}",
        kind,
        parameters,
        "MIT",
        "English",
        "Liyan06/MiniCheck: minicheck/inference.py (batch_tokenize, inference), minicheck/minicheck.py (chunk sizes)",
        hint="where the hub's main branch has pickled weights only, try the revision that the hub converted: "
        f"'lytang/MiniCheck-{hub_id}@refs/pr/1'",
        **facts,
    )


def _lettuce(name: str, hub_id: str, parameters: str, published: str) -> KnownJudge:
    return KnownJudge(
        name,
        f"KRLabsOrg/{hub_id}",
        "token classifier",
        parameters,
        "MIT",
        "English",
        "KRLabsOrg/LettuceDetect: lettucedetect/detectors/transformer.py (_predict_single, max_length), "
        "lettucedetect/prompts/summary_prompt_en.txt, lettucedetect/detectors/prompt_utils.py",
        form={
            "template": "Summarize the following text:\npassage 1: {premise}\noutput:",
            "unsupported": 1,
            "max_length": 4096,
        },
        chunk_tokens=4096,
        published=_RAGTRUTH.format(published),
    )


def _granite(version: str, size: str, published: str = "") -> KnownJudge:
    return KnownJudge(
        f"granite-guardian-{version}-{size}b",
        f"ibm-granite/granite-guardian-{version}-{size}b",
        "decoder",
        f"{size} B",
        "Apache-2.0",
        "English",
        f"ibm-granite/granite-guardian: cookbooks/granite-guardian-{version}/quick_start_vllm.ipynb (get_probabilities)",
        form={"answers": ("No", "Yes")},
        published=published,
        chat={
            "conversation": (
                {"role": "context", "content": "{premise}"},
                {"role": "assistant", "content": "{claim}"},
            ),
            "guardian_config": {"risk_name": "groundedness"},
        },
    )


def _alignscore(size: str, parameters: str, base: str, published: str) -> KnownJudge:
    return KnownJudge(
        f"alignscore-{size}",
        "yzha/AlignScore",
        "pair classifier",
        parameters,
        "MIT",
        "English",
        "yuh-zha/AlignScore: src/alignscore/inference.py (inference_per_example), src/alignscore/model.py (forward)",
        form={"labels": ("entailment", "neutral", "contradiction"), "max_length": 512},
        chunk_tokens=455,  # 350 words
        published=published,
        renamed=Renamed(
            "RobertaForSequenceClassification",
            base,
            labels=3,
            names={
                "base_model.pooler.dense.": "classifier.dense.",
                "base_model.": "roberta.",
                "tri_layer.": "classifier.out_proj.",
            },
        ),
        hint=f"its authors publish a pickled checkpoint, AlignScore-{size}.ckpt: save its state_dict with safetensors "
        f"as FOLDER/model.safetensors, and configuration and tokenizer of {base} in FOLDER/base",
    )


JUDGES: tuple[KnownJudge, ...] = (
    _minicheck(
        "flan-t5-large",
        "Flan-T5-Large",
        "770 M",
        "encoder-decoder",
        form={"template": "predict: {premise}</s>{claim}", "answers": (209, 3), "max_length": 2048},
        chunk_tokens=650,  # 500 words
        published=_AGGREFACT.format("75.0"),
    ),
    _minicheck(
        "deberta-v3-large",
        "DeBERTa-v3-Large",
        "435 M",
        "pair classifier",
        form={"template": "{premise}[SEP]{claim}", "labels": _SUPPORTED_LAST, "max_length": 2048},
        chunk_tokens=400,
    ),
    _minicheck(
        "roberta-large",
        "RoBERTa-Large",
        "355 M",
        "pair classifier",
        form={"template": "{premise}</s>{claim}", "labels": _SUPPORTED_LAST, "max_length": 512},
        chunk_tokens=400,
    ),
    KnownJudge(
        "factcg-deberta-v3-large",
        "yaxili96/FactCG-DeBERTa-v3-Large",
        "pair classifier",
        "435 M",
        "MIT",
        "English",
        "derenlei/FactCG: factcg/utils.py (INSTRUCTION_TEMPLATE), factcg/inference.py (tokenize, chunking_src)",
        form={
            "template": "{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "
            '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is ',
            "labels": _SUPPORTED_LAST,
            "max_length": 2048,
        },
        chunk_tokens=600,  # 550 of nltk's words, which count punctuation
        published=_AGGREFACT.format("75.6"),
    ),
    KnownJudge(
        "hhem-2.1-open",
        "vectara/hallucination_evaluation_model",
        "pair classifier",
        "110 M",
        "Apache-2.0",
        "English",
        "vectara/hallucination_evaluation_model on the hub: modeling_hhem_v2.py (predict), configuration_hhem_v2.py",
        form={
            "template": "<pad> Determine if the hypothesis is true given the premise?\n\n"
            "Premise: {premise}\n\nHypothesis: {claim}",
            "labels": ("hallucinated", "consistent"),
            "max_length": 2048,
        },
        chunk_tokens=2048,
        published=_AGGREFACT.format("71.8"),
        renamed=Renamed("T5FirstToken", "google/flan-t5-base", labels=2, names={"t5.": ""}),
        hint="a folder holds model.safetensors, and configuration and tokenizer of google/flan-t5-base in FOLDER/base",
    ),
    _alignscore("large", "355 M", "FacebookAI/roberta-large", _AGGREFACT.format("70.5") + ", TRUE ROC-AUC 83.8"),
    _alignscore("base", "125 M", "FacebookAI/roberta-base", "TRUE ROC-AUC 82.5"),
    KnownJudge(
        "true-t5-xxl",
        "google/t5_xxl_true_nli_mixture",
        "encoder-decoder",
        "11 B",
        "Apache-2.0",
        "English",
        "google/t5_xxl_true_nli_mixture on the hub: model card (input, answers); princeton-nlp/ALCE: eval.py "
        "(_run_nli_autoais, probability of token 209)",
        form={"template": "premise: {premise} hypothesis: {claim}", "answers": (209,)},
    ),
    _granite("3.1", "8"),
    _granite("3.1", "2"),
    _granite("3.0", "8", "TRUE ROC-AUC: BEGIN 80, Q2 88, QAGS-CNNDM 89, QAGS-XSum 83"),
    _granite("3.0", "2"),
    _lettuce("lettucedetect-large", "lettucedect-large-modernbert-en-v1", "395 M", "79.2"),
    _lettuce("lettucedetect-base", "lettucedect-base-modernbert-en-v1", "149 M", "76.8"),
    _lettuce("tinylettuce-17m", "tinylettuce-ettin-17m-en-v1", "17 M", "68.5"),
)


def find(name: str) -> tuple[KnownJudge, str] | None:
    """The known judge that `name` means, with the place of its weights; None for any other name.

    A name is a judge's own, or its hub id, either with `@REVISION`; or `NAME:FOLDER` for weights in a folder.

        >>> judge, weights = find("minicheck-flan-t5-large")
        >>> weights
        'lytang/MiniCheck-Flan-T5-Large'
    """
    word, colon, folder = name.partition(":")
    word, at, revision = word.partition("@")
    for judge in JUDGES:
        if word.lower() == judge.name or (word == judge.hub_id and not colon):
            return judge, folder if colon else judge.hub_id + at + revision
    return None


__all__ = ["JUDGES", "KnownJudge", "Renamed", "find"]
