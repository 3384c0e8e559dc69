"""The mean of the weights of several judges of the same shape: `mean_weights.py OUT FOLDER FOLDER ...`.

A folder may be given more than once, to weigh more. What else is in the first folder is copied.
"""

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    args = parser.parse_args()
    total = {name: tensor.double() for name, tensor in load_file(args.folders[0] / WEIGHTS).items()}
    for folder in args.folders[1:]:
        for name, tensor in load_file(folder / WEIGHTS).items():
            total[name] += tensor
    shutil.copytree(args.folders[0], args.out, dirs_exist_ok=True)
    save_file(
        {name: (tensor / len(args.folders)).float() for name, tensor in total.items()},
        args.out / WEIGHTS,
        {"format": "pt"},
    )


if __name__ == "__main__":
    main()
