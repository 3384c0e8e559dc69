"""What a claim is cut into before it is scored: sentences, sub-sentences, clauses."""
