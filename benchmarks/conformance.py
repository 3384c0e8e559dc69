"""The table of docs/conformance.md: every host, every way of writing, and whether each of its answers held.

Hosts of which the same holds share a row.

Run from the root of the tree: `python -m benchmarks.conformance --streams 20`.
"""

import argparse
import sys

from tests.conformance.scripts import WAYS, script
from tests.conformance.table import HOSTS, problems


def cell(name: str, way: str, streams: int) -> str:
    """The outcome of one host and way: how many streams held, or a dash where the host has no such way."""
    host = HOSTS[name]
    if way not in host.ways:
        return "-"
    held = sum(not problems(host, script(way, seed)) for seed in range(streams))
    kind = "holds" if host.holds_back else "reports"
    return kind if held == streams else f"**{held} of {streams}**"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--streams", type=int, default=20, help="answers for each host and way")
    streams: int = parser.parse_args().streams
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in HOSTS:
        alike.setdefault(tuple(cell(name, way, streams) for way in WAYS), []).append(name)
        print(f"{name} is done", file=sys.stderr, flush=True)
    print("| hosts |", " | ".join(WAYS), "|")
    print("| --- |", " | ".join("---" for _ in WAYS), "|")
    for cells, names in alike.items():
        print(f"| {'; '.join(names)} |", " | ".join(cells), "|")
    print(f"\n{streams * sum(len(host.ways) for host in HOSTS.values()):,} answers")


if __name__ == "__main__":
    main()
