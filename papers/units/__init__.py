"""Units into which a claim is cut before it is scored: sentences, sub-sentences, clauses."""
