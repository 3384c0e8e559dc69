"""groundrail for LangChain: a guarded runnable, a guarded chat model, an agent's middleware and a callback handler.

`GuardedRunnable`, `GuardedChatModel` and `GroundrailMiddleware` hold text back until its verdict. A callback
handler cannot: it sees tokens that the chain emits all the same, and tells or stops. Needs langchain-core 1.x only,
but for `GroundrailMiddleware`, which is imported when asked for and needs the extra `langchain`.
"""

from typing import TYPE_CHECKING

from groundrail.integrations.langchain.callback import AsyncGroundrailCallbackHandler, GroundrailCallbackHandler
from groundrail.integrations.langchain.chat_model import GuardedChatModel
from groundrail.integrations.langchain.retrieved import SourcedResult
from groundrail.integrations.langchain.runnable import RESULT_EVENT, SENTENCE_EVENT, TEMPLATE, GuardedRunnable
from groundrail.runtime.lazy import exported

if TYPE_CHECKING:
    from groundrail.integrations.langchain.middleware import GroundrailMiddleware as GroundrailMiddleware

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

__getattr__, __dir__, _ = exported(__name__, {"middleware": "GroundrailMiddleware"})
