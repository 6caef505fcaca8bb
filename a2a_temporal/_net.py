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
_DEFAULT_PORTS = {"http": 80, "https": 443}

_REFUSED_NETWORKS: tuple[_Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT: neither private nor global to `ipaddress`
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "::/96",  # IPv4-compatible, deprecated
        "64:ff9b::/96",  # NAT64: an IPv4 address in disguise
        "64:ff9b:1::/48",
        "2001::/23",  # Teredo among others
        "2002::/16",  # 6to4
        "fec0::/10",
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

    def url_at(self, address: str) -> str:
        """Return the URL with a checked address in place of the name."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.target}"


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
            UrlRefusedError: Nothing may be sent there.
        """
        parts, port = _parse(url)
        host = (parts.hostname or "").rstrip(".").lower()
        try:
            addresses = await self._addresses(host, port)
        except UrlRefusedError:
            if not (registering and self._is_allowed(host, port)):
                raise
            addresses = []
        if not self._is_allowed(host, port):
            for address in addresses:
                if is_internal(address) and not self._in_allowed_network(address):
                    raise UrlRefusedError(
                        f"host {host!r} has an address that is not public. Use a public host, or "
                        "have the operator add it to PushOptions.allowed_hosts"
                    )
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

    def _in_allowed_network(self, address: str) -> bool:
        parsed = _unmapped(ipaddress.ip_address(address))
        return any(parsed in network for network in self._networks)

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await asyncio.wait_for(self._resolve(host, port), _RESOLVE_SECONDS)
        except (OSError, UnicodeError, asyncio.TimeoutError) as error:
            raise UrlRefusedError(f"host {host!r} cannot be resolved") from error
        addresses = [address.partition("%")[0] for address in found]
        if not addresses:
            raise UrlRefusedError(f"host {host!r} has no address")
        return addresses


def is_internal(address: str) -> bool:
    """Say whether an address is anything but a public one."""
    parsed = _unmapped(ipaddress.ip_address(address))
    return (
        not parsed.is_global
        or parsed.is_multicast
        or parsed.is_reserved
        or any(parsed in network for network in _REFUSED_NETWORKS)
    )


def _unmapped(address: _Address) -> _Address:
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped


def _parse(url: str) -> tuple[SplitResult, int]:
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
    if not parts.hostname or port == 0:
        raise UrlRefusedError("it names no host and port")
    return parts, port or _DEFAULT_PORTS[parts.scheme]
