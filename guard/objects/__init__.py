"""JSON objects as claims: leaves in, a verdict and citations for each JSON pointer out."""
