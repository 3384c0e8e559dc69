"""A language model of letters with random weights, to show that the command of a table runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CONTEXT = 256
"""Maximum number of tokens that the model reads; some bundled rows are longer, so that cutting runs too."""


def random_model() -> "tuple[PreTrainedModel, PreTrainedTokenizerFast]":
    """Make a GPT-2 of one layer with its tokenizer, equal at every call."""
    import torch
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<s>", "<unk>", "\n", *map(chr, range(32, 127))]
    inner = Tokenizer(WordLevel({letter: place for place, letter in enumerate(letters)}, unk_token="<unk>"))
    inner.pre_tokenizer = Split(Regex(r"[\s\S]"), "isolated")
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner, bos_token="<s>", eos_token="<s>", unk_token="<unk>"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=len(letters), n_positions=CONTEXT, n_embd=32, n_layer=1, n_head=2)
        model = GPT2LMHeadModel(config)
    model.eval()  # type: ignore[no-untyped-call]
    return model, tokenizer
