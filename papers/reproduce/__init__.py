"""Reproduce the papers' tables, each by one command: `groundrail reproduce TABLE --data DIR`.

Each table is an entry of `groundrail.papers.reproduce.tables.TABLES`, with data, protocol, model, the paper's figures, and the
function that computes ours. `groundrail.evaluation` and `groundrail.scoring` have the files, models and measures.
"""
