"""A wrong date is refused before anyone sees it, and the retry is right: SmolLM2, with the log of its attempts.

python examples/retry.py
"""

from groundrail import Guard
from groundrail.decoding import HFGenerator, Sampling
from groundrail.generators.smollm2 import smollm2

SOURCE = "Invoices are sent on the fifth of the month and are due on the twentieth. Reminders go out on the twenty-fifth."


def main() -> None:
    guard = Guard(HFGenerator(*smollm2(), sampling=Sampling(max_new_tokens=40)))
    result = guard.generate("When are invoices due?", SOURCE)
    for sentence in result.sentences:
        for attempt in sentence.attempts:
            print(f"{attempt.verdict!s:<12} {attempt.score:.2f}  {attempt.text.strip()}")
        print("cited:", *(citation.text for citation in sentence.citations))
    print("\nreleased:", result.text.strip())
    print("tokens:", {name: int(count) for name, count in result.generation.items() if name.startswith("tokens")})


if __name__ == "__main__":
    main()
