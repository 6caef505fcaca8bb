"""The connection settings: ``TEMPORAL_*`` variables, a profile file and arguments.

`temporalio.envconfig` reads the variables and the file. `resolve` adds a default address and an
error that names the wrong setting and quotes no secret. Nothing here uses the network.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from temporalio.envconfig import ClientConfig, ClientConfigProfile
from temporalio.service import TLSConfig

from a2a_temporal.errors import ConnectionSettingsError

DEFAULT_ADDRESS = "localhost:7233"
DEFAULT_NAMESPACE = "default"

_CA = "TEMPORAL_TLS_SERVER_CA_CERT_PATH"
_CERTIFICATE = "TEMPORAL_TLS_CLIENT_CERT_PATH"
_KEY = "TEMPORAL_TLS_CLIENT_KEY_PATH"
_UNVERIFIED = "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION"
_SWITCHES = ("true", "1", "false", "0")


@dataclass(frozen=True)
class ConnectionSettings:
    """Where Temporal is and how to talk to it. Its ``repr`` shows no secret."""

    address: str
    namespace: str = DEFAULT_NAMESPACE
    api_key: str | None = field(default=None, repr=False)
    tls: bool | TLSConfig | None = field(default=False, repr=False)
    rpc_metadata: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def resolve(
    *,
    profile: str | None = None,
    config_file: str | Path | None = None,
    address: str | None = None,
    namespace: str | None = None,
    api_key: str | None = None,
    tls: bool | TLSConfig | None = None,
    env: Mapping[str, str] | None = None,
    embedded_address: Callable[[], str | None] = lambda: None,
) -> ConnectionSettings:
    """Combine arguments, environment and profile file; the first of them that names a value wins.

    Args:
        profile: Name of a profile in the file; ``TEMPORAL_PROFILE``, else ``default``.
        config_file: The profile file; ``TEMPORAL_CONFIG_FILE``, else where the Temporal CLI has it.
        address: ``host:port``.
        namespace: Namespace name.
        api_key: Implies TLS unless ``tls`` or ``TEMPORAL_TLS`` says otherwise.
        tls: True for the system's certificates, or the certificates to use.
        env: Environment; the one of the process when None.
        embedded_address: Called when nothing else names an address.

    Raises:
        ConnectionSettingsError: A setting is malformed, or contradicts another one.
    """
    environment = _checked(os.environ if env is None else env)
    loaded = _load(profile, config_file, environment)
    key = (api_key or loaded.api_key or "").strip() or None
    if tls is None:
        tls = _tls(loaded) if loaded.tls is not None else key is not None
    address = address or loaded.address
    if not address:
        if key or tls:
            given = "TEMPORAL_API_KEY" if key else "TEMPORAL_TLS"
            raise ConnectionSettingsError(
                "TEMPORAL_ADDRESS",
                f"TEMPORAL_ADDRESS is missing although {given} is set: set it to host:port",
            )
        address = embedded_address() or DEFAULT_ADDRESS
    _check_address(address)
    return ConnectionSettings(
        address=address,
        namespace=namespace or loaded.namespace or DEFAULT_NAMESPACE,
        api_key=key,
        tls=tls,
        rpc_metadata=dict(loaded.grpc_meta),
    )


def _checked(env: Mapping[str, str]) -> dict[str, str]:
    """Drop blank TEMPORAL_* variables, and refuse values that envconfig would ignore."""
    kept = {
        name: value.strip()
        for name, value in env.items()
        if not name.startswith("TEMPORAL_") or value.strip()
    }
    switch = kept.get("TEMPORAL_TLS", "true")
    if switch.lower() not in _SWITCHES:
        raise ConnectionSettingsError(
            "TEMPORAL_TLS", f"TEMPORAL_TLS={switch!r} is neither 'true' nor 'false'"
        )
    if kept.get(_UNVERIFIED, "false").lower() not in ("false", "0"):
        raise ConnectionSettingsError(
            _UNVERIFIED, f"{_UNVERIFIED} is not supported: give the server's CA in {_CA}"
        )
    return kept


def _load(
    profile: str | None, config_file: str | Path | None, env: Mapping[str, str]
) -> ClientConfigProfile:
    path = config_file or env.get("TEMPORAL_CONFIG_FILE")
    where = repr(str(path)) if path else "the Temporal configuration file"
    if path and not Path(path).is_file():
        setting = "config_file" if config_file else "TEMPORAL_CONFIG_FILE"
        raise ConnectionSettingsError(setting, f"{setting}={where} is no file")
    name = profile or env.get("TEMPORAL_PROFILE")
    source = Path(path) if path else None
    try:
        known = ClientConfig.load(config_source=source, override_env_vars=env).profiles
        if name is not None and name not in known:
            setting = "profile" if profile else "TEMPORAL_PROFILE"
            raise ConnectionSettingsError(
                setting, f"{setting}={name!r}: there is no [profile.{name}] in {where}"
            )
        return ClientConfigProfile.load(profile=name, config_source=source, override_env_vars=env)
    except (RuntimeError, ValueError) as error:
        # The further lines quote the file, which may hold a key.
        text = str(error).split("\n", 1)[0]
        setting = next(
            (each for each in env if each.startswith("TEMPORAL_") and each in text),
            "TEMPORAL_CONFIG_FILE",
        )
        raise ConnectionSettingsError(
            setting, f"the Temporal settings of the environment and of {where}: {text}"
        ) from None


def _tls(loaded: ClientConfigProfile) -> bool | TLSConfig:
    assert loaded.tls is not None
    try:
        tls = loaded.tls.to_connect_tls_config()
    except OSError as error:
        raise ConnectionSettingsError(
            "TEMPORAL_TLS_*_PATH",
            f"the TLS file {error.filename!r} cannot be read ({error.strerror}): correct "
            f"{_CERTIFICATE}, {_KEY} or {_CA}",
        ) from error
    if isinstance(tls, TLSConfig):
        _check_certificates(tls)
    return tls


def _check_certificates(tls: TLSConfig) -> None:
    if (tls.client_cert is None) != (tls.client_private_key is None):
        missing = _CERTIFICATE if tls.client_cert is None else _KEY
        raise ConnectionSettingsError(
            missing, f"{missing} is missing: a client certificate needs both files"
        )
    setting = _CA
    try:
        if tls.server_root_ca_cert is not None:
            x509.load_pem_x509_certificates(tls.server_root_ca_cert)
        if tls.client_cert is None or tls.client_private_key is None:
            return
        setting = _CERTIFICATE
        certificate = x509.load_pem_x509_certificate(tls.client_cert)
        setting = _KEY
        key = load_pem_private_key(tls.client_private_key, None)
    except (TypeError, ValueError):
        raise ConnectionSettingsError(
            setting, f"{setting} holds no PEM block that can be read ('-----BEGIN ...')"
        ) from None
    if key.public_key() != certificate.public_key():
        raise ConnectionSettingsError(
            _KEY, f"{_KEY}: the private key does not belong to {_CERTIFICATE}"
        )


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address:
        fault = "is a URL"
    elif not host or not port.isdigit():
        fault = "has no port"
    elif not 0 < int(port) < 65536:
        fault = "has no valid port"
    elif any(character.isspace() or character == "/" for character in host):
        fault = "has no valid host name"
    else:
        return
    raise ConnectionSettingsError(
        "TEMPORAL_ADDRESS",
        f"TEMPORAL_ADDRESS={address!r} {fault}: write host:port, such as localhost:7233",
    )
