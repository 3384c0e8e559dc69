"""The papers' tables, each by one command: `groundrail reproduce TABLE --data DIR`.

Every table is an entry of `groundrail.reproduce.tables.TABLES`: its data, protocol, model and figures, and the function
that works it out. Files, models and measures belong to `groundrail.evaluation` and `.scoring`.
"""
