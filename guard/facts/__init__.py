"""Figures, dates, units and names in a text, in any spelling."""
