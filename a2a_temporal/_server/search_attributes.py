"""The search attributes tasks are found by: registered at start where permitted."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway, with_deadline
from a2a_temporal._log import wire

logger = logging.getLogger("a2a_temporal.server")

WITHOUT = (
    "Without them ListTasks, the inbox and `approvals` do not work, and quiet streams wake slowly; "
    "everything else does."
)
NO_ROOM = (
    "Remove attributes that nobody uses (temporal operator search-attribute remove), or give the "
    "agent a namespace of its own."
)
LATE = (
    "Tasks that began before are not listed: `a2a-temporal doctor --reindex` indexes the open "
    "ones. Those that have ended can be read by their ids only."
)

_CACHE_PAUSE = 0.5
_ASK_AGAIN_SECONDS = 60.0
_TYPES = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Datetime": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}
_NOT_PERMITTED = (
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNIMPLEMENTED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.INVALID_ARGUMENT,
    RPCStatusCode.ALREADY_EXISTS,
)


class Registration:
    """Whether a namespace knows the search attributes of tasks, which an operator may change.

    Args:
        temporal: The calls to Temporal; finding out takes as long as two of them at most.
    """

    def __init__(self, temporal: Gateway) -> None:
        self._temporal = temporal
        self._asking: asyncio.Task[bool] | None = None
        self._asked_at = float("-inf")
        self._known: bool | None = None

    @property
    def known(self) -> bool:
        """True once :meth:`ensure` has found that visibility knows the attributes."""
        return bool(self._known)

    async def ensure(self) -> None:
        """Register missing attributes where permitted; quick when none is known to be missing.

        Raises:
            asyncio.TimeoutError: Visibility did not learn of the attributes in time.
            temporalio.service.RPCError: Temporal did not answer.
        """
        lately = time.monotonic() - self._asked_at < _ASK_AGAIN_SECONDS
        if self._known or (self._known is False and lately):
            return
        # All callers wait for the same answer, so that an outage fails them together.
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        self._known = await asyncio.shield(self._asking)

    async def _ask(self) -> bool:
        registering = register_search_attributes(self._temporal)
        known = await with_deadline(2 * self._temporal.timeout, registering)
        self._asked_at = time.monotonic()
        if known and self._known is False:
            logger.warning("Search attributes are registered now. %s", LATE)
        return known

    @contextlib.asynccontextmanager
    async def used(self) -> AsyncGenerator[None]:
        """Use the attributes; :meth:`ensure` asks again if Temporal says that they are gone."""
        try:
            yield
        except RPCError as error:
            if (
                error.status == RPCStatusCode.INVALID_ARGUMENT
                and "search attribute" in error.message
            ):
                self._known = None
            raise


async def register_search_attributes(temporal: Gateway) -> bool:
    """Make sure the namespace knows the search attributes of tasks.

    Returns:
        Whether it does; where it does not, the log names the command that registers them.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    missing = await _missing(temporal)
    if missing is None:
        return await _usable(temporal)
    if missing and not await _register(temporal, missing):
        return False
    while not await _known_to_visibility(temporal):  # noqa: ASYNC110 # it offers nothing to wait for
        # The server's frontends learn of new attributes from a cache, within a minute.
        await asyncio.sleep(_CACHE_PAUSE)
    return True


async def _register(temporal: Gateway, missing: list[str]) -> bool:
    request = AddSearchAttributesRequest(
        namespace=temporal.client.namespace,
        search_attributes={name: _TYPES[wire.SEARCH_ATTRIBUTES[name]] for name in missing},
    )
    try:
        await temporal.call(temporal.client.operator_service.add_search_attributes, request)
    except RPCError as error:
        if error.status not in _NOT_PERMITTED:
            raise
        if not await _missing(temporal):
            return True
        logger.warning(
            "Search attributes are missing, and Temporal registers none from here: %s. %s %s",
            error.message,
            WITHOUT,
            NO_ROOM if is_no_room(error) else _run(temporal.client.namespace, missing),
        )
        return False
    return True


def is_no_room(error: RPCError) -> bool:
    """True when a namespace has as many search attributes of a type as its store takes."""
    return error.status == RPCStatusCode.INVALID_ARGUMENT and "more than" in error.message


def _run(namespace: str, names: list[str]) -> str:
    return f"Run: {registration_command(namespace, names)}"


def registration_command(namespace: str, names: list[str]) -> str:
    """Return the command an operator runs to register ``names``."""
    flags = " ".join(f"--name {name} --type {wire.SEARCH_ATTRIBUTES[name]}" for name in names)
    return f"temporal operator search-attribute create --namespace {namespace} {flags}"


async def _missing(temporal: Gateway) -> list[str] | None:
    """Return the unregistered names; ``None`` where the operator service is not to be asked."""
    request = ListSearchAttributesRequest(namespace=temporal.client.namespace)
    try:
        known = await temporal.call(
            temporal.client.operator_service.list_search_attributes, request
        )
    except RPCError as error:
        if error.status in _NOT_PERMITTED:
            return None
        raise
    return [name for name in wire.SEARCH_ATTRIBUTES if name not in known.custom_attributes]


async def _usable(temporal: Gateway) -> bool:
    """Say whether visibility knows the attributes; where it does not, log the cure."""
    if await _known_to_visibility(temporal):
        return True
    logger.warning(
        "Search attributes are missing. %s %s",
        WITHOUT,
        _run(temporal.client.namespace, list(wire.SEARCH_ATTRIBUTES)),
    )
    return False


async def _known_to_visibility(temporal: Gateway) -> bool:
    conditions = " AND ".join(f"{name} IS NULL" for name in wire.SEARCH_ATTRIBUTES)
    try:
        await temporal.count(conditions)
    except RPCError as error:
        if error.status != RPCStatusCode.INVALID_ARGUMENT:
            raise
        return False
    return True
