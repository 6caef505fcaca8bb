"""One POST: to the checked address, under the right name, with nothing of anybody else's."""

import datetime
import logging
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from a2a.types.a2a_pb2 import TaskPushNotificationConfig, TaskState, TaskStatusUpdateEvent
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from a2a_temporal import PushOptions
from a2a_temporal._net import UrlGuard
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._worker.push.notifications import Notification, child_traceparent
from a2a_temporal._worker.push.request import NotDeliveredError, Receiver, new_connection
from tests.support.hook import NEVER, Answer, Hook, hook

NAME = "hooks.example.com"
EVENT = TaskStatusUpdateEvent(task_id="t", context_id="c")
EVENT.status.state = TaskState.TASK_STATE_WORKING
NOTIFICATION = Notification(LogPosition("run", 5), LogPosition("run", 5, 1), EVENT, {"c": 1}, "")
OPTIONS = PushOptions(timeout=datetime.timedelta(seconds=1))
LONG = OPTIONS.maximum_interval


@asynccontextmanager
async def receiver(
    url: str, *addresses: str, verify: ssl.SSLContext | None = None
) -> AsyncGenerator[Receiver]:
    """A receiver whose name only this test can resolve."""

    async def resolve(host: str, port: int) -> list[str]:
        assert host == NAME
        return list(addresses)

    guard = UrlGuard(["127.0.0.0/8"], resolve=resolve)
    destination = await guard.check(url)
    async with new_connection(destination, tls=verify) as connection:
        yield Receiver(TaskPushNotificationConfig(url=url), destination, OPTIONS, connection)


async def test_it_connects_to_the_checked_address_and_names_the_host() -> None:
    async with (
        hook() as there,
        receiver(f"http://{NAME}:{there.port}/a?b=c", "127.0.0.1") as one,
    ):
        await one.send(NOTIFICATION)
        (received,) = there.taken
        assert received.headers["host"] == f"{NAME}:{there.port}"
        assert received.path == "/a?b=c"
        assert list(received.json) == ["statusUpdate"]
        assert received.json["statusUpdate"]["taskId"] == "t"
        assert received.headers["webhook-id"] == "run.5.0"
        assert "authorization" not in received.headers
        assert "webhook-signature" not in received.headers


async def test_no_log_line_quotes_path_or_credentials_of_a_receiver(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpcore")  # a command line in this process sets it too
    async with (
        hook() as there,
        receiver(f"http://{NAME}:{there.port}/hunter2?key=hunter3", "127.0.0.1") as one,
    ):
        one.config.token = "hunter4"
        one.config.authentication.scheme = "Bearer"
        one.config.authentication.credentials = "hunter5"
        await one.send(NOTIFICATION)
        assert there.taken[0].path == "/hunter2?key=hunter3"
        assert there.taken[0].headers["authorization"] == "Bearer hunter5"
    assert "httpcore" in caplog.text
    assert "hunter" not in caplog.text


async def test_another_checked_address_is_tried_when_the_first_refuses() -> None:
    async with (
        hook() as there,
        receiver(f"http://{NAME}:{there.port}/", "127.0.0.9", "127.0.0.1") as one,
    ):
        await one.send(NOTIFICATION)
        assert len(there.taken) == 1


@pytest.mark.parametrize(
    ("answer", "text", "final"),
    [
        (Answer(status=500), "answered 500", False),
        (Answer(status=302, headers={"location": "http://127.0.0.1/"}), "answered 302", False),
        (Answer(status=410), "answered 410", True),
        (NEVER, "did not answer within 1 s", False),
    ],
)
async def test_a_failure_says_host_and_reason(answer: Answer, text: str, final: bool) -> None:
    async with (
        hook() as there,
        receiver(f"http://{NAME}:{there.port}/path?key=hunter2", "127.0.0.1") as one,
    ):
        there.script = lambda _: answer
        with pytest.raises(NotDeliveredError) as failure:
            await one.send(NOTIFICATION)
        assert str(failure.value) == f"{NAME} {text}"
        assert failure.value.final is final


async def test_retry_after_is_heard() -> None:
    async with (
        hook() as there,
        receiver(f"http://{NAME}:{there.port}/", "127.0.0.1") as one,
    ):
        there.script = lambda _: Answer(status=503, headers={"retry-after": "7"})
        with pytest.raises(NotDeliveredError) as failure:
            await one.send(NOTIFICATION)
        assert failure.value.retry_after == datetime.timedelta(seconds=7)
        for much in ("9" * 20, "9" * 5000):
            there.script = lambda _, much=much: Answer(status=503, headers={"retry-after": much})
            with pytest.raises(NotDeliveredError) as failure:
                await one.send(NOTIFICATION)
            assert (failure.value.retry_after or LONG) >= LONG


async def test_tls_checks_the_certificate_against_the_name(tmp_path: Path) -> None:
    for certified, taken in ((NAME, 1), ("other.example.com", 0)):
        server, client = tls(tmp_path, certified)
        there = Hook()
        await there.up(tls=server)
        try:
            url = f"https://{NAME}:{there.port}/"
            async with receiver(url, "127.0.0.1", verify=client) as one:
                if taken:
                    await one.send(NOTIFICATION)
                else:
                    with pytest.raises(NotDeliveredError):
                        await one.send(NOTIFICATION)
            assert len(there.seen) == taken
        finally:
            await there.down()


def tls(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server that holds a certificate for a name, and a client that trusts its issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=file)


def test_a_delivery_is_a_span_of_the_clients_trace() -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    child = child_traceparent(f"00-{trace}-b7ad6b7169203331-01")
    version, same, span, flags = child.split("-")
    assert (version, same, flags) == ("00", trace, "01")
    assert span != "b7ad6b7169203331"
    for unusable in ("", "x", f"00-{'0' * 32}-b7ad6b7169203331-01"):
        assert len(child_traceparent(unusable)) == 55
