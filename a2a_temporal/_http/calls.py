"""From an HTTP request to the SDK's call context: which protocol version it speaks, and who calls.

A context builder runs inside the error handling of every transport, so what it raises becomes the
right JSON-RPC or REST error.
"""

import re
from collections.abc import Collection

from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder, ServerCallContextBuilder
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, VERSION_HEADER
from a2a.utils.errors import A2AError, VersionNotSupportedError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from a2a_temporal._http.exchange import requested_extensions
from a2a_temporal._server.errors import internal_error

_VERSION = re.compile(r"(\d+\.\d+)(\.\d+)?")


def major_minor(version: str) -> str:
    """Return what of a version number counts (A2A 1.0 section 3.6.2); empty when it is none."""
    matched = _VERSION.fullmatch(version.strip())
    return matched[1] if matched else ""


def served_as_1_0(*, enable_v1_1: bool) -> Collection[str]:
    """Return the versions that are served as 1.0: what 1.1 adds is optional for its clients."""
    return (PROTOCOL_VERSION_1_0, "1.1") if enable_v1_1 else (PROTOCOL_VERSION_1_0,)


class CallContextBuilder(ServerCallContextBuilder):
    """Builds the context by another builder, after the version was found to be a supported one.

    The SDK compares the major number only, and knows the header only. The specification (§3.6.2)
    wants Major.Minor, takes a query parameter as well, and reads an absent version as 0.3.

    Args:
        inner: Who the caller is; the SDK's default builder when None.
        enable_v0_3: Whether the 0.3 methods are served too.
        enable_v1_1: Whether a call in version 1.1 is served as one in 1.0.
    """

    def __init__(
        self,
        inner: ServerCallContextBuilder | None,
        *,
        enable_v0_3: bool,
        enable_v1_1: bool = False,
    ) -> None:
        self._as_1_0 = served_as_1_0(enable_v1_1=enable_v1_1)
        self._inner = inner or DefaultServerCallContextBuilder()
        self._supported: Collection[str] = (
            (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3) if enable_v0_3 else (PROTOCOL_VERSION_1_0,)
        )

    def build(self, request: Request) -> ServerCallContext:
        """Build the context of one call.

        Raises:
            VersionNotSupportedError: The caller speaks a version that is not served.
        """
        version = self.version(request)
        try:
            context = self._inner.build(request)
        except (A2AError, HTTPException):
            raise
        except Exception as error:
            raise internal_error(error, where="the call context") from error
        context.requested_extensions |= requested_extensions(request)
        # The SDK's own check looks here, under this spelling.
        headers = context.state.setdefault("headers", dict(request.headers))
        headers[VERSION_HEADER.lower()] = version
        return context

    def version(self, request: Request) -> str:
        """Return the version in which a request is served.

        Raises:
            VersionNotSupportedError: The caller speaks a version that is not served.
        """
        given = request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER)
        if not given:
            return PROTOCOL_VERSION_0_3
        version = major_minor(given)
        if version in self._as_1_0:
            return PROTOCOL_VERSION_1_0
        if version not in self._supported:
            raise VersionNotSupportedError(
                message=f"A2A version {given[:20]!r} is not supported; "
                f"supported: {', '.join(self._supported)}"
            )
        return version
