"""Connect to Temporal the way its own tools do: ``TEMPORAL_*`` variables and profiles.

The settings come from `_connection_settings`, the meaning of a failure from `_connection_errors`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeNamespaceResponse
from temporalio.client import Client, Interceptor, Plugin
from temporalio.converter import DataConverter
from temporalio.service import RPCError, TLSConfig

from a2a_temporal._connection_errors import explain
from a2a_temporal._connection_settings import ConnectionSettings, resolve
from a2a_temporal._embedded_state import running_address
from a2a_temporal._encryption import KEYS_VARIABLE, encrypted
from a2a_temporal._storage import stored
from a2a_temporal.errors import ConnectionSettingsError

CONNECT_TIMEOUT = timedelta(seconds=10)

_FAILURES = (RuntimeError, ValueError, RPCError, asyncio.TimeoutError)


async def connect(
    *,
    profile: str | None = None,
    config_file: str | Path | None = None,
    address: str | None = None,
    namespace: str | None = None,
    api_key: str | None = None,
    tls: bool | TLSConfig | None = None,
    data_converter: DataConverter = DataConverter.default,
    plugins: Sequence[Plugin] = (),
    interceptors: Sequence[Interceptor] = (),
    identity: str | None = None,
    connect_timeout: timedelta = CONNECT_TIMEOUT,
    lazy: bool = False,
    env: Mapping[str, str] | None = None,
) -> Client:
    """Connect to Temporal and check that the namespace is there.

    Arguments win over ``TEMPORAL_*`` variables, these over the profile file. Without any address it
    is the embedded server of this directory when one runs, else ``localhost:7233``.

    Args:
        profile: Profile of the Temporal configuration file.
        config_file: Path of that file when it is not where the Temporal CLI keeps it.
        address: ``host:port`` of the frontend.
        namespace: Namespace name.
        api_key: Key for Temporal Cloud; implies TLS.
        tls: True for TLS with the system's CAs, or certificates.
        data_converter: Codec and external storage included; API and workers must use the same one.
            Without a codec it gets an :class:`~a2a_temporal.EncryptionCodec` when
            ``A2A_TEMPORAL_ENCRYPTION_KEYS`` is set; without external storage a
            :class:`~a2a_temporal.FileSystemStorage` when ``A2A_TEMPORAL_STORAGE`` is.
        plugins: Plugins of the `temporalio.client.Client`.
        interceptors: Interceptors of the client.
        identity: The name of this process in the Temporal UI; process id and host when None.
        connect_timeout: Bound of the connection, and of the check of the namespace.
        lazy: Check the settings only and connect with the first call, so that a server can start
            while Temporal is down. A lazy client cannot run a worker.
        env: The environment, when it is not the one of the process.

    Raises:
        ConnectionSettingsError: A setting is wrong; the text names it.
        TemporalUnreachableError: Temporal does not answer; trying again may help.
    """
    converter = _converter(data_converter, env)
    settings = resolve(
        profile=profile,
        config_file=config_file,
        address=address,
        namespace=namespace,
        api_key=api_key,
        tls=tls,
        env=env,
        embedded_address=running_address,
    )
    connecting = Client.connect(
        settings.address,
        namespace=settings.namespace,
        api_key=settings.api_key,
        tls=settings.tls,
        rpc_metadata=settings.rpc_metadata,
        data_converter=converter,
        plugins=plugins,
        interceptors=interceptors,
        identity=identity,
        connect_timeout=connect_timeout,
        lazy=lazy,
    )
    try:
        client = await asyncio.wait_for(connecting, connect_timeout.total_seconds())
    except _FAILURES as error:
        # Not chained: the text of a transport may quote what was sent.
        raise await explain(error, settings) from None
    if not lazy:
        await check_namespace(client, within=connect_timeout)
    return client


def _converter(converter: DataConverter, env: Mapping[str, str] | None) -> DataConverter:
    try:
        return stored(encrypted(converter, env), env)
    except ValueError as error:
        raise ConnectionSettingsError(KEYS_VARIABLE, str(error)) from None


async def check_namespace(
    client: Client, *, within: timedelta = CONNECT_TIMEOUT
) -> DescribeNamespaceResponse:
    """Ask for the client's namespace: the proof that address, credentials and name are right.

    Raises:
        ConnectionSettingsError: The namespace is missing, or access to it was refused.
        TemporalUnreachableError: There was no answer in time.
    """
    asking = client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace), timeout=within
    )
    try:
        return await asyncio.wait_for(asking, within.total_seconds())
    except _FAILURES as error:
        config = client.service_client.config
        settings = ConnectionSettings(
            config.target_host, client.namespace, config.api_key, config.tls
        )
        raise await explain(error, settings) from None
