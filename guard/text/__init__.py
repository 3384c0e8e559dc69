"""Text as a reader sees it: sentences, claims, and what is written in them. Nothing here judges."""
