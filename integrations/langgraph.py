"""groundrail for LangGraph: a node that calls a chat model and lets its supported text alone into state and streams.

Tested with langgraph 1.2. The node is a `GuardedChatModel` with the graph's state around it; a graph that calls a model in
nodes of its own puts the guarded chat model there. Agents of `langchain.agents` take `GroundrailMiddleware` instead.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from groundrail.errors import InputError, MissingExtraError
from groundrail.guard import Guard
from groundrail.integrations.langchain import GuardedChatModel

try:
    import langgraph.graph  # noqa: F401 (the node is of no use without it)
except ImportError as error:
    raise MissingExtraError("groundrail.integrations.langgraph", "langgraph") from error


def guarded_node(
    model: Runnable[Any, Any], guard: Guard, *, messages: str = "messages", documents: str = "documents", **options: Any
) -> Runnable[Any, Any]:
    """A node that answers the state's messages with a guarded message.

    messages, documents: the keys of the state that hold the conversation and the sources, which may be LangChain's
        documents or text. Results of tools among the messages are sources as well.
    options: those of `GuardedChatModel`.

    Example: `graph.add_node("answer", guarded_node(model, guard))`.
    """
    guarded = GuardedChatModel(model=model, guard=guard, **options)

    def asked(state: Any) -> tuple[Any, Any]:
        if not isinstance(state, Mapping) or messages not in state:
            raise InputError(f"the graph's state has no {messages!r}; name the key of its messages with messages=")
        return state[messages], state.get(documents)

    def call(state: Any, config: RunnableConfig) -> dict[str, Any]:
        given, found = asked(state)
        return {messages: [guarded.invoke(given, config, documents=found)]}

    async def acall(state: Any, config: RunnableConfig) -> dict[str, Any]:
        given, found = asked(state)
        return {messages: [await guarded.ainvoke(given, config, documents=found)]}

    return RunnableLambda(call, acall)
