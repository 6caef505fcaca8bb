"""What a failed connection means: a wrong setting, or a Temporal that is down.

The SDK reports a failure as a ``RuntimeError`` with the debug text of its transport. The only part
of that text that is read is the name of a gRPC status. For anything else `explain` opens a
connection of its own and looks at which step fails.
"""

import asyncio
import contextlib
import re
import socket
import ssl

from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from a2a_temporal._connection_settings import ConnectionSettings
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

PROBE_SECONDS = 2.0

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
_FRAME_HEADER, _SETTINGS_FRAME = 9, 4
_NAME_MISMATCH = (62, 64)
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""

_CLIENT_CERT = "TEMPORAL_TLS_CLIENT_CERT_PATH"

Fault = ConnectionSettingsError | TemporalUnreachableError


async def explain(error: BaseException, settings: ConnectionSettings) -> Fault:
    """Say what the failure of a connection, or of the first call over it, means."""
    status = _status(error)
    found = _by_status(status, settings)
    if found is None and not isinstance(error, asyncio.TimeoutError):
        found = await _probed(settings)
    if found is not None:
        return found
    if isinstance(error, asyncio.TimeoutError):
        return _unreachable("no answer in time", settings)
    if status not in (None, RPCStatusCode.UNKNOWN):
        return _unreachable(f"it answered {status.name}", settings)
    return _unreachable("connection lost", settings)


def _status(error: BaseException) -> RPCStatusCode | None:
    if isinstance(error, RPCError):
        return error.status
    named = re.search(r"code: ([A-Za-z]+)", str(error))
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", named[1]).upper() if named else ""
    return RPCStatusCode.__members__.get(name)


def _by_status(
    status: RPCStatusCode | None, settings: ConnectionSettings
) -> ConnectionSettingsError | None:
    if status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
        return ConnectionSettingsError(
            "TEMPORAL_NAMESPACE",
            f"TEMPORAL_NAMESPACE={settings.namespace!r}: Temporal at {settings.address!r} has no "
            "such namespace; correct the name, or create it: "
            f"temporal operator namespace create -n {settings.namespace}",
        )
    if status in (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED):
        setting, advice = "TEMPORAL_API_KEY", "it demands credentials, and none are set"
        if settings.api_key is not None:
            advice = "the key is wrong, expired, or not for this namespace"
        elif _has_client_cert(settings):
            setting, advice = _CLIENT_CERT, "the certificate is not for this namespace"
        refused = f"it refused access to namespace {settings.namespace!r}: {advice}"
        return _wrong(setting, settings, refused)
    if status is RPCStatusCode.UNIMPLEMENTED:
        return _no_frontend(settings)
    return None


async def _probed(settings: ConnectionSettings) -> Fault | None:
    """Return the step at which a connection of our own fails; None when none does."""
    host, _, port = settings.address.rpartition(":")
    place = (host.strip("[]"), int(port))
    try:
        return await asyncio.to_thread(_probe, place, settings)
    except TimeoutError:
        return _unreachable("no answer in time", settings)
    except ConnectionRefusedError:
        return _unreachable("connection refused", settings)
    except socket.gaierror:
        return _unreachable("unknown host name", settings)
    except OSError:
        return None
    except ValueError:  # of a name that neither DNS nor TLS could have
        setting = "TEMPORAL_TLS_SERVER_NAME" if _server_name(settings) else "TEMPORAL_ADDRESS"
        return _wrong(setting, settings, "this is no host name that a certificate could be for")


def _probe(place: tuple[str, int], settings: ConnectionSettings) -> ConnectionSettingsError | None:
    if settings.tls or (settings.tls is None and settings.api_key is not None):
        return _probe_tls(place, settings)
    greeting = _greeting(place)
    if _is_frontend(greeting):
        return None
    # Nothing is sent over this connection: it only shows whether the server speaks TLS at all.
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    try:
        _greeting(place, unverified)
    except (ssl.SSLError, ConnectionError):
        return _no_frontend(settings) if greeting else None
    return _wrong("TEMPORAL_TLS", settings, "the server speaks TLS; set TEMPORAL_TLS=true")


