"""What the card does not declare is refused, by the error that says so."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, over_every_binding, refused, refused_to_open
from tests.support.cluster import Options


async def test_what_the_card_does_not_declare_is_refused(new_cluster: NewCluster) -> None:
    async with new_cluster(options=Options(api=("--no-streaming",))) as cluster:

        async def scenario(caller: Caller) -> None:
            parked = (await caller.send_task("ask colour?"))["id"]
            await refused_to_open(caller.stream("echo x"), code=-32004, status=400)
            await refused_to_open(caller.subscribe(parked), code=-32004, status=400)
            await refused(caller.extended_card(), code=-32004, status=400)
            configs = caller.call("ListTaskPushNotificationConfigs", {"taskId": parked})
            await refused(configs, code=-32003, status=400)
            inline = {"taskPushNotificationConfig": {"url": "https://example.com/x"}}
            await refused(caller.send("echo x", configuration=inline), code=-32003, status=400)

        await over_every_binding(cluster.caller, scenario)
