"""The shipped judge as a folder that `train_judge.py` goes on from, with more layers or fewer words if asked.

    python tools/start_judge.py runs/start --shift 0.5
    python tools/start_judge.py runs/start --shift 0.5 --base MPNET --layers 12 --rows 16384 --texts tools/written

`--base` is the MPNet that the judge's lowest layers came from: its upper layers are put on top as they are there.
`--rows` keeps the embeddings of that many word pieces, the most frequent in `--texts` (folders of JSON-lines files); single
characters and special tokens always stay, so that every text can still be read.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoTokenizer, MPNetConfig, MPNetForSequenceClassification

from groundrail.entailment.builtin import folder, restored

WORDS = "mpnet.embeddings.word_embeddings.weight"
CONTINUES = "##"
"""How WordPiece marks a piece that does not begin a word."""


def with_upper_layers(
    weights: dict[str, Tensor], base: dict[str, Tensor], present: int, layers: int
) -> dict[str, Tensor]:
    """The judge's weights and, for each layer from `present` to `layers`, the base encoder's."""
    wanted = tuple(f"encoder.layer.{number}." for number in range(present, layers))
    upper = {name.removeprefix("mpnet."): weight for name, weight in base.items()}
    return weights | {f"mpnet.{name}": weight for name, weight in upper.items() if name.startswith(wanted)}


def frequent(tokenizer: Any, texts: Iterable[str], rows: int) -> list[int]:
    """The ids that stay, in ascending order: special tokens, single characters, then the most frequent in `texts`."""
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    pieces = tokenizer.get_vocab()
    always = special | {id for piece, id in pieces.items() if len(piece.removeprefix(CONTINUES)) == 1}
    if rows < len(always):
        raise SystemExit(f"--rows must be at least {len(always)}: special tokens and single characters always stay")
    count: Counter[int] = Counter()
    for text in texts:
        count.update(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    rest = sorted((id for id in pieces.values() if id not in always), key=lambda id: (-count[id], id))
    return sorted(always | set(rest[: rows - len(always)]))


def only_pieces(tokenizer_json: dict[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """A WordPiece tokenizer's file with these ids alone, numbered anew in their order."""
    new = {old: number for number, old in enumerate(kept)}
    model = tokenizer_json["model"]
    vocabulary = {piece: new[old] for piece, old in model["vocab"].items() if old in new}
    added = [token | {"id": new[token["id"]]} for token in tokenizer_json["added_tokens"]]
    ends = {
        name: [piece, new[old]] for name in ("cls", "sep") for piece, old in [tokenizer_json["post_processor"][name]]
    }
    return tokenizer_json | {
        "model": model | {"vocab": vocabulary},
        "added_tokens": added,
        "post_processor": tokenizer_json["post_processor"] | ends,
    }


def texts_of(folders: Sequence[Path]) -> Iterator[str]:
    """Every string in the folders' JSON-lines files, packed or not."""
    for path in sorted(path for each in folders for path in each.glob("*.jsonl*")):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from _strings(json.loads(line))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--shift", type=float, default=0.0, help="what the export added to the entailment logit: taken away"
    )
    parser.add_argument("--base", type=Path, help="MPNet with at least --layers layers")
    parser.add_argument("--layers", type=int, help="of the judge that is written; its own number without --base")
    parser.add_argument("--rows", type=int, help="word pieces that stay")
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="folders in which word pieces are counted")
    args = parser.parse_args()
    if (args.base is None) != (args.layers is None) or (args.rows is None) != (not args.texts):
        parser.error("--base goes with --layers, and --rows with --texts")
    config: Any = MPNetConfig.from_pretrained(folder())
    tokenizer = AutoTokenizer.from_pretrained(folder())
    weights = restored(folder() / "model.safetensors", torch.float32)
    weights["classifier.out_proj.bias"][config.label2id["entailment"]] -= args.shift
    if args.base is not None:
        base = load_file(args.base / "model.safetensors")
        weights = with_upper_layers(weights, base, config.num_hidden_layers, args.layers)
        config.num_hidden_layers = args.layers
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(args.out)
    if args.rows is not None:
        kept = frequent(tokenizer, texts_of(args.texts), args.rows)
        weights[WORDS] = weights[WORDS][kept]
        file = args.out / "tokenizer.json"
        smaller = only_pieces(json.loads(file.read_text(encoding="utf-8")), kept)
        file.write_text(json.dumps(smaller, ensure_ascii=False, indent=2), encoding="utf-8")
        config.vocab_size = len(kept)
        for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
            setattr(config, name, kept.index(getattr(config, name)))
    config.dtype = torch.float32
    model = MPNetForSequenceClassification(config)
    model.load_state_dict(weights)
    model.save_pretrained(args.out)


if __name__ == "__main__":
    main()
