"""The OpenAI protocol: one client, its stream events, a generator and a judge that speak through it."""
