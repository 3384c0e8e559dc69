"""Checks beside a model: what two texts say explicitly and differently. What a rule is worth is measured, not assumed."""
