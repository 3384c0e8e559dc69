"""The example documents, for `groundrail demo` to find; see README.md."""
