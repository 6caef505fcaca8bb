"""For agent code that runs in a worker: which turn is this, and a key for effects in it."""

from a2a_temporal._worker.turn import Turn, current_turn

__all__ = ["Turn", "current_turn"]
