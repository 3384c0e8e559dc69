"""Adapters to other libraries. Import the one you need: nothing is imported here."""
