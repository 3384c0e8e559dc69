"""The gating server under load: clients at once against a scripted upstream, all on loopback.

Every client has a source and an answer of its own, with true and false sentences. It checks that no false sentence
arrives, that every released one is its own and in its place, and that the offsets told of tile the whole answer, so
that no sentence is lost or doubled. Prints latencies, what the judge was asked, and the server's memory.

    python benchmarks/serve.py --clients 64 --seconds 60
    python benchmarks/serve.py --batching
"""

import argparse
import asyncio
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from shared import megabytes

UPSTREAM = Path(__file__).parents[1] / "examples" / "scripted_upstream.py"
NAMES = "Adler Birke Conrad Dorsch Eiche Falke Gruber Hansen Imhof Jansen Keller Lorenz Moser Nagel Otter Petri".split()


@dataclass
class Script:
    """One client's source, and what the upstream writes about it: each sentence with whether it is true."""

    source: str
    sentences: list[tuple[str, bool]]

    @classmethod
    def of(cls, client: int, turn: int) -> "Script":
        name = f"{NAMES[client % len(NAMES)]} {100 + client}"
        rent, rooms, year = 600 + 7 * client + turn % 90, 2 + (client + turn) % 5, 1900 + (client * 3 + turn) % 99
        source = (
            f"Flat {name} was built in {year}. The rent of flat {name} is {rent} euros per month. "
            f"Flat {name} has {rooms} rooms. The deposit for flat {name} is {2 * rent} euros. Heating is included."
        )
        return cls(
            source,
            [
                (f"The rent of flat {name} is {rent} euros per month. ", True),
                (f"Flat {name} was built in {year + 21}. ", False),
                (f"Flat {name} has {rooms} rooms. ", True),
                (f"The deposit for flat {name} is {2 * rent + 300} euros. ", False),
                ("Heating is included.", True),
            ],
        )

    @property
    def answer(self) -> str:
        return "".join(text for text, _ in self.sentences)

    def request(self) -> dict[str, object]:
        prompt = f"<write>{self.answer}</write>"
        messages = [{"role": "user", "content": prompt}]
        return {"model": "scripted", "stream": True, "documents": [self.source], "messages": messages}


@dataclass
class Seen:
    """The observations of all clients."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    answers: int = 0
    written: Counter[bool] = field(default_factory=Counter)
    released: Counter[bool] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


async def ask(client: httpx.AsyncClient, address: str, script: Script, seen: Seen) -> None:
    """One answer, checked against its script."""
    started, first, place = time.monotonic(), None, 0
    known = dict(script.sentences)
    async with client.stream("POST", f"{address}/v1/chat/completions", json=script.request()) as response:
        if response.status_code != 200:
            seen.faults.append(f"status {response.status_code}: {(await response.aread())[:200]!r}")
            return
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line[6:])
            if "error" in chunk:
                seen.faults.append(str(chunk["error"]))
                return
            told = chunk.get("groundrail", {}).get("sentence")
            if told is None:
                continue
            if told["start"] != place:
                seen.faults.append(f"a sentence begins at {told['start']}, the one before ended at {place}")
            text, place = script.answer[told["start"] : told["end"]], told["end"]
            content = chunk["choices"][0]["delta"].get("content", "")
            if text not in known or content not in ("", text):
                seen.faults.append(f"{content!r} came in the place of {text!r}")
                return
            first = first or time.monotonic() - started
            seen.written[known[text]] += 1
            seen.released[known[text]] += bool(content)
    if place != len(script.answer):
        seen.faults.append(f"the answer ended at {place} of {len(script.answer)}")
    seen.answers += 1
    seen.first.append(first or 0.0)
    seen.whole.append(time.monotonic() - started)


async def load(address: str, clients: int, seconds: float, seen: Seen, server: int) -> list[int]:
    """All clients ask, one answer after another, until the time is over; gives the server's memory over time."""
    until, memory = time.monotonic() + seconds, [resident(server)]

    async def one(number: int) -> None:
        async with httpx.AsyncClient(timeout=120) as client:
            turn = 0
            while time.monotonic() < until:
                await ask(client, address, Script.of(number, turn), seen)
                turn += 1

    async def watch() -> None:
        while True:
            await asyncio.sleep(max(0.5, seconds / 60))
            memory.append(resident(server))

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(one(number) for number in range(clients)))
    watching.cancel()
    return [*memory, resident(server)]


def resident(process: int) -> int:
    """Memory of a process in MiB."""
    return round(megabytes("VmRSS", process) * 1e6 / 2**20)


