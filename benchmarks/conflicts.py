"""Questions whose source contradicts what the model knows: how often does the answer follow the source?

    python benchmarks/conflicts.py
    python benchmarks/conflicts.py --model ID

`conflicts.jsonl` holds questions with a source that was made up for them, the answer that it tells, and the answer
that is commonly known. Each question is asked three times, greedily: with its source, with the same source after the
known answer was put in the told one's place, which contradicts nothing, and without any. An answer follows the source
where it has the source's answer and not the other one. The model is SmolLM2-135M-Instruct, or `--model ID`.
"""

import argparse
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from shared import generator_of, head, json_lines, row

from groundrail.decoding import CAD, PMI, AdaCAD, HFGenerator, PMIDecoding, Steering

QUESTIONS = Path(__file__).with_name("conflicts.jsonl")
STEERINGS: dict[str, Steering | None] = {
    "none": None,
    "CAD 0.5": CAD(0.5),
    "CAD 1": CAD(1.0),
    "AdaCAD": AdaCAD(),
    "AdaCAD, at least 0.3": AdaCAD(least=0.3),
    "PMI-interpolation 0.3": PMI(0.3, "interpolation"),
    "PMI-interpolation 0.5": PMI(0.5, "interpolation"),
}


class Question(NamedTuple):
    """A question, its source, the answer that stands there, and the one that is commonly known."""

    question: str
    source: str
    told: str
    known: str

    @property
    def agreeing_source(self) -> str:
        """The source with the known answer in it."""
        return self.source.replace(self.told, self.known)


def has(answer: str, word: str) -> bool:
    """Whether the answer has the word, as a word of its own in any case."""
    return re.search(rf"\b{re.escape(word)}\b", answer, re.IGNORECASE) is not None


def follows(answer: str, wanted: str, other: str) -> bool:
    """Whether it has the wanted word and not the other."""
    return has(answer, wanted) and not has(answer, other)


def answers(generator: HFGenerator, prompts: list[tuple[str, str]], steering: Steering | None, tokens: int) -> list[str]:
    """Greedy answers to (question, source), in one batch; steered against the same questions without a source."""
    grounded = batch(generator, prompts)
    options: dict[str, Any] = {"max_new_tokens": tokens, "do_sample": False}
    options["pad_token_id"] = min(generator.stop_ids)
    if steering is not None:
        ungrounded = batch(generator, [(question, "") for question, _ in prompts])
        options["custom_generate"] = PMIDecoding(ungrounded, steering)
    model: Any = generator.model
    rows = model.generate(**grounded, **options)[:, grounded["input_ids"].shape[1] :]
    return [str(text) for text in generator.tokenizer.batch_decode(rows, skip_special_tokens=True)]


def batch(generator: HFGenerator, prompts: list[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """The prompts as the generator writes them, padded on the left."""
    rows = [generator.encode(question, source) for question, source in prompts]
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    return {"input_ids": ids.to(generator.model.device), "attention_mask": mask.to(generator.model.device)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="hub id or folder")
    parser.add_argument("--device")
    parser.add_argument("--tokens", type=int, default=24, help="of an answer")
    parser.add_argument("--limit", type=int, help="only this many questions")
    arguments = parser.parse_args()
    generator = generator_of(arguments.model, arguments.device)
    asked = [Question(**each) for each in json_lines(QUESTIONS)][: arguments.limit]

    def share(wanted: list[tuple[str, str, str, str]], steering: Steering | None) -> str:
        """Per cent of the answers to (question, source, wanted, other) that have what is wanted."""
        written = answers(generator, [row[:2] for row in wanted], steering, arguments.tokens)
        found = [follows(text, row[2], row[3]) for text, row in zip(written, wanted, strict=True)]
        return f"{100 * sum(found) / len(found):.0f}"

    known = share([(q.question, "", q.known, q.told) for q in asked], None)
    head("steering | follows a source that contradicts | follows a source that agrees")
    for name, steering in STEERINGS.items():
        against = share([(q.question, q.source, q.told, q.known) for q in asked], steering)
        agreeing = share([(q.question, q.agreeing_source, q.known, q.told) for q in asked], steering)
        row(name, against, agreeing)
    print(f"\n{len(asked)} questions, in per cent; without a source {known} have the known answer.")


if __name__ == "__main__":
    main()
