"""Check JSON objects: each leaf is a claim and gets a verdict and citations by JSON pointer."""
