"""For workflow authors: make an ordinary ``@workflow.defn`` class an A2A task.

Everything here is safe in the default sandbox, with :class:`~a2a_temporal.A2APlugin` on the worker.
"""

from a2a_temporal._log.entries import TaskStart
from a2a_temporal._log.requests import Record
from a2a_temporal._worker.approvals.policy import (
    Approve,
    Approvers,
    Decision,
    Escalate,
    Expire,
    OnTimeout,
    Reject,
)
from a2a_temporal._worker.task.parts import data_of, text_of
from a2a_temporal._worker.task.task_run import TaskRun

__all__ = [
    "Approve",
    "Approvers",
    "Decision",
    "Escalate",
    "Expire",
    "OnTimeout",
    "Record",
    "Reject",
    "TaskRun",
    "TaskStart",
    "data_of",
    "text_of",
]
