"""Text as it looks once it is rendered: markup, look-alike letters, links, hidden parts."""
