"""Every name that reaches Temporal. Renaming one breaks running tasks."""

from typing import Final

LOG_VERSION: Final = 1

AGENT_WORKFLOW: Final = "A2AAgentTask"
RUN_AGENT_ACTIVITY: Final = "a2a_run_agent"
CANCEL_AGENT_ACTIVITY: Final = "a2a_cancel_agent"

PUSH_WORKFLOW: Final = "A2APush"
LATE_CONFIGS_WORKFLOW: Final = "A2APushConfigs"
PUSH_DELIVER_ACTIVITY: Final = "a2a_push_deliver"
PUSH_LOG_END_ACTIVITY: Final = "a2a_push_log_end"
PUSH_RESUME_ACTIVITY: Final = "a2a_push_resume"

MESSAGE_SIGNAL: Final = "a2a_message"
EVENTS_SIGNAL: Final = "a2a_events"
APPROVE_SIGNAL: Final = "approve"
REJECT_SIGNAL: Final = "reject"
ANSWER_SIGNAL: Final = "answer"
DECISION_SIGNAL: Final = "a2a_decision"
PUSH_CONFIG_SIGNAL: Final = "a2a_push_config"
INDEX_SIGNAL: Final = "a2a_index"
TASK_SIGNALS: Final = frozenset(
    {
        MESSAGE_SIGNAL,
        EVENTS_SIGNAL,
        APPROVE_SIGNAL,
        REJECT_SIGNAL,
        ANSWER_SIGNAL,
        DECISION_SIGNAL,
        PUSH_CONFIG_SIGNAL,
        INDEX_SIGNAL,
    }
)
OUT_OF_SIGNALS: Final = "limit for signal events"
"""In what Temporal says where a run has had as many signals as it takes."""

ENTRY_MEMO: Final = "a2a"
START_MEMO: Final = "a2a_start"
HEARTBEATS_HEADER: Final = "a2a_heartbeats"
CHILD_HEADER: Final = "a2a_child"
MESSAGE_HEADER: Final = "a2a_message"
TASK_QUERY: Final = "a2a_task"
WAITS: Final = "waits"
"""Key of a start's request: how many seconds its caller waits for a Message; null for ever."""

PUSH_NOTIFY_SIGNAL: Final = "a2a_push_notify"
PUSH_REDELIVER_SIGNAL: Final = "a2a_push_redeliver"
PUSH_MEMO: Final = "a2a_push"
PUSH_QUERY: Final = "a2a_push"

AGENT_ATTRIBUTE: Final = "A2aAgent"
OWNER_ATTRIBUTE: Final = "A2aOwner"
TENANT_ATTRIBUTE: Final = "A2aTenant"
CONTEXT_ATTRIBUTE: Final = "A2aContextId"
STATE_ATTRIBUTE: Final = "A2aState"
UPDATED_ATTRIBUTE: Final = "A2aUpdatedAt"
APPROVERS_ATTRIBUTE: Final = "A2aApprovers"
PUSH_DEAD_LETTERS: Final = "dead-letters"
PUSH_DELIVERING: Final = "delivering"
"""The state attribute of a delivery workflow, which is no task, says one of the two."""

SEARCH_ATTRIBUTES: Final[dict[str, str]] = {
    AGENT_ATTRIBUTE: "Keyword",
    OWNER_ATTRIBUTE: "Keyword",
    TENANT_ATTRIBUTE: "Keyword",
    CONTEXT_ATTRIBUTE: "Keyword",
    STATE_ATTRIBUTE: "Keyword",
    UPDATED_ATTRIBUTE: "Datetime",
    APPROVERS_ATTRIBUTE: "KeywordList",
}
"""Name → type, as ``temporal operator search-attribute create`` takes them."""


def push_workflow_id(task_id: str, number: int) -> str:
    """Return the id of the ``number``-th delivery workflow of a task."""
    return f"{task_id}/push/{number}"


def push_task_queue(task_queue: str) -> str:
    """Return the task queue of the deliveries of tasks that run on a task queue."""
    return f"{task_queue}/push"


def late_configs_id(task_id: str, number: int) -> str:
    """Return the id of the ``number``-th workflow that takes push configs of a finished task."""
    return f"{task_id}/push/configs/{number}"
