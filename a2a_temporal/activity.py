"""For code that runs in a worker's activities.

An agent asks which turn it is in and gets keys for effects that must not happen twice; an activity
of a workflow author publishes progress and artifacts of its task.
"""

from a2a_temporal._worker.agent.turn import Turn, current_turn
from a2a_temporal._worker.task.publisher import Publisher

__all__ = ["Publisher", "Turn", "current_turn"]
