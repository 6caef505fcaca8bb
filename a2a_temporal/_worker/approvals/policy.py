"""What a workflow author says about a request to people, and what comes back."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Literal, TypeVar

from a2a_temporal._log.requests import RULE, Record
from a2a_temporal._worker.approvals import arguments

T = TypeVar("T")


@dataclass(frozen=True, init=False)
class Approvers:
    """Who may decide: names of people or groups, and how many of them must agree.

    Args:
        *names: People or groups; none means everybody who may see the task.
        quorum: Approvals needed, each by another person. One rejection always rejects.
        exclude_requester: Four eyes: the person who made the task may not decide.
        verified_only: Only people a server has authenticated (A2A client, inbox) count; a name
            typed into a signal by hand does not.
    """

    names: tuple[str, ...]
    quorum: int
    exclude_requester: bool
    verified_only: bool

    def __init__(
        self,
        *names: str,
        quorum: int = 1,
        exclude_requester: bool = False,
        verified_only: bool = False,
    ) -> None:
        flags = {"exclude_requester": exclude_requester, "verified_only": verified_only}
        object.__setattr__(self, "names", arguments.names("Approvers", names))
        object.__setattr__(self, "quorum", arguments.quorum("Approvers", quorum))
        for name, value in flags.items():
            object.__setattr__(self, name, arguments.flag(f"Approvers.{name}", value))


@dataclass(frozen=True)
class Expire:
    """On time-out the task FAILS."""


@dataclass(frozen=True)
class Reject:
    """On time-out the answer is no."""


@dataclass(frozen=True)
class Approve:
    """On time-out the answer is yes. Silence as consent: choose it knowingly."""


@dataclass(frozen=True, init=False)
class Escalate:
    """On time-out others are asked, from the beginning.

    Args:
        *names: The people or groups asked next.
        quorum: How many of them must agree.
        timeout: How long they have; as long as the first ones by default.
        then: What happens when they do not answer either.
    """

    names: tuple[str, ...]
    quorum: int
    timeout: timedelta | None
    then: "OnTimeout"

    def __init__(
        self,
        *names: str,
        quorum: int = 1,
        timeout: timedelta | None = None,
        then: "OnTimeout | None" = None,
    ) -> None:
        if not names:
            raise ValueError("Escalate takes names of people or groups to escalate to, at least 1.")
        object.__setattr__(self, "names", arguments.names("Escalate", names))
        object.__setattr__(self, "quorum", arguments.quorum("Escalate", quorum))
        object.__setattr__(self, "timeout", arguments.duration("Escalate.timeout", timeout))
        object.__setattr__(self, "then", rule_of("Escalate.then", then))


OnTimeout = Expire | Reject | Approve | Escalate


def rule_of(name: str, value: Any) -> OnTimeout:
    """Return what happens when time runs out.

    Raises:
        TypeError: It is none of the rules, or a rule's class.
    """
    if value is None:
        return Expire()
    if not isinstance(value, (Expire, Reject, Approve, Escalate)):
        raise TypeError(
            f"{name} must be Expire(), Reject(), Approve() or Escalate(...), got {value!r:.200}."
        )
    return value


def rule_text(rule: OnTimeout) -> str:
    """Return how a record names a rule."""
    named = ", ".join(map(repr, rule.names)) if isinstance(rule, Escalate) else ""
    return f"on_timeout={type(rule).__name__}({named})"


@dataclass(frozen=True)
class Decision(Generic[T]):
    """How a request for approval ended.

    Attributes:
        approved: Whether to go ahead.
        outcome: ``approved`` or ``rejected`` by people, ``timed_out`` by the clock.
        details: What was decided on, as the log has it, with the approver's changes if there were
            any.
        records: The answers that counted, in order, and the rule where the clock has decided.
    """

    approved: bool
    outcome: Literal["approved", "rejected", "timed_out"]
    details: T
    records: list[Record] = field(default_factory=list[Record])

    @property
    def comment(self) -> str:
        """The last comment somebody gave."""
        return next((each.comment for each in reversed(self.records) if each.comment), "")

    @property
    def decided_by(self) -> list[str]:
        """The people whose answers counted."""
        return [each.by for each in self.records if each.channel != RULE]

    def __bool__(self) -> bool:
        return self.approved
