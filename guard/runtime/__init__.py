"""Deadlines, locks, loading models from the hub, progress, memory."""
