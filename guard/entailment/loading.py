"""Turns a caller's choice into an entailment model: the built-in judge, a known one, a hub id or folder, or an object.

How a model is loaded belongs to its class, how a known judge wants its input to `groundrail.entailment.known`.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError, ModelError
from groundrail.runtime.locks import one_at_a_time
from groundrail.runtime.places import require_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from groundrail.entailment.known import KnownJudge
    from groundrail.entailment.pretrained import PretrainedJudge


def load(entailment: EntailmentModel | str | None = None, **options: Any) -> EntailmentModel:
    """The built-in judge for None, a known judge for its name, a pretrained model for a hub id or folder, else the object.

    A known judge (`groundrail judges` lists them) is read in its authors' form, also by its hub id; `NAME:FOLDER` takes
    its weights from a folder. A sequence-classification model becomes a `CrossEncoderEntailment`, an encoder-decoder a
    `Seq2SeqEntailment`, a decoder-only model a `CausalEntailment`. `options` go to their `from_pretrained`, or to the
    built-in judge (`device`, `dtype`).

    Raises: ModelError for a model of another kind, InputError for what is no model, or for options to one
    that exists already.
    """
    if entailment is None:
        from groundrail.entailment.builtin import load_builtin

        return load_builtin(**options)
    if isinstance(entailment, str):
        return _load_named(entailment, options)
    if not isinstance(entailment, EntailmentModel):
        kind = type(entailment).__name__
        raise InputError(f"{kind} is no entailment model: it needs classify(), offsets() and max_tokens")
    if options:
        raise InputError(f"{', '.join(options)} cannot be set on a model that exists already")
    return entailment


@one_at_a_time
def _load_named(name_or_path: str, options: dict[str, Any]) -> EntailmentModel:
    from groundrail.entailment.known import JUDGES, find

    known = find(name_or_path)
    if known is not None:
        return _load_known(*known, options)
    require_folder(name_or_path)
    from groundrail.runtime.hub import load_config

    try:
        config = load_config(name_or_path, options)
    except ModelError as error:
        if "/" in name_or_path or "\\" in name_or_path:
            raise
        names = [judge.name for judge in JUDGES]
        meant = "".join(f". Did you mean {name!r}?" for name in get_close_matches(name_or_path, names, n=1))
        raise ModelError(f"{error}{meant or '.'} Known judges: {', '.join(names)}") from error
    architectures = config.architectures or []
    if any(name.endswith("ForSequenceClassification") for name in architectures):
        kind = "pair classifier"
    elif config.is_encoder_decoder:
        kind = "encoder-decoder"
    elif any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in architectures):
        kind = "decoder"
    else:
        raise ModelError(
            f"{name_or_path!r} is {', '.join(architectures) or 'of unknown architecture'}; pass a "
            f"sequence-classification model (NLI), an encoder-decoder (Flan-T5), a causal model, or an object with classify()"
        )
    judge = _class_of(kind).from_pretrained(name_or_path, **options)
    if not getattr(config, "entailment_respelled", False):  # which `groundrail tune` saves
        return judge
    from groundrail.entailment.respelled import Respelled

    return Respelled(judge)


def _class_of(kind: str) -> "type[PretrainedJudge]":
    from groundrail.entailment.causal import CausalEntailment
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.seq2seq import Seq2SeqEntailment
    from groundrail.entailment.token_classifier import TokenEntailment

    classes: dict[str, type[PretrainedJudge]] = {
        "pair classifier": CrossEncoderEntailment,
        "encoder-decoder": Seq2SeqEntailment,
        "decoder": CausalEntailment,
        "token classifier": TokenEntailment,
    }
    return classes[kind]


def _load_known(judge: "KnownJudge", weights: str, options: dict[str, Any]) -> EntailmentModel:
    """The judge from `weights`, a hub id or a folder; `options` replace what its form says.

    Raises: ModelError that says what to use instead where the weights cannot be had.
    """
    try:
        if weights.partition("@")[0] != judge.hub_id and not Path(weights).is_dir():
            raise ModelError(f"there is no folder {weights!r}")
        model_class = _class_of(judge.kind)
        settings, hub = model_class.own_options(options)
        model, tokenizer = _read(judge, model_class.auto_class, weights, **hub)
        if judge.chat is not None:  # the tokenizer's own chat template makes the prompt
            if not tokenizer.chat_template:
                raise ModelError(f"the tokenizer has no chat template; take all files of {judge.hub_id!r}")
            prompt = tokenizer.apply_chat_template(**judge.chat, tokenize=False, add_generation_prompt=True)
            settings = {"template": str(prompt), **settings}
    except ModelError as error:
        hint = f" ({judge.hint})" if judge.hint else ""
        raise ModelError(
            f"the judge {judge.name!r} needs the weights of {judge.hub_id!r}, which cannot be had: {error}. Instead, "
            f"pass '{judge.name}:FOLDER' with a folder that holds them{hint}, or name no judge for the built-in one"
        ) from error
    model.config.entailment_identity = judge.hub_id
    model.config.entailment_chunk_tokens = judge.chunk_tokens
    model.config.entailment_english_only = judge.languages == "English"
    return model_class(model, tokenizer, **{**judge.form, "threshold": judge.threshold, **settings})


def _read(
    judge: "KnownJudge", auto_class: type, weights: str, device: Any = None, dtype: Any = None, **hub: Any
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    import transformers

    from groundrail.runtime.hub import load_pretrained, load_renamed

    kept = judge.renamed
    if kept is None:
        return load_pretrained(auto_class, weights, device=device, dtype=dtype, hub=hub)
    architecture = getattr(transformers, kept.architecture)
    named = {"device": device, "dtype": dtype, "hub": hub}
    return load_renamed(architecture, weights, base=kept.base, names=kept.names, labels=kept.labels, **named)
