"""What a task was before an attempt, so that a lost attempt's half-built work can be dropped."""

from dataclasses import dataclass, field, replace
from typing import Any

from a2a.types.a2a_pb2 import Artifact, Role, Task, TaskState
from google.protobuf.struct_pb2 import Struct

from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._log.reserved import is_reserved


@dataclass
class Checkpoint:
    """The parts of a Task that the attempts of one turn or activity have touched, as they were.

    Attributes:
        messages: Length of the history before; nothing of the attempts lies before that.
        artifacts: Touched artifacts as they were, ``None`` for one that was not there.
        metadata: Touched keys: their value in a list, an empty list for one that was not there.
        message_ids: What the agent has said since.
        asked: The state in which an attempt asks the client something; 0 when none does.
    """

    messages: int = 0
    artifacts: dict[str, Artifact | None] = field(default_factory=dict[str, Artifact | None])
    metadata: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    message_ids: set[str] = field(default_factory=set[str])
    asked: int = 0

    def keep_artifact(self, artifact_id: str, known: Artifact | None) -> None:
        """Remember an artifact before an attempt first touches it."""
        if artifact_id in self.artifacts:
            return
        before = None
        if known is not None:
            before = Artifact()
            before.CopyFrom(known)
        self.artifacts[artifact_id] = before

    def keep_metadata(self, metadata: Struct, update: Struct) -> None:
        """Remember the keys of a Task's metadata that an attempt is about to change."""
        for key in sorted(update.fields):
            if key not in self.metadata:
                present = key in metadata.fields
                self.metadata[key] = [to_json(metadata)[key]] if present else []

    def copy(self) -> "Checkpoint":
        """Return another that may be restored from while this one is still needed."""
        return replace(
            self,
            artifacts=dict(self.artifacts),
            metadata=dict(self.metadata),
            message_ids=set(self.message_ids),
        )

    def restore(self, task: Task) -> bool:
        """Make ``task`` what it was before the attempts; say whether they had changed anything.

        What clients said since, and what the workflow itself made, stays.
        """
        if not (self.artifacts or self.metadata or self.message_ids or self.asked):
            return False
        self._restore_artifacts(task)
        self._restore_metadata(task)
        self._restore_history(task)
        if self.asked:
            task.status.state = TaskState.TASK_STATE_WORKING
        self.artifacts.clear()
        self.metadata.clear()
        self.message_ids.clear()
        self.asked = 0
        return True

    def _restore_artifacts(self, task: Task) -> None:
        before = [self.artifacts.get(each.artifact_id, each) for each in task.artifacts]
        kept = Task(artifacts=[each for each in before if each is not None])
        task.ClearField("artifacts")
        task.artifacts.extend(kept.artifacts)

    def _restore_metadata(self, task: Task) -> None:
        present = to_json(task.metadata)
        for key, before in self.metadata.items():
            present.pop(key, None)
            present.update((key, value) for value in before)
        task.ClearField("metadata")
        if present:
            from_json(present, task.metadata)

    def _restore_history(self, task: Task) -> None:
        earlier, later = task.history[: self.messages], task.history[self.messages :]
        kept = [
            each
            for each in later
            if each.role == Role.ROLE_USER
            or each.message_id not in self.message_ids
            or is_reserved(each)  # the workflow's own words, whose id an agent may have repeated
        ]
        task.ClearField("history")
        task.history.extend([*earlier, *kept])
        shown = task.status.message
        if shown.message_id in self.message_ids and not is_reserved(shown):
            task.status.ClearField("message")

    def to_json(self) -> dict[str, Any]:
        """Return the checkpoint as plain JSON, for continue-as-new."""
        return {
            "messages": self.messages,
            "artifacts": {
                artifact_id: to_json(before) if before is not None else None
                for artifact_id, before in self.artifacts.items()
            },
            "metadata": self.metadata,
            "message_ids": sorted(self.message_ids),
            "asked": self.asked,
        }

    @staticmethod
    def from_json(carried: dict[str, Any]) -> "Checkpoint":
        """Read what :meth:`to_json` wrote, or nothing."""
        return Checkpoint(
            messages=int(carried.get("messages", 0)),
            artifacts={
                artifact_id: from_json(before, Artifact()) if before is not None else None
                for artifact_id, before in carried.get("artifacts", {}).items()
            },
            metadata={key: list(value) for key, value in carried.get("metadata", {}).items()},
            message_ids=set(carried.get("message_ids", [])),
            asked=int(carried.get("asked", 0)),
        )
