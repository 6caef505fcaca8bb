"""Right settings connect; each wrong one stops with one line that names it and holds no secret."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from a2a_temporal import connect
from a2a_temporal._connect import check_namespace
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError
from tests.support.processes import free_port
from tests.support.raw_server import raw_server
from tests.support.temporal_server import TemporalServer
from tests.support.tls_proxy import Certificates, make_certificates, tls_proxy
from tests.support.waiting import Bound

SECRET = "key-nobody-may-see"


@dataclass(frozen=True)
class Fronts:
    """One Temporal behind several doors."""

    plain: str
    tls: str
    mutual_tls: str
    files: Certificates
    other: Certificates


@pytest_asyncio.fixture(scope="module")
async def fronts(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Fronts]:
    files = make_certificates(tmp_path_factory.mktemp("certificates"))
    other = make_certificates(tmp_path_factory.mktemp("others"))
    async with (
        tls_proxy(temporal.port, files) as tls,
        tls_proxy(temporal.port, files, demands_client=True) as mutual,
    ):
        yield Fronts(temporal.address, f"localhost:{tls}", f"localhost:{mutual}", files, other)


async def test_right_settings_connect(fronts: Fronts) -> None:
    ca = {"TLS_SERVER_CA_CERT_PATH": str(fronts.files.ca)}
    await _connect({"ADDRESS": fronts.plain})
    await _connect({"ADDRESS": fronts.tls, **ca})
    await _connect({"ADDRESS": fronts.tls, "API_KEY": SECRET, **ca})
    await _connect({"ADDRESS": fronts.mutual_tls, **ca, **_client_of(fronts.files)})


async def test_a_profile_file_connects(fronts: Fronts, tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text(
        f'[profile.secure]\naddress = "{fronts.tls}"\nnamespace = "default"\n'
        f'[profile.secure.tls]\nserver_ca_cert_path = "{fronts.files.ca}"\n'
    )
    client = await connect(profile="secure", config_file=file, env={})
    assert client.namespace == "default"


async def test_a_missing_namespace_is_named_at_once(fronts: Fronts) -> None:
    error = await _refused({"ADDRESS": fronts.plain, "NAMESPACE": "absent"}, "TEMPORAL_NAMESPACE")
    assert "'absent'" in error
    assert "temporal operator namespace create -n absent" in error


async def test_a_server_that_speaks_tls_is_told_from_one_that_is_down(fronts: Fronts) -> None:
    await _refused({"ADDRESS": fronts.tls}, "TEMPORAL_TLS")
    await _refused({"ADDRESS": fronts.mutual_tls}, "TEMPORAL_TLS")


async def test_a_server_without_tls_is_named_with_the_reason_tls_is_on(fronts: Fronts) -> None:
    await _refused({"ADDRESS": fronts.plain, "TLS": "true"}, "TEMPORAL_TLS")
    text = await _refused({"ADDRESS": fronts.plain, "API_KEY": SECRET}, "TEMPORAL_API_KEY")
    assert "an API key implies TLS" in text


async def test_a_server_of_an_unknown_authority_is_not_trusted(fronts: Fronts) -> None:
    setting = "TEMPORAL_TLS_SERVER_CA_CERT_PATH"
    await _refused({"ADDRESS": fronts.tls, "TLS": "true"}, setting)
    wrong = {"TLS_SERVER_CA_CERT_PATH": str(fronts.other.ca)}
    await _refused({"ADDRESS": fronts.tls, **wrong}, setting)


async def test_a_certificate_for_another_name_is_refused(fronts: Fronts) -> None:
    ca = {"TLS_SERVER_CA_CERT_PATH": str(fronts.files.ca), "TLS_SERVER_NAME": "other.example"}
    await _refused({"ADDRESS": fronts.tls, **ca}, "TEMPORAL_TLS_SERVER_NAME")


@pytest.mark.parametrize("name", ["not a name!", "https://temporal.example", "a..b"])
async def test_a_server_name_that_is_none_is_named(fronts: Fronts, name: str) -> None:
    env = {"TLS_SERVER_CA_CERT_PATH": str(fronts.files.ca), "TLS_SERVER_NAME": name}
    await _refused({"ADDRESS": fronts.tls, **env}, "TEMPORAL_TLS_SERVER_NAME")


async def test_an_address_that_is_no_host_name_is_named(fronts: Fronts) -> None:
    await _refused({"ADDRESS": "a..b:7233", "TLS": "true"}, "TEMPORAL_ADDRESS")


async def test_a_missing_or_foreign_client_certificate_is_named(fronts: Fronts) -> None:
    ca = {"TLS_SERVER_CA_CERT_PATH": str(fronts.files.ca)}
    setting = "TEMPORAL_TLS_CLIENT_CERT_PATH"
    await _refused({"ADDRESS": fronts.mutual_tls, **ca}, setting)
    await _refused({"ADDRESS": fronts.mutual_tls, **ca, **_client_of(fronts.other)}, setting)


async def test_a_key_of_another_certificate_is_named(fronts: Fronts) -> None:
    pair = {**_client_of(fronts.files), "TLS_CLIENT_KEY_PATH": str(fronts.other.client_key)}
    await _refused({"ADDRESS": fronts.mutual_tls, **pair}, "TEMPORAL_TLS_CLIENT_KEY_PATH")


async def test_something_else_at_the_address_is_no_temporal() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with raw_server(answer) as port:
        await _refused({"ADDRESS": f"localhost:{port}"}, "TEMPORAL_ADDRESS")


async def test_a_server_that_is_down_is_unreachable_and_worth_another_try() -> None:
    for address in (f"127.0.0.1:{free_port()}", "host.invalid:7233"):
        with pytest.raises(TemporalUnreachableError, match="TEMPORAL_ADDRESS"):
            await _connect({"ADDRESS": address})


async def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    async def keep_silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with raw_server(keep_silent) as port:
        bound = Bound(4)
        with pytest.raises(TemporalUnreachableError, match="no answer in time"):
            await connect(
                env={"TEMPORAL_ADDRESS": f"localhost:{port}"}, connect_timeout=timedelta(seconds=1)
            )
        assert bound.left, f"it took longer than {bound}"


async def test_a_connection_that_is_dropped_is_an_outage_and_no_wrong_setting() -> None:
    async def drop(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        return

    async with raw_server(drop) as port:
        for tls in ("false", "true"):
            with pytest.raises(TemporalUnreachableError):
                await _connect({"ADDRESS": f"localhost:{port}", "TLS": tls})


async def test_a_lazy_client_is_made_while_temporal_is_down_and_works_when_it_is_up(
    temporal: TemporalServer,
) -> None:
    down = await connect(env={"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}, lazy=True)
    with pytest.raises(TemporalUnreachableError):
        await check_namespace(down, within=timedelta(seconds=2))
    up = await connect(env={"TEMPORAL_ADDRESS": temporal.address}, lazy=True)
    assert (await check_namespace(up)).namespace_info.name == "default"


async def test_a_lazy_client_names_a_missing_namespace_with_its_first_check(
    temporal: TemporalServer,
) -> None:
    client = await connect(
        env={"TEMPORAL_ADDRESS": temporal.address, "TEMPORAL_NAMESPACE": "absent"}, lazy=True
    )
    with pytest.raises(ConnectionSettingsError, match="'absent'"):
        await check_namespace(client)


async def _connect(env: dict[str, str]) -> None:
    await connect(env={f"TEMPORAL_{name}": value for name, value in env.items()})


async def _refused(env: dict[str, str], setting: str) -> str:
    with pytest.raises(ConnectionSettingsError) as caught:
        await _connect(env)
    text = str(caught.value)
    assert caught.value.setting == setting, text
    assert setting in text
    assert "\n" not in text
    assert SECRET not in text
    return text


def _client_of(files: Certificates) -> dict[str, str]:
    return {
        "TLS_CLIENT_CERT_PATH": str(files.client),
        "TLS_CLIENT_KEY_PATH": str(files.client_key),
    }
