"""The host of the MCP server, asked by the SDK's own client."""

from mcp import Client
from tests.conformance.hosts import Host, in_a_loop
from tests.conformance.recorder import Seen
from tests.conformance.scripts import QUESTION, SOURCE, Script

from groundrail.integrations.mcp import create_server


def check(script: Script) -> Seen:
    """The tool `check`: its data, its text and its report."""

    async def run(seen: Seen) -> None:
        async with Client(create_server(script.guard())) as client:
            call = {"answer": script.text, "sources": [SOURCE], "question": QUESTION}
            result = await client.call_tool("check", call)
            seen.note(result)
            told = result.structured_content
            if told is not None:
                seen.pieces.append(told["text"])
                seen.note((await client.read_resource(told["report"])).contents)

    return in_a_loop(run)


HOSTS = {"MCP `check`": Host(check, ("whole", "half", "raise"), whole=True, tells_errors=True)}
"""The host by its name."""