def percentiles(values: Sequence[float]) -> str:
    cuts = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else [values[0]] * 99
    return "  ".join(f"p{p} {cuts[p - 1]:6.2f} s" for p in (50, 90, 99)) + f"  max {max(values):6.2f} s"


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def measure_server(options: argparse.Namespace) -> int:
    port = free_port()
    command = [sys.executable, str(UPSTREAM), "--port", str(port), "--pace", str(options.pace)]
    upstream = subprocess.Popen(command)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write("attempts = 1\n")
        policy.flush()
        serve = ["serve", "--port", "0", "--upstream", f"http://127.0.0.1:{port}/v1", "--policy", policy.name]
        serve += ["--max-concurrency", str(options.clients), "--log-level", "warning"]
        server = subprocess.Popen([sys.executable, "-m", "groundrail.cli.main", *serve], stderr=subprocess.PIPE, text=True)
        try:
            address = next(m[1] for line in server.stderr or () if (m := re.search(r"serving on (\S+)/", line)))
            threading.Thread(target=shutil.copyfileobj, args=(server.stderr, sys.stderr), daemon=True).start()
            seen = Seen()
            asyncio.run(load(address, 1, 2, Seen(), server.pid))  # the first answers warm everything up
            started = time.monotonic()
            memory = asyncio.run(load(address, options.clients, options.seconds, seen, server.pid))
            spent = time.monotonic() - started
            metrics = httpx.get(f"{address}/metrics").text
        finally:
            server.terminate()
            upstream.terminate()
            server.wait()
            upstream.wait()
    value = {name: float(number) for name, number in re.findall(r"^(\w+) ([\d.e+-]+)$", metrics, re.MULTILINE)}
    calls, pairs = value["groundrail_batch_pairs_count"], value["groundrail_batch_pairs_sum"]
    print(f"{options.clients} clients, {spent:.0f} s: {seen.answers} answers, {sum(seen.written.values())} sentences")
    print(f"  first sentence   {percentiles(seen.first)}")
    print(f"  whole answer     {percentiles(seen.whole)}")
    print(f"  a second         {seen.answers / spent:.1f} answers, {sum(seen.written.values()) / spent:.1f} sentences")
    print(f"  true released    {seen.released[True]} of {seen.written[True]}")
    print(f"  false released   {seen.released[False]} of {seen.written[False]}")
    print(f"  model calls      {calls:.0f}, {pairs / max(1, calls):.1f} pairs each")
    half = memory[len(memory) // 2]
    print(f"  server's memory  {memory[0]} MiB at the start, {half} halfway, {memory[-1]} at the end, {max(memory)} at most")
    print(f"  cross-talk, lost or doubled sentences, errors: {len(seen.faults)}")
    for fault in seen.faults[:5]:
        print(f"    {fault}")
    return 1 if seen.faults else 0


def measure_batching(options: argparse.Namespace) -> int:
    """Answers a second: one after another, and at once through the shared judge."""
    from groundrail import Guard
    from groundrail.entailment import load as load_judge
    from groundrail.scoring import NearestScorer
    from groundrail.scoring.batched import batched

    scripts = [Script.of(number, number) for number in range(options.answers)]
    plain = Guard(scorer=NearestScorer(load_judge()))
    plain.check(scripts[0].answer, scripts[0].source)
    started = time.monotonic()
    alone = [plain.check(script.answer, script.source) for script in scripts]
    print(f"one after another  {len(scripts) / (time.monotonic() - started):6.2f} answers a second")
    scorer = batched()
    guard = Guard(scorer=scorer)
    worst = 0.0

    async def at_once(most: int) -> float:
        free = asyncio.Semaphore(most)

        async def one(number: int) -> None:
            nonlocal worst
            async with free:
                result = await guard.acheck(scripts[number].answer, scripts[number].source)
            for ours, theirs in zip(result.sentences, alone[number].sentences, strict=True):
                worst = max(worst, abs((ours.score or 0.0) - (theirs.score or 0.0)))

        begun = time.monotonic()
        await asyncio.gather(*(one(number) for number in range(len(scripts))))
        return len(scripts) / (time.monotonic() - begun)

    for most in (1, 8, 32):
        print(f"{most:2d} at once         {asyncio.run(at_once(most)):6.2f} answers a second")
    print(f"largest difference of a score from judging alone: {worst:.1e}")
    scorer.close()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pace", type=float, default=0.01, help="seconds between the upstream's pieces")
    parser.add_argument("--batching", action="store_true", help="measure batched judging alone, without a server")
    parser.add_argument("--answers", type=int, default=64, help="answers that --batching checks")
    options = parser.parse_args()
    return measure_batching(options) if options.batching else measure_server(options)


if __name__ == "__main__":
    sys.exit(main())
