"""One lock for loading: transformers' lazy imports and its default dtype are no matter for two threads at once."""

import threading

LOADING = threading.RLock()
