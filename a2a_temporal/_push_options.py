"""How push notifications are delivered: one object for the server half and the worker half."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from a2a_temporal._net import UrlGuard
from a2a_temporal.push import signing_key

_SHORTEST_TIMEOUT = timedelta(milliseconds=100)
_LONGEST_TIMEOUT = timedelta(minutes=2)


@dataclass(frozen=True)
class PushOptions:
    """Limits of push notifications; give the same to the handler and to the workers.

    Attributes:
        timeout: How long a receiver may take to answer one notification; the specification
            recommends 10 to 30 seconds (section 13.2).
        initial_interval: The pause after the first failure of a receiver.
        backoff: Factor by which the pause grows from failure to failure.
        maximum_interval: The longest pause between two attempts.
        maximum_age: A receiver that has failed for this long is given up: what it missed becomes
            its dead letters. The namespace must keep closed workflows for longer than this.
        maximum_attempts: It is also given up after this many failures in a row; ``None`` leaves it
            to ``maximum_age``.
        allowed_hosts: Internal receivers: ``host``, ``host:port``, ``*.suffix`` or a network in
            CIDR notation. Everything that is not public is refused otherwise.
        signing_keys: Keys of the signature headers, ``whsec_`` and base64 or any text; each of them
            signs, so that receivers can change over from one to the next. None, no signature.
        maximum_configs: The most configs one task may have.
        concurrency: Slots of a worker for deliveries; they are slots of a task queue of their own,
            so agents' turns keep theirs. Receivers that failed last share half of them.
        show_secrets: Answer the owner of a config with its token and credentials in clear, as A2A
            before 1.1 allows, instead of with ``[redacted]``.
    """

    timeout: timedelta = timedelta(seconds=15)
    initial_interval: timedelta = timedelta(seconds=1)
    backoff: float = 2.0
    maximum_interval: timedelta = timedelta(minutes=15)
    maximum_age: timedelta = timedelta(days=3)
    maximum_attempts: int | None = None
    allowed_hosts: Sequence[str] = ()
    signing_keys: Sequence[str] = field(default=(), repr=False)
    maximum_configs: int = 10
    concurrency: int = 20
    show_secrets: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, timedelta) and value <= timedelta(0):
                raise ValueError(f"PushOptions.{name} must be positive, got {value!r}.")
        if not _SHORTEST_TIMEOUT <= self.timeout <= _LONGEST_TIMEOUT:
            raise ValueError(
                f"PushOptions.timeout must be between {_SHORTEST_TIMEOUT} and {_LONGEST_TIMEOUT}, "
                f"got {self.timeout!r}."
            )
        if self.backoff < 1:
            raise ValueError(f"PushOptions.backoff must be at least 1, got {self.backoff!r}.")
        for name in ("maximum_attempts", "maximum_configs", "concurrency"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"PushOptions.{name} must be at least 1, got {value!r}.")
        for name in ("allowed_hosts", "signing_keys"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"PushOptions.{name} takes a list of texts, not one text.")
        UrlGuard(self.allowed_hosts)
        for key in self.signing_keys:
            signing_key(key)

    def guard(self) -> UrlGuard:
        """Return the guard that knows the allowed hosts."""
        return UrlGuard(self.allowed_hosts)
