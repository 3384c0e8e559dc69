"""Parts that several benchmarks share: files, a language model, tables in Markdown, processes and their memory."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundrail.decoding import HFGenerator

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"


def json_lines(path: Path) -> list[Any]:
    """The values in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def head(*columns: str) -> None:
    """Print the head of a table in Markdown; a text may name several columns, with "|" between them."""
    line = " | ".join(columns)
    print(f"| {line} |\n{'| --- ' * (line.count('|') + 1)}|")


def row(*cells: object) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def language_model(name: str | None) -> tuple[Any, Any]:
    """Model and tokenizer by hub id or folder; SmolLM2-135M-Instruct, as pip fetches it, where none is named."""
    if name is None:
        from groundrail.generators.smollm2 import smollm2

        return smollm2()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)


def generator_of(name: str | None, device: str | None) -> "HFGenerator":
    """A generator around the model that `language_model` would give."""
    from groundrail.decoding import HFGenerator

    return HFGenerator(*language_model(None)) if name is None else HFGenerator.from_pretrained(name, device=device)


def alone(script: str, *arguments: str) -> Any:
    """The JSON that a script prints last when it runs in a process of its own, with `--alone` and these arguments."""
    command = [sys.executable, script, "--alone", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def megabytes(kind: str, process: int | str = "self") -> float:
    """Memory of a process: "VmRSS" is what it holds now, "VmHWM" the most that it ever held. Linux only."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(rf"{kind}:\s+(\d+) kB", status)[0]) * 1024 / 1e6
