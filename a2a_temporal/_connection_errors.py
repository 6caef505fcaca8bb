"""What a failed connection means: the wrong setting, or a Temporal that is down.

The engine reports most faults as a ``RuntimeError`` with the debug text of its transport, and uses
one code for several causes. This module turns them into one line for an operator. Its texts hold
nothing of the raw error, so no secret and no internal detail gets into them.
"""

import asyncio
import re
import ssl
from dataclasses import dataclass

from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class Target:
    """The part of the settings that an error text may speak of."""

    address: str
    namespace: str
    tls: bool
    has_api_key: bool
    has_client_cert: bool
    has_server_name: bool = False

    @classmethod
    def of(
        cls, address: str, namespace: str, *, api_key: str | None, tls: bool | TLSConfig | None
    ) -> "Target":
        """Keep what may be told."""
        return cls(
            address=address,
            namespace=namespace,
            tls=api_key is not None if tls is None else tls is not False,
            has_api_key=api_key is not None,
            has_client_cert=isinstance(tls, TLSConfig) and tls.client_cert is not None,
            has_server_name=isinstance(tls, TLSConfig) and tls.domain is not None,
        )


async def explain(
    error: BaseException, target: Target
) -> ConnectionSettingsError | TemporalUnreachableError:
    """Say what the failure of a connection, or of the first call over it, means."""
    text = _text(error)
    if "after connection" in text:
        # Accepted, then dropped: a TLS mismatch looks the same as a proxy without a living server.
        found = await _probe(target)
        if found is not None:
            return found
    return _by_status(error, text, target) or _by_text(text, target) or _unreachable(text, target)


def _text(error: BaseException) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "deadline has elapsed"
    if isinstance(error, RPCError):
        return f"code: {error.status.name} {error.message}"
    return str(error)


def _by_status(error: BaseException, text: str, target: Target) -> ConnectionSettingsError | None:
    if isinstance(error, RPCError) and error.status in (
        RPCStatusCode.NOT_FOUND,
        RPCStatusCode.INVALID_ARGUMENT,
    ):
        return ConnectionSettingsError(
            "TEMPORAL_NAMESPACE",
            f"TEMPORAL_NAMESPACE={target.namespace!r}: Temporal at {target.address!r} has no such "
            "namespace; correct the name, or create it: "
            f"temporal operator namespace create -n {target.namespace}",
        )
    if re.search(r"code: (unauthenticated|permission_?denied)", text, re.IGNORECASE):
        return _refused(target)
    return None


def _refused(target: Target) -> ConnectionSettingsError:
    if target.has_api_key:
        setting, fault = "TEMPORAL_API_KEY", "the key is wrong, expired, or not for this namespace"
    elif target.has_client_cert:
        setting = "TEMPORAL_TLS_CLIENT_CERT_PATH"
        fault = "the certificate is not for this namespace"
    else:
        setting, fault = "TEMPORAL_API_KEY", "it demands credentials, and none are set"
    return ConnectionSettingsError(
        setting,
        f"{setting}: Temporal at {target.address!r} refused access to namespace "
        f"{target.namespace!r}: {fault}",
    )


# Part of the engine's text -> (setting, what is wrong and what to do).
_FAULTS: tuple[tuple[str, str, str], ...] = (
    (
        r"invalid target URL",
        "TEMPORAL_ADDRESS",
        "this is no host:port",
    ),
    (
        r"NotValidForName",
        "TEMPORAL_TLS_SERVER_NAME",
        "the server's certificate is for another name; set the name that stands in it",
    ),
    (
        r"InvalidCertificate",
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
        "the server's certificate is not signed by a CA that is trusted here, or is not valid now",
    ),
    (
        r"InconsistentKeys|KeyMismatch|PrivateKeyParseError",
        "TEMPORAL_TLS_CLIENT_KEY_PATH",
        "the private key does not belong to TEMPORAL_TLS_CLIENT_CERT_PATH, or is no PEM key",
    ),
    (
        r"CertificateRequired|UnknownCA|BadCertificate|AccessDenied",
        "TEMPORAL_TLS_CLIENT_CERT_PATH",
        "the server did not accept the client certificate, or none is set",
    ),
    (
        r"h2 protocol error|mapped from HTTP status code 4|(?i:code: unimplemented)",
        "TEMPORAL_ADDRESS",
        "something answers there that is no Temporal frontend (is it the port of the UI?)",
    ),
)


def _by_text(text: str, target: Target) -> ConnectionSettingsError | None:
    if "InvalidContentType" in text:
        setting = "TEMPORAL_API_KEY" if target.has_api_key else "TEMPORAL_TLS"
        implied = " (an API key implies TLS)" if target.has_api_key else ""
        return _fault(
            setting,
            target,
            f"the server does not speak TLS, but TLS is on{implied}; set TEMPORAL_TLS=false, or "
            "correct TEMPORAL_ADDRESS",
        )
    if re.search(r"InvalidUri|InvalidDnsName", text):
        setting = "TEMPORAL_TLS_SERVER_NAME" if target.has_server_name else "TEMPORAL_ADDRESS"
        return _fault(setting, target, "this is no host name that a certificate could be for")
    for pattern, setting, advice in _FAULTS:
        if re.search(pattern, text):
            return _fault(setting, target, advice)
    return None


def _fault(setting: str, target: Target, advice: str) -> ConnectionSettingsError:
    return ConnectionSettingsError(setting, f"{setting}: Temporal at {target.address!r}: {advice}")


def _unreachable(text: str, target: Target) -> TemporalUnreachableError:
    if "refused" in text.lower():
        why = "connection refused"
    elif "dns error" in text:
        why = "unknown host name"
    elif "deadline" in text or "Timeout" in text or "timed out" in text:
        why = "no answer in time"
    else:
        code = re.search(r"code: ([A-Za-z_]+)", text)
        why = f"it answered {code[1]}" if code and code[1] != "Unknown" else "connection lost"
    return TemporalUnreachableError(
        f"Temporal at {target.address!r} cannot be reached ({why}): start it, or correct "
        "TEMPORAL_ADDRESS"
    )


async def _probe(target: Target) -> ConnectionSettingsError | None:
    """Find out by a TLS handshake of our own whether TLS or the client certificate is the fault."""
    host, _, port = target.address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    # Nothing is sent over this connection: it only asks whether TLS is spoken at all.
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(host.strip("[]"), int(port), ssl=context), PROBE_SECONDS
        )
    except (OSError, asyncio.TimeoutError):
        return None
    try:
        if not target.tls:
            return _fault("TEMPORAL_TLS", target, "the server speaks TLS; set TEMPORAL_TLS=true")
        # A frontend speaks first. In TLS 1.3 it looks at the client's certificate only after the
        # client's handshake is over, so a close without a word is a refusal.
        greeting = await asyncio.wait_for(reader.read(1), PROBE_SECONDS)
    except asyncio.TimeoutError:
        return None
    except OSError:
        greeting = b""
    finally:
        writer.close()
    return None if greeting else _client_certificate(target)


def _client_certificate(target: Target) -> ConnectionSettingsError:
    advice = (
        "the server did not accept the client certificate"
        if target.has_client_cert
        else "the server demands a client certificate; set it and TEMPORAL_TLS_CLIENT_KEY_PATH"
    )
    return _fault("TEMPORAL_TLS_CLIENT_CERT_PATH", target, advice)
