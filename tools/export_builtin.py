"""Writes trained weights into the package: int8 matrices with a scale a row, the rest in 16 bit.

    python tools/export_builtin.py runs/judge-1/judge.safetensors runs/judge-2/judge.safetensors --claims runs/packed/claims.npz

The mean of several files is written; `--share` keeps a part of the weights from which the runs started. The matrices are rounded for the inputs that the layers get while the judge reads pairs
drawn from the claims (`rounding.py`). `config.json` says whether the judge reads contexts; thresholds are fitted afterwards
and belong there, too. `fit_kinds.py` writes the head for kinds anew.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import rounding
import torch
from mpnet import SCALE, judge_of, weights_of
from packed import Packed
from safetensors.torch import save_file
from torch import Tensor
from train_judge import cut, padded

from groundrail.entailment.builtin import DIGEST, HEAD, WEIGHTS
from groundrail.entailment.builtin.mpnet import KINDS
from groundrail.runtime.checksums import sha256_of

BUILTIN = Path(__file__).parents[1] / "guard" / "entailment" / "builtin"
PAIRS, TOKENS = 400, 4000
"""Pairs that are read to find out what the layers get, and tokens that are read at once."""


def quantised(weights: Mapping[str, Tensor], products: Mapping[str, Tensor]) -> dict[str, Tensor]:
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


def products_of(weights: dict[str, Tensor], claims: Packed) -> dict[str, Tensor]:
    """The products of the layers' inputs while the judge reads pairs of all sets, by the weights' names."""
    model, rng = judge_of(weights).eval(), random.Random(0)
    chosen = [rng.choice(claims.claims_of(rng.choice(claims.sets)).tolist()) for _ in range(PAIRS)]
    pairs = [pair for claim in chosen for pair in claims.draw(claim, rng, 0.1, 0.0)]
    pairs.sort(key=lambda pair: len(pair.ids))

    def read() -> None:
        with torch.inference_mode():
            for run in cut(pairs, TOKENS):
                model(padded(run))

    found = rounding.input_products(model, read)
    own = {id(parameter): name for name, parameter in model.named_parameters()}
    return {name: found[own[id(p)]] for name, p in model.by_name().items() if own[id(p)] in found}


def write_digests(folder: Path) -> None:
    """Write the checksums of the weights and of the head for kinds, as far as they are there."""
    names = [name for name in (WEIGHTS, HEAD) if (folder / name).exists()]
    (folder / DIGEST).write_text("".join(f"{sha256_of(folder / n)}  {n}\n" for n in names), encoding="ascii")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, nargs="+", help="files that train_judge.py wrote")
    parser.add_argument("--base", type=Path, default=BUILTIN / WEIGHTS, help="weights from which the runs started")
    parser.add_argument("--share", type=float, default=1.0, help="share of the trained weights, the rest is of --base")
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--reads-context", action="store_true", help="it was trained on claims in their context")
    parser.add_argument("--out", type=Path, default=BUILTIN)
    args = parser.parse_args()
    found = weights_of([args.base, *args.trained], args.share)
    weights = {name: weight for name, weight in found.items() if not name.startswith(KINDS)}
    stored = quantised(weights, products_of(weights, Packed(np.load(args.claims))))
    content = hashlib.sha256(b"".join(stored[name].view(torch.uint8).numpy().tobytes() for name in sorted(stored)))
    config = json.loads((BUILTIN / "config.json").read_text(encoding="utf-8"))
    config["entailment_identity"] = f"the built-in judge {content.hexdigest()[:12]}"
    config["entailment_reads_context"] = args.reads_context
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    save_file(stored, args.out / WEIGHTS, {"format": "pt"})
    write_digests(args.out)
    print(f"{(args.out / WEIGHTS).stat().st_size / 1e6:.1f} MB, {config['entailment_identity']}")


if __name__ == "__main__":
    main()