def _probe_tls(
    place: tuple[str, int], settings: ConnectionSettings
) -> ConnectionSettingsError | None:
    try:
        greeting = _greeting(place, _context(settings), _server_name(settings))
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _NAME_MISMATCH:
            advice = "the server's certificate is for another name; set the name it is for"
            return _wrong("TEMPORAL_TLS_SERVER_NAME", settings, advice)
        return _wrong(
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
            settings,
            "the server's certificate is not signed by a CA that is trusted here, or has expired",
        )
    except (ssl.SSLError, ConnectionError) as error:
        if _is_frontend(_greeting(place)):
            setting = "TEMPORAL_API_KEY" if settings.api_key else "TEMPORAL_TLS"
            implied = " (an API key implies TLS)" if settings.api_key else ""
            advice = f"the server does not speak TLS, but TLS is on{implied}; "
            advice += "set TEMPORAL_TLS=false, or correct TEMPORAL_ADDRESS"
            return _wrong(setting, settings, advice)
        alert = isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")
        return _client_certificate(settings) if alert else None
    if _is_frontend(greeting):
        return None
    # A frontend speaks first. In TLS 1.3 it looks at the client's certificate only after the
    # client's handshake is over, so a close without a byte is a refusal.
    return _no_frontend(settings) if greeting else _client_certificate(settings)


def _greeting(
    place: tuple[str, int], context: ssl.SSLContext | None = None, name: str | None = None
) -> bytes:
    """Begin an HTTP/2 connection, and return the header of the server's first frame."""
    (name or place[0]).encode("idna")  # ssl leaves a socket open over a name that is none
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(place, PROBE_SECONDS))
        if context is not None:
            secured = context.wrap_socket(connection, server_hostname=name or place[0])
            connection = stack.enter_context(secured)
        try:
            connection.sendall(_PREFACE)
            return connection.recv(_FRAME_HEADER)
        except (ssl.SSLError, ConnectionError):
            return b""


def _is_frontend(greeting: bytes) -> bool:
    return len(greeting) == _FRAME_HEADER and greeting[3] == _SETTINGS_FRAME


def _context(settings: ConnectionSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    ca = settings.tls.server_root_ca_cert if isinstance(settings.tls, TLSConfig) else None
    if ca is not None:
        context.load_verify_locations(cadata=ca.decode())
    else:
        context.load_default_certs()
    return context


def _server_name(settings: ConnectionSettings) -> str | None:
    return settings.tls.domain if isinstance(settings.tls, TLSConfig) else None


def _has_client_cert(settings: ConnectionSettings) -> bool:
    return isinstance(settings.tls, TLSConfig) and settings.tls.client_cert is not None


def _client_certificate(settings: ConnectionSettings) -> ConnectionSettingsError:
    advice = (
        "the server did not accept the client certificate"
        if _has_client_cert(settings)
        else "the server demands a client certificate; set it and TEMPORAL_TLS_CLIENT_KEY_PATH"
    )
    return _wrong(_CLIENT_CERT, settings, advice)


def _no_frontend(settings: ConnectionSettings) -> ConnectionSettingsError:
    advice = "what answers there is no Temporal frontend (is it the port of the UI?)"
    return _wrong("TEMPORAL_ADDRESS", settings, advice)


def _wrong(setting: str, settings: ConnectionSettings, advice: str) -> ConnectionSettingsError:
    return ConnectionSettingsError(
        setting, f"{setting}: Temporal at {settings.address!r}: {advice}"
    )


def _unreachable(why: str, settings: ConnectionSettings) -> TemporalUnreachableError:
    return TemporalUnreachableError(
        f"Temporal at {settings.address!r} cannot be reached ({why}): start it, or correct "
        "TEMPORAL_ADDRESS"
    )
