"""Views of a `GuardResult` for people: a terminal table, Markdown with footnotes, an HTML page."""
