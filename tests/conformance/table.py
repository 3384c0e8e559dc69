"""The table of all hosts, and the properties that each of their answers has."""

from tests.conformance import (
    haystack_hosts,
    hosts,
    langchain_hosts,
    llama_index_hosts,
    mcp_hosts,
    openai_agents_hosts,
    pydantic_ai_hosts,
)
from tests.conformance.hosts import Host
from tests.conformance.scripts import HIDDEN, Script

HOSTS: dict[str, Host] = {
    **hosts.HOSTS,
    **langchain_hosts.HOSTS,
    **pydantic_ai_hosts.HOSTS,
    **openai_agents_hosts.HOSTS,
    **haystack_hosts.HOSTS,
    **llama_index_hosts.HOSTS,
    **mcp_hosts.HOSTS,
}
"""Every host by its name."""


def problems(host: Host, answer: Script) -> str:
    """The broken properties of one answer at a host, empty where all hold."""
    seen = host.run(answer)
    found = []
    if not host.allows(answer, seen.text):
        found.append(f"a reader saw {seen.text!r}, and may see {answer.required!r} with or without {answer.optional!r}")
    if seen.result is not None and seen.result != seen.text:
        found.append(f"the result's text is {seen.result!r}, and a reader saw {seen.text!r}")
    if host.holds_back and seen.leaked:
        found.append(f"{seen.leaked!r} leaked")
    if answer.raises and seen.error is None and not host.tells_errors:
        found.append("the policy raises, and no exception came")
    if not host.holds_back and set(answer.text) & HIDDEN and not seen.leaked:
        found.append("the host can only report, and yet the false text was not seen")
    return "; ".join(found)
