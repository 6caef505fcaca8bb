"""The workflow of an author whose histories are kept: it does what the message says."""

from datetime import timedelta

from temporalio import workflow

from a2a_temporal.workflow import Approvers, Escalate, Reject, TaskRun, TaskStart

_SOON = timedelta(milliseconds=200)


@workflow.defn(name="Flow")
class Flow:
    """Takes a message word by word: ``approve input auth two remind expire escalate next agent``.

    ``say`` reports and publishes; ``agent`` leaves the rest to the scripted agent.
    """

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Do one thing after the other; ``next`` does the rest in a new run."""
        words = self.task.text.split()
        for number in range(self.task.carried or 0, len(words)):
            if words[number] == "next":
                self.task.continue_as_new(number + 1)
            await self._do(words[number])
            if self.task.ended:
                break
        return "done"

    async def _do(self, word: str) -> None:
        match word:
            case "say":
                self.task.working("Working")
                self.task.add_artifact("a chunk", artifact_id="log", append=True)
            case "approve":
                approvers = Approvers("ann", "ben", quorum=2)
                await self.task.require_approval("Pay?", details={"sum": 5}, approvers=approvers)
            case "input":
                await self.task.require_input("Which?", choices=["red", "blue"])
            case "auth":
                await self.task.require_auth("Sign in, please")
            case "remind":
                await self.task.require_approval("Pay?", remind_every=_SOON)
            case "expire":
                await self.task.require_approval("Pay?", timeout=_SOON, on_timeout=Reject())
            case "escalate":
                rule = Escalate("cfo", timeout=timedelta(hours=1))
                await self.task.require_approval("Pay?", timeout=_SOON, on_timeout=rule)
            case "agent":
                await self.task.run_agent()
            case _:
                raise ValueError(f"unknown word {word!r}")
