"""From what a caller names to an entailment model: the built-in judge, a known one, a hub id or folder, or an object.

How a model is loaded belongs to its class.
"""

from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.entailment.known import JUDGES, find
from groundrail.errors import InputError, ModelError
from groundrail.runtime.locks import one_at_a_time


def load(entailment: EntailmentModel | str | None = None, **options: Any) -> EntailmentModel:
    """The built-in judge for None, a known judge for its name, a pretrained model for a hub id or folder, an object
    as it is.

    A known judge (`groundrail judges` lists them) is read in its authors' form, also by its hub id; `NAME:FOLDER`
    takes its weights from a folder. Of the others, a sequence-classification model becomes a `CrossEncoderEntailment`,
    an encoder-decoder a `Seq2SeqEntailment`, a decoder-only model a `CausalEntailment`. `options` go to their
    `from_pretrained`, or to the built-in judge (`device`, `dtype`).

    Raises: ModelError for a model of another kind, InputError for what is no model, or for options to one
    that exists already.
    """
    if entailment is None:
        from groundrail.entailment.builtin import load_builtin

        return load_builtin(**options)
    if isinstance(entailment, str):
        return _load_named(entailment, options)
    if not isinstance(entailment, EntailmentModel):
        raise InputError(
            f"{type(entailment).__name__} is no entailment model: it needs classify(), offsets() and max_tokens"
        )
    if options:
        raise InputError(f"{', '.join(options)} cannot be set on a model that exists already")
    return entailment


@one_at_a_time
def _load_named(name_or_path: str, options: dict[str, Any]) -> EntailmentModel:
    known = find(name_or_path)
    if known is not None:
        from groundrail.entailment.known_loading import load_known

        return load_known(*known, options)
    from groundrail.entailment.causal import CausalEntailment
    from groundrail.entailment.cross_encoder import CrossEncoderEntailment
    from groundrail.entailment.seq2seq import Seq2SeqEntailment
    from groundrail.runtime.hub import load_config

    try:
        config = load_config(name_or_path, options)
    except ModelError as error:
        if "/" in name_or_path or "\\" in name_or_path:
            raise
        raise ModelError(f"{error}. Known judges: {', '.join(judge.name for judge in JUDGES)}") from error
    architectures = config.architectures or []
    if any(name.endswith("ForSequenceClassification") for name in architectures):
        judge = CrossEncoderEntailment.from_pretrained(name_or_path, **options)
        if getattr(config, "entailment_respelled", False):  # what `groundrail tune` saves
            from groundrail.entailment.respelled import Respelled

            return Respelled(judge)
        return judge
    if config.is_encoder_decoder:
        return Seq2SeqEntailment.from_pretrained(name_or_path, **options)
    if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in architectures):
        return CausalEntailment.from_pretrained(name_or_path, **options)
    raise ModelError(
        f"{name_or_path!r} is {', '.join(architectures) or 'of unknown architecture'}; pass a "
        f"sequence-classification model (NLI), an encoder-decoder (Flan-T5), a causal model, or an object with classify()"
    )
