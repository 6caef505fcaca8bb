"""Requests to people: what an author asks, what waits for an answer, and what an answer does."""
