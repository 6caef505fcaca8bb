"""Every name that reaches Temporal. Renaming one breaks running tasks."""

from typing import Final

LOG_VERSION: Final = 1

AGENT_WORKFLOW: Final = "A2AAgentTask"
RUN_AGENT_ACTIVITY: Final = "a2a_run_agent"
CANCEL_AGENT_ACTIVITY: Final = "a2a_cancel_agent"

MESSAGE_SIGNAL: Final = "a2a_message"
EVENTS_SIGNAL: Final = "a2a_events"
APPROVE_SIGNAL: Final = "approve"
REJECT_SIGNAL: Final = "reject"
ANSWER_SIGNAL: Final = "answer"
DECISION_SIGNAL: Final = "a2a_decision"
ENTRY_MEMO: Final = "a2a"
START_MEMO: Final = "a2a_start"
MESSAGE_HEADER: Final = "a2a_message"
TASK_QUERY: Final = "a2a_task"

AGENT_ATTRIBUTE: Final = "A2aAgent"
OWNER_ATTRIBUTE: Final = "A2aOwner"
TENANT_ATTRIBUTE: Final = "A2aTenant"
CONTEXT_ATTRIBUTE: Final = "A2aContextId"
STATE_ATTRIBUTE: Final = "A2aState"
UPDATED_ATTRIBUTE: Final = "A2aUpdatedAt"
APPROVERS_ATTRIBUTE: Final = "A2aApprovers"

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
