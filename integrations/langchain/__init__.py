"""groundrail for LangChain: a guarded runnable, a guarded chat model and a callback handler.

`GuardedRunnable` and `GuardedChatModel` hold text back until its verdict. A callback handler cannot: it
sees tokens that the chain emits all the same, and tells or stops. Needs langchain-core 1.x only.
"""

from groundrail.integrations.langchain.callback import AsyncGroundrailCallbackHandler, GroundrailCallbackHandler
from groundrail.integrations.langchain.chat import GuardedChatModel
from groundrail.integrations.langchain.documents import SourcedResult
from groundrail.integrations.langchain.runnable import RESULT_EVENT, SENTENCE_EVENT, TEMPLATE, GuardedRunnable

__all__ = [
    "RESULT_EVENT",
    "SENTENCE_EVENT",
    "TEMPLATE",
    "AsyncGroundrailCallbackHandler",
    "GroundrailCallbackHandler",
    "GuardedChatModel",
    "GuardedRunnable",
    "SourcedResult",
]
