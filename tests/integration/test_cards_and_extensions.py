"""Extended card, required and active extensions, ids that clients choose: per deployment."""

import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.calls import BINDINGS, Caller, over_every_binding, refused, refused_to_open
from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.results import artifact_data, state
from tests.support.temporal_server import TemporalServer

DECLARED, REQUIRED = "urn:test:declared", "urn:test:required"


@pytest_asyncio.fixture(scope="module")
async def special(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """A server with everything that is off by default."""
    options = Options(
        api=(
            "--extended-card",
            "--client-task-ids",
            f"--extension={DECLARED}",
            f"--required-extension={REQUIRED}",
        )
    )
    folder = tmp_path_factory.mktemp("special")
    async with running_cluster(temporal, folder, apis=2, workers=1, options=options) as cluster:
        yield cluster


def _willing(caller: Caller, *more: str) -> Caller:
    return caller.with_headers(A2A_Extensions=", ".join([REQUIRED, *more]))


async def test_a_client_that_does_not_declare_a_required_extension_makes_no_task(
    special: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        context_id = str(uuid.uuid4())
        for unwilling in (caller, caller.with_headers(A2A_Extensions=DECLARED)):
            await refused(unwilling.send("echo", context_id=context_id), code=-32008, status=400)
            stream = unwilling.stream("echo", context_id=context_id)
            await refused_to_open(stream, code=-32008, status=400)
        assert not await special.workflows_of_context(context_id)

        for header in ("A2A_Extensions", "X_A2A_Extensions"):
            willing = caller.with_headers(**{header: REQUIRED})
            task = await willing.send_task("ask colour?", context_id=context_id)
            assert state(await caller.get(task["id"])) == "INPUT_REQUIRED"
            await refused(caller.send("red", task_id=task["id"]), code=-32008, status=400)
            assert state(await caller.cancel(task["id"])) == "CANCELED"

    await over_every_binding(special.caller, scenario)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_answer_names_the_extensions_that_are_active(
    special: Cluster, binding: str
) -> None:
    caller = _willing(special.caller.over(binding), DECLARED, "urn:test:unknown")
    task = await caller.send_task("whoami")
    assert set(artifact_data(task, "whoami")["extensions"]) >= {DECLARED, REQUIRED}
    response = await caller.raw("GetTask", {"id": task["id"]})
    assert response.headers["A2A-Extensions"] == f"{DECLARED}, {REQUIRED}"
    plain = await special.caller.over(binding).raw("GetTask", {"id": task["id"]})
    assert "A2A-Extensions" not in plain.headers


async def test_the_extended_card_is_for_users_and_made_for_each(special: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        card = await caller.as_user("alice").extended_card()
        assert "secret" in [skill["id"] for skill in card["skills"]]
        assert card["description"].endswith("Hello alice.")
        other = await caller.as_user("bob").extended_card()
        assert other["description"].endswith("Hello bob.")
        anonymous = await caller.raw("GetExtendedAgentCard", {})
        assert anonymous.status_code == 401
        assert anonymous.headers["www-authenticate"]
        assert "secret" not in anonymous.text

    await over_every_binding(special.caller, scenario)
    public = await special.http.get(f"{special.apis[0].url}/.well-known/agent-card.json")
    assert "secret" not in public.text


async def test_a_card_that_promises_no_extended_card_has_none(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        await refused(caller.as_user("alice").extended_card(), code=-32004, status=400)
        await refused(caller.extended_card(), code=-32004, status=400)

    await over_every_binding(cluster.caller, scenario)


async def test_a_client_may_name_the_task_it_makes_where_that_is_allowed(special: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        alice = _willing(caller.as_user("alice"))
        bob = _willing(caller.as_user("bob"))
        task_id = f"wf-{uuid.uuid4().hex[:8]}-n1-a1"
        task = await alice.send_task("ask colour?", task_id=task_id, message_id=f"m-{task_id}")
        assert task["id"] == task_id
        again = await alice.send_task("ask colour?", task_id=task_id, message_id=f"m-{task_id}")
        assert again["id"] == task_id
        assert await special.runs(task_id) == 1
        await refused(bob.send("echo", task_id=task_id), code=-32001, status=404)
        await refused(bob.get(task_id), code=-32001, status=404)
        done = await alice.send_task("red", task_id=task_id)
        assert state(done) == "COMPLETED"
        await refused(alice.send("more", task_id=task_id), code=-32004, status=400)
        for wrong in ("a/b", "x:cancel", "ü", "y" * 201, "sp ace"):
            await refused(alice.send("echo", task_id=wrong), code=-32602, status=400)

    await over_every_binding(special.caller, scenario)
