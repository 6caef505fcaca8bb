"""A page of ListTasks has all of its own fields, and of each task only what it has."""

import pytest

from tests.support.calls import BINDINGS
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_listed_task_without_history_says_nothing_of_it(binding: str) -> None:
    async with in_process(await stub_app()) as caller:
        page = await caller.over(binding).call("ListTasks", {"historyLength": 0})
    assert page.keys() == {"tasks", "nextPageToken", "pageSize", "totalSize"}
    (task,) = page["tasks"]
    assert task.keys() == {"id", "contextId", "status"}
    assert page["nextPageToken"] == ""
