"""What ``TEMPORAL_*`` variables, a profile file and arguments say about the connection.

`resolve` touches no network: it gives one `ConnectionSettings`, or raises one
`ConnectionSettingsError` that names the wrong setting. Explicit arguments win over the environment,
the environment over the profile file, and without any address the embedded server of this directory
is used when it runs.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from temporalio.envconfig import ClientConfigProfile
from temporalio.service import TLSConfig

from a2a_temporal.errors import ConnectionSettingsError

DEFAULT_ADDRESS = "localhost:7233"
DEFAULT_NAMESPACE = "default"

_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(frozen=True)
class ConnectionSettings:
    """Where Temporal is and how to talk to it. Its ``repr`` shows no secret."""

    address: str
    address_source: str
    namespace: str
    namespace_source: str
    api_key: str | None = field(default=None, repr=False)
    tls: bool | TLSConfig = field(default=False, repr=False)
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
    """Combine arguments, environment and profile file.

    Args:
        profile: Name of a profile in the file; ``TEMPORAL_PROFILE``, else ``default``.
        config_file: The profile file; ``TEMPORAL_CONFIG_FILE``, else where the Temporal CLI has it.
        address: ``host:port``.
        namespace: Namespace name.
        api_key: Implies TLS unless ``tls`` or ``TEMPORAL_TLS`` says otherwise.
        tls: True for the system's certificates, or the certificates to use.
        env: Environment; the one of the process when None.
        embedded_address: Asked when nothing else names an address.

    Raises:
        ConnectionSettingsError: A setting is malformed, or contradicts another one.
    """
    environment = _clean(os.environ if env is None else env)
    loaded = _load(profile, config_file, environment)
    profile_name = profile or environment.get("TEMPORAL_PROFILE") or "default"

    def source(argument: object, variable: str) -> str:
        if argument:
            return f"the {variable.removeprefix('TEMPORAL_').lower()} argument"
        return variable if variable in environment else f"profile {profile_name!r}"

    key = (api_key or loaded.api_key or "").strip() or None
    security = tls if tls is not None else _tls(loaded, has_api_key=key is not None)
    found, found_source = address or loaded.address, source(address, "TEMPORAL_ADDRESS")
    if not found:
        _refuse_credentials_without_address(key, security)
        embedded = embedded_address()
        found = embedded or DEFAULT_ADDRESS
        found_source = "the embedded server" if embedded else "the default"
    _check_address(found, found_source)
    space = namespace or loaded.namespace
    return ConnectionSettings(
        address=found,
        address_source=found_source,
        namespace=space or DEFAULT_NAMESPACE,
        namespace_source=source(namespace, "TEMPORAL_NAMESPACE") if space else "the default",
        api_key=key,
        tls=security,
        rpc_metadata=dict(loaded.grpc_meta),
    )


def _clean(env: Mapping[str, str]) -> dict[str, str]:
    """Keep the TEMPORAL_* variables that have a value: compose files pass empty ones along."""
    kept = {
        name: value.strip()
        for name, value in env.items()
        if not name.startswith("TEMPORAL_") or value.strip()
    }
    switch = kept.get("TEMPORAL_TLS")
    if switch is not None:
        if switch.lower() not in _TRUE + _FALSE:
            raise ConnectionSettingsError(
                "TEMPORAL_TLS", f"TEMPORAL_TLS={switch!r} is neither 'true' nor 'false'"
            )
        kept["TEMPORAL_TLS"] = "true" if switch.lower() in _TRUE else "false"
    unverified = kept.get("TEMPORAL_TLS_DISABLE_HOST_VERIFICATION", "false")
    if unverified.lower() not in _FALSE:
        raise ConnectionSettingsError(
            "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION",
            "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION is not supported: "
            "give the server's CA in TEMPORAL_TLS_SERVER_CA_CERT_PATH",
        )
    return kept


def _load(
    profile: str | None, config_file: str | Path | None, env: Mapping[str, str]
) -> ClientConfigProfile:
    path = config_file or env.get("TEMPORAL_CONFIG_FILE")
    setting = "config_file" if config_file else "TEMPORAL_CONFIG_FILE"
    if path and not Path(path).is_file():
        raise ConnectionSettingsError(setting, f"{setting}={str(path)!r} is no file")
    try:
        return ClientConfigProfile.load(
            profile=profile,
            config_source=Path(path) if path else None,
            override_env_vars=env,
        )
    except (RuntimeError, ValueError) as error:
        raise _file_error(error, profile, path, env) from None


def _file_error(
    error: Exception, profile: str | None, path: str | Path | None, env: Mapping[str, str]
) -> ConnectionSettingsError:
    text = str(error)
    if "Profile" in text and "not found" in text:
        setting = "profile" if profile else "TEMPORAL_PROFILE"
        name = profile or env.get("TEMPORAL_PROFILE", "default")
        where = str(path) if path else "the Temporal configuration file"
        return ConnectionSettingsError(
            setting, f"{setting}={name!r}: no [profile.{name}] stands in {where}"
        )
    if "TOML" in text:
        # The parser quotes the line, and the line may hold a key: only its position is repeated.
        position = text.split("TOML parse error", 1)[-1].split("\n", 1)[0].strip()
        where = repr(str(path)) if path else "the Temporal configuration file"
        return ConnectionSettingsError(
            "TEMPORAL_CONFIG_FILE", f"{where} is not valid TOML ({position})"
        )
    for variable in env:
        if variable.startswith("TEMPORAL_") and variable in text:
            return ConnectionSettingsError(variable, text.removeprefix("Invalid configuration: "))
    return ConnectionSettingsError(
        "TEMPORAL_CONFIG_FILE", f"the Temporal settings cannot be read: {text.splitlines()[0]}"
    )


def _tls(loaded: ClientConfigProfile, *, has_api_key: bool) -> bool | TLSConfig:
    if loaded.tls is None:
        return has_api_key
    try:
        tls = loaded.tls.to_connect_tls_config()
    except OSError as error:
        raise ConnectionSettingsError(
            "TEMPORAL_TLS_*_PATH",
            f"the TLS file {error.filename!r} cannot be read ({error.strerror}): correct "
            "TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_TLS_CLIENT_KEY_PATH or "
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
        ) from error
    if isinstance(tls, TLSConfig):
        _check_pem(tls)
    return tls


def _check_pem(tls: TLSConfig) -> None:
    for setting, value in (
        ("TEMPORAL_TLS_SERVER_CA_CERT_PATH", tls.server_root_ca_cert),
        ("TEMPORAL_TLS_CLIENT_CERT_PATH", tls.client_cert),
        ("TEMPORAL_TLS_CLIENT_KEY_PATH", tls.client_private_key),
    ):
        if value is not None and b"-----BEGIN" not in value:
            raise ConnectionSettingsError(
                setting, f"{setting} holds no PEM block ('-----BEGIN ...'): give it a PEM file"
            )
    if (tls.client_cert is None) != (tls.client_private_key is None):
        missing = "CERT" if tls.client_cert is None else "KEY"
        raise ConnectionSettingsError(
            f"TEMPORAL_TLS_CLIENT_{missing}_PATH",
            f"TEMPORAL_TLS_CLIENT_{missing}_PATH is missing: "
            "a client certificate and its key are given together",
        )


def _refuse_credentials_without_address(key: str | None, tls: bool | TLSConfig) -> None:
    if key or tls:
        given = "TEMPORAL_API_KEY" if key else "TEMPORAL_TLS"
        raise ConnectionSettingsError(
            "TEMPORAL_ADDRESS",
            f"TEMPORAL_ADDRESS is missing although {given} is set: give the host:port it is for",
        )


def _check_address(address: str, source: str) -> None:
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
        f"TEMPORAL_ADDRESS={address!r} (from {source}) {fault}: write host:port, "
        "such as localhost:7233",
    )
