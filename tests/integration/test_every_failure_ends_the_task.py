"""However an agent's code breaks, its task ends, soon, and callers return."""

from tests.support.calls import Caller, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.frames import state_in
from tests.support.results import state, status_text
from tests.support.waiting import within

BREAKING = (
    "boom",
    "nan",
    "raise timeout",
    "raise group",
    "raise base",
    "raise exit",
    "raise canceled",
)


async def test_every_kind_of_exception_ends_failed(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async def breaks(command: str) -> None:
            task = await within(20, caller.send_task(command), what=command)
            assert state(task) == "FAILED", f"{command}: {task}"
            async with caller.stream(command) as frames:
                received = await frames.to_the_end(within=30)
            assert state_in(received[-1]) == "FAILED", command
            await refused(caller.cancel(task["id"]), code=-32002)

        await all_of(*(breaks(command) for command in BREAKING))

    await over_every_binding(cluster.caller, scenario)
    assert all(worker.running for worker in cluster.workers)


async def test_what_the_agent_does_not_offer_is_rejected_with_a_reason(
    cluster: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        for command in ("boom-wf", "child", "approve wire-100", "approve2 a b"):
            task = await caller.send_task(f"echo first; {command}")
            assert state(task) == "REJECTED"
            assert command.split()[0] in status_text(task)

    await over_every_binding(cluster.caller, scenario)
