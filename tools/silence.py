"""Claims that a text is silent: true where it does not say something, false where it says or denies it.

Questions of SQuAD 2.0 are the context of a short claim ("The text doesn't say."). Written claims are said not to be stated.
"""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SHORT = [
    line.strip()
    for line in """
    The text doesn't say.
    That isn't mentioned in the passage.
    The document is silent on that.
    Unfortunately, the source doesn't state this.
    I couldn't find anything about that in the text.
    This isn't covered.
    There is no information about this in the passage.
    That is left open in the document.
    The information provided doesn't answer that.
    The text gives no answer to this question.
    Nothing is said about that.
    The passage does not go into this.
    It isn't specified in the text, I'm afraid.
    That's not something the article mentions.
    I don't see that addressed anywhere in the document.
    """.strip().splitlines()
]
LONG = [
    line.strip()
    for line in """
    The text does not say that {claim}
    Nothing in the document says that {claim}
    The source doesn't state whether {claim}
    It is not mentioned whether {claim}
    The passage leaves open whether {claim}
    There's no mention in the text of whether {claim}
    I can't find anything in it saying that {claim}
    It is left unsaid whether {claim}
    The document is silent on whether {claim}
    Nowhere does it say that {claim}
    It doesn't specify if {claim}
    The information given does not tell us whether {claim}
    """.strip().splitlines()
]
SHARE = {"neutral": 1.0, "entailment": 0.1, "contradiction": 0.12}
"""Share of the written claims of each label that are said not to be stated, so that as many are true as false."""

_OPENING = frozenset(
    "the a an this that these those it they he she we you all both each every no nobody in on at if when".split()
)


def of_questions(file: Path, *, training: bool) -> Iterator[dict[str, Any]]:
    """Paragraphs of SQuAD 2.0 with two or three claims for each; half of the articles are for training."""
    articles, rng = json.loads(file.read_text(encoding="utf-8"))["data"], random.Random(f"silence {training}")
    for article in articles[0 if training else 1 :: 2]:
        for paragraph in article["paragraphs"]:
            asked = rng.sample(paragraph["qas"], min(len(paragraph["qas"]), 6))
            yield {
                "text": paragraph["context"],
                "claims": [
                    {
                        "text": rng.choice(SHORT),
                        "context": each["question"],
                        "label": "entailment" if each["is_impossible"] else "contradiction",
                        "kind": "silence",
                        "evidence": sorted(
                            {(a["answer_start"], a["answer_start"] + len(a["text"])) for a in each["answers"]}
                        ),
                    }
                    for each in asked
                ],
            }


def of_claims(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Written texts with claims of which some are said not to be stated: true of neutral claims, false of the others."""
    rng = random.Random("silence")
    for row in rows:
        claims = [
            {
                "text": rng.choice(LONG).format(claim=_inner(claim["text"])),
                "label": "entailment" if claim["label"] == "neutral" else "contradiction",
                "kind": "silence",
                "evidence": claim.get("evidence") or [],
            }
            for claim in row["claims"]
            if rng.random() < SHARE.get(claim["label"], 0.0) and not claim["text"].rstrip().endswith("?")
        ]
        if claims:
            yield {"text": row["text"], "claims": claims}


def _inner(claim: str) -> str:
    """A claim as the clause behind "that": its first word small if it is no name."""
    first, _, rest = claim.partition(" ")
    return f"{first.lower()} {rest}" if first.lower() in _OPENING else claim
