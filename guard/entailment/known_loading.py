"""From a known judge and the place of its weights to an entailment model in the authors' form.

The forms themselves are in `groundrail.entailment.known`.
"""

from pathlib import Path
from typing import Any

import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase, T5ForTokenClassification

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.causal import CausalEntailment
from groundrail.entailment.cross_encoder import CrossEncoderEntailment
from groundrail.entailment.known import KnownJudge
from groundrail.entailment.pretrained import PretrainedJudge
from groundrail.entailment.seq2seq import Seq2SeqEntailment
from groundrail.entailment.token_classifier import TokenEntailment
from groundrail.errors import ModelError
from groundrail.runtime.hub import load_pretrained, load_renamed

_CLASSES: dict[str, type[PretrainedJudge]] = {
    "pair classifier": CrossEncoderEntailment,
    "encoder-decoder": Seq2SeqEntailment,
    "decoder": CausalEntailment,
    "token classifier": TokenEntailment,
}


class T5FirstToken(T5ForTokenClassification):  # type: ignore[no-untyped-call]
    """A T5 encoder whose first token's state is classified, as in HHEM-2.1-Open: logits of shape (n, labels)."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The token classifier's output with the first token's logits alone."""
        output = super().forward(*args, **kwargs)
        output.logits = output.logits[:, 0]
        return output


def load_known(judge: KnownJudge, weights: str, options: dict[str, Any]) -> EntailmentModel:
    """Build the judge from `weights`, a hub id or a folder; `options` replace what its form says.

    Raises: ModelError that says what to use instead where the weights cannot be had.
    """
    model_class = _CLASSES[judge.kind]
    settings, hub = model_class.own_options(options)
    where = {"device": hub.pop("device", None), "dtype": hub.pop("dtype", None)}
    try:
        if weights.partition("@")[0] != judge.hub_id and not Path(weights).is_dir():
            raise ModelError(f"there is no folder {weights!r}")
        model, tokenizer = _loaded(judge, model_class.auto_class, weights, where, hub)
    except ModelError as error:
        raise ModelError(_instead(judge, error)) from error
    model.config.entailment_identity = judge.hub_id
    model.config.entailment_chunk_tokens = judge.chunk_tokens
    model.config.entailment_english_only = judge.languages == "English"
    form = {**judge.form, "threshold": judge.threshold, **_chat_template(judge, tokenizer), **settings}
    return model_class(model, tokenizer, **form)


def _loaded(
    judge: KnownJudge, auto_class: type, weights: str, where: dict[str, Any], hub: dict[str, Any]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if judge.renamed is None:
        return load_pretrained(auto_class, weights, **where, hub=hub)
    kept = judge.renamed
    architecture = T5FirstToken if kept.architecture == "T5FirstToken" else getattr(transformers, kept.architecture)
    return load_renamed(architecture, weights, base=kept.base, names=kept.names, labels=kept.labels, **where, hub=hub)


def _chat_template(judge: KnownJudge, tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
    """The prompt that the tokenizer's own chat template makes, with places for premise and claim."""
    if judge.chat is None:
        return {}
    if not tokenizer.chat_template:
        raise ModelError(f"the tokenizer of {judge.name!r} has no chat template; take all files of {judge.hub_id!r}")
    chat = {**judge.chat, "conversation": list(judge.chat["conversation"])}
    return {"template": str(tokenizer.apply_chat_template(**chat, tokenize=False, add_generation_prompt=True))}


def _instead(judge: KnownJudge, error: ModelError) -> str:
    hint = f" ({judge.hint})" if judge.hint else ""
    return (
        f"the judge {judge.name!r} needs the weights of {judge.hub_id!r}, which cannot be had: {error}. Instead, pass "
        f"'{judge.name}:FOLDER' with a folder that holds them{hint}, or name no judge for the built-in one"
    )
