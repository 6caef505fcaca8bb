"""A bounded store of what was used lately."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Shelf(Generic[K, V]):
    """Keeps values for who wants one next; those that lie longest make room for others.

    Args:
        most: How many values it holds.
        most_bytes: How many bytes they may take together.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of a size in bytes, in place of the one of that key."""
        self.take(key)
        self._kept[key] = value, size
        self._bytes += size
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self.take(next(iter(self._kept)))

    def get(self, key: K) -> V | None:
        """Look at a value without using it; ``None`` where there is none."""
        return self._kept.get(key, (None, 0))[0]

    def take(self, key: K) -> V | None:
        """Take a value off the shelf; ``None`` where there is none."""
        value, size = self._kept.pop(key, (None, 0))
        self._bytes -= size
        return value
