"""Configs are read without their secrets, unless the server's owner wants them shown."""

from dataclasses import replace
from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError

from a2a_temporal._log import wire
from a2a_temporal._log.entries import parse_signal
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._server.push_answers import REDACTED, found, page, with_secrets
from tests.unit.log.building import started

URL = "https://hooks.example.com/x"
KEPT: dict[str, Any] = {
    "id": "c1",
    "url": URL,
    "token": "a-token",
    "authentication": {"scheme": "Bearer", "credentials": "a-credential"},
}


def state(*configs: dict[str, Any]) -> LogState:
    state = begin(replace(started(), push_config=KEPT))
    for config in configs:
        signal = {"version": 1, "at": "2026-01-02T12:00:00.000Z", "set": config}
        entry = parse_signal(wire.PUSH_CONFIG_SIGNAL, signal)
        assert entry is not None
        fold(state, entry)
    return state


def given(*, url: str = URL, token: str = "", credentials: str = "") -> TaskPushNotificationConfig:
    config = TaskPushNotificationConfig(id="c1", url=url, token=token)
    if credentials:
        authentication = AuthenticationInfo(scheme="Bearer", credentials=credentials)
        config.authentication.CopyFrom(authentication)
    return config


@pytest.mark.parametrize("in_clear", [False, True])
def test_secrets_are_shown_where_that_is_wanted_only(in_clear: bool) -> None:
    task = state({"id": "c2", "url": URL})
    for config in (
        found(task, "c1", in_clear=in_clear),
        page(task, ListTaskPushNotificationConfigsRequest(), in_clear=in_clear).configs[0],
    ):
        assert config.token == ("a-token" if in_clear else REDACTED)
        assert config.authentication.scheme == "Bearer"
        expected = "a-credential" if in_clear else REDACTED
        assert config.authentication.credentials == expected
    without = found(task, "c2", in_clear=in_clear)
    assert (without.token, without.HasField("authentication")) == ("", False)


@pytest.mark.parametrize("url", [URL, "https://HOOKS.example.com:8443/elsewhere?x=y"])
def test_a_redacted_value_is_what_the_config_of_that_id_has(url: str) -> None:
    sent = given(url=url, token=REDACTED, credentials=REDACTED)
    config = with_secrets(sent, state().push_configs)
    assert (config.token, config.authentication.credentials) == ("a-token", "a-credential")
    assert config.url == url
    changed = with_secrets(given(token="new", credentials=REDACTED), state().push_configs)
    assert (changed.token, changed.authentication.credentials) == ("new", "a-credential")


@pytest.mark.parametrize(
    "url", ["https://evil.example.com/", "http://hooks.example.com/x", "https://[", ""]
)
def test_a_secret_goes_to_no_other_host_and_not_from_https_to_http(url: str) -> None:
    with pytest.raises(InvalidParamsError):
        with_secrets(given(url=url, token=REDACTED), state().push_configs)


def test_a_page_holds_as_many_configs_as_are_asked_for() -> None:
    ids = [f"c{number}" for number in range(1, 10)]
    task = state(*({"id": config_id, "url": URL} for config_id in ids[1:]))
    seen: list[str] = []
    token = ""
    while not seen or token:
        request = ListTaskPushNotificationConfigsRequest(page_size=4, page_token=token)
        answer = page(task, request, in_clear=False)
        seen += [config.id for config in answer.configs]
        token = answer.next_page_token
    assert seen == ids
