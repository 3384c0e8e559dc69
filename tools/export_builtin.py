"""Writes a trained judge into the package: int8 matrices with a scale a row, the rest in 16 bit.

    python tools/export_builtin.py runs/judge --written tools/written --shift 0.5 --threshold 0.6

With `--written` the matrices are rounded for what the layers get while the judge reads pairs of these texts
(`rounding.py`), else every weight to its nearest step.
"""

import argparse
import hashlib
import json
import random
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import rounding
import torch
from judge_forward import scores_of
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from windows import Windows, load_texts

from groundrail.entailment.builtin import DIGEST, SCALE, WEIGHTS
from groundrail.runtime.checksums import sha256_of

BUILTIN = Path(__file__).parents[1] / "guard" / "entailment" / "builtin"
PAIRS = 400
"""Read to find out what the layers get."""


def quantised(weights: Mapping[str, torch.Tensor], products: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Every matrix as int8 and one float16 scale a row, vectors as bfloat16. `products`: of `rounding.input_products`."""
    stored = {}
    for name, weight in weights.items():
        if weight.dim() == 2 and weight.numel() > 10_000:
            scale = stored[name + SCALE] = rounding.scales(weight)
            if name in products:
                stored[name] = rounding.for_inputs(weight, scale, products[name])
            else:
                stored[name] = rounding.nearest(weight, scale)
        else:
            stored[name] = weight.to(torch.bfloat16)
    return {name: tensor.contiguous() for name, tensor in stored.items()}


def products_of(trained: Path, written: Path) -> dict[str, torch.Tensor]:
    """What the judge's layers get while it reads pairs of written texts."""
    tokenizer = AutoTokenizer.from_pretrained(trained)
    model = AutoModelForSequenceClassification.from_pretrained(trained, dtype=torch.float32).eval()
    windows = Windows(random.Random(0), tokenizer)
    windows.load([text for path in sorted(written.glob("*.jsonl")) for text in load_texts(path, tokenizer)])
    pairs = list(islice(windows.pairs(), PAIRS))
    return rounding.input_products(model, lambda: scores_of(model, tokenizer, pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path)
    parser.add_argument("--written", type=Path, help="folder of texts with claims, as train_judge.py takes it")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--shift", type=float, default=0.0, help="added to the entailment logit, after the temperature")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--chunk-tokens", type=int, default=128, help="premise length at which it judges best")
    parser.add_argument("--out", type=Path, default=BUILTIN)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(args.trained / name, args.out / name)
    config = json.loads((args.trained / "config.json").read_text())
    config |= {
        "entailment_temperature": args.temperature,
        "entailment_threshold": args.threshold,
        "entailment_chunk_tokens": args.chunk_tokens,
        "dtype": "bfloat16",
    }
    weights = load_file(args.trained / "model.safetensors")
    weights["classifier.out_proj.bias"][int(config["label2id"]["entailment"])] += args.shift * args.temperature
    stored = quantised(weights, products_of(args.trained, args.written) if args.written else {})
    content = hashlib.sha256(b"".join(stored[name].view(torch.uint8).numpy().tobytes() for name in sorted(stored)))
    config["entailment_identity"] = f"the built-in judge {content.hexdigest()[:12]}"
    config.pop("_name_or_path", None)
    (args.out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file(stored, args.out / WEIGHTS, {"format": "pt"})
    (args.out / DIGEST).write_text(f"{sha256_of(args.out / WEIGHTS)}  {WEIGHTS}\n", encoding="ascii")
    size = sum(f.stat().st_size for f in args.out.iterdir() if f.is_file()) / 1e6
    print(f"{size:.1f} MB in {args.out.name}")


if __name__ == "__main__":
    main()
