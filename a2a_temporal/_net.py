"""Where push notifications may go: the guard against URLs that lead into the own network (SSRF).

Both halves use it: the server when a config is registered, the worker again before each delivery,
because a name may change its answer in between. The worker connects to the address that was
checked, never to the name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to the addresses of the host."""

MAXIMUM_URL_CHARACTERS = 2048
_RESOLVE_SECONDS = 5.0
_RESOLVE_ERRORS = (OSError, UnicodeError, asyncio.TimeoutError)
_DEFAULT_PORTS = {"http": 80, "https": 443}

# The only range of IPv6 that is assigned as public addresses. What lies outside includes every form
# that wraps an IPv4 address (compatible, translated, NAT64), except the two that are named below.
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
_REFUSED_NETWORKS: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT: neither private nor global to `ipaddress`
        "168.63.129.16/32",  # Azure's host: public by its number, reached from inside only
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "2001::/23",  # Teredo among others
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation; not known to older versions of `ipaddress`
    )
)


class UrlRefusedError(Exception):
    """No notification may go to a URL; the text says why and quotes no secret."""


@dataclass(frozen=True)
class Destination:
    """A checked URL and the addresses a connection to it may use.

    Attributes:
        scheme: ``http`` or ``https``.
        host: The name, for the Host header and for TLS.
        port: The port, the scheme's own when the URL names none.
        target: Path and query.
        addresses: The checked addresses.
    """

    scheme: str
    host: str
    port: int
    target: str
    addresses: tuple[str, ...]

    @property
    def host_header(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve a name the way the operating system does."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


class UrlGuard:
    """Decides which URLs notifications may go to.

    Args:
        allowed_hosts: What is allowed although it is internal: a host (``hooks.internal``), a host
            with port (``127.0.0.1:9000``), a suffix (``*.svc.cluster.local``) or a network
            (``10.20.0.0/16``).
        resolve: Tells the addresses of a host.

    Raises:
        ValueError: An entry of ``allowed_hosts`` is none of these.
    """

    def __init__(
        self, allowed_hosts: Sequence[str] = (), *, resolve: Resolve = system_resolver
    ) -> None:
        self._resolve = resolve
        self._networks: list[_Network] = []
        self._hosts: set[str] = set()
        self._suffixes: list[str] = []
        for entry in allowed_hosts:
            self._allow(entry)

    async def check(self, url: str, *, registering: bool = False) -> Destination:
        """Check a URL and resolve its host.

        Args:
            url: The URL.
            registering: Nothing is sent yet: a host that is allowed by name need not exist now.

        Raises:
            UrlRefusedError: Nothing may be sent there. The text does not say whether the host's
                name resolves: that would tell a client which names an internal network knows.
        """
        parts, host, port = _parse(url)
        allowed = self._is_allowed(host, port)
        try:
            addresses = await self._addresses(host, port)
        except _RESOLVE_ERRORS as error:
            if not (registering and allowed):
                raise _refused(host) from error
            addresses = []
        if not allowed and not all(map(self._may_be_used, addresses)):
            raise _refused(host)
        target = parts.path or "/"
        if parts.query:
            target += f"?{parts.query}"
        return Destination(parts.scheme, host, port, target, tuple(addresses))

    def _allow(self, entry: str) -> None:
        text = entry.strip().lower()
        if not text or "://" in text:
            raise ValueError(
                f"allowed_hosts holds {entry!r}; name a host, host:port, *.suffix or network."
            )
        if "/" in text:
            try:
                self._networks.append(ipaddress.ip_network(text))
            except ValueError as error:
                raise ValueError(f"allowed_hosts holds {entry!r}: {error}.") from error
        elif text.startswith("*."):
            self._suffixes.append(text[1:])
        else:
            self._hosts.add(text)

    def _is_allowed(self, host: str, port: int) -> bool:
        if host in self._hosts or f"{host}:{port}" in self._hosts:
            return True
        return any(host.endswith(suffix) for suffix in self._suffixes)

    def _may_be_used(self, address: str) -> bool:
        parsed = _unmapped(ipaddress.ip_address(address))
        return not is_internal(address) or any(parsed in network for network in self._networks)

    async def _addresses(self, host: str, port: int) -> list[str]:
        found = await asyncio.wait_for(self._resolve(host, port), _RESOLVE_SECONDS)
        addresses = [address.partition("%")[0] for address in found]
        if not addresses:
            raise OSError("the name has no address")
        return addresses


def is_internal(address: str) -> bool:
    """Say whether an address is anything but a public one."""
    parsed = _unmapped(ipaddress.ip_address(address))
    return (
        not parsed.is_global
        or (parsed.version == 6 and parsed not in _PUBLIC_IPV6)
        or parsed.is_multicast
        or parsed.is_reserved
        or any(parsed in network for network in _REFUSED_NETWORKS)
    )


def _unmapped(address: _Address) -> _Address:
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped


def _refused(host: str) -> UrlRefusedError:
    return UrlRefusedError(
        f"host {host!r} cannot be resolved, or has an address that is not public. Use a public "
        "host, or have the operator add it to PushOptions.allowed_hosts"
    )


def _parse(url: str) -> tuple[SplitResult, str, int]:
    if len(url) > MAXIMUM_URL_CHARACTERS:
        raise UrlRefusedError(f"it is longer than {MAXIMUM_URL_CHARACTERS} characters")
    if not url.isascii() or any(c <= " " or c in '\\\x7f"<>^`{|}' for c in url):
        raise UrlRefusedError("it holds characters that a URL writes percent-encoded")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlRefusedError("it is no URL") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise UrlRefusedError(f"its scheme is {parts.scheme!r}; use https or http")
    if parts.username is not None or parts.password is not None:
        raise UrlRefusedError(
            "it holds a user name or password; put credentials into the config's authentication"
        )
    host = (parts.hostname or "").rstrip(".").lower()
    if not host or port == 0:
        raise UrlRefusedError("it names no host and port")
    return parts, host, port or _DEFAULT_PORTS[parts.scheme]
