"""Close the connection of a client that reads nothing.

ASGI has no word for it: a response ends by a last write, and a connection that is closed waits
until what was written has been sent. So the transport is asked, where the web server's own ``send``
leads to it, as uvicorn's does, within the middlewares of Starlette. Elsewhere the response is left
unfinished, and the web server closes the connection as it does then.
"""

import asyncio
from typing import Any

from starlette.types import Send

_MOST_LAYERS = 50
_NAMES = ("send", "_send")


async def cut_off(send: Send) -> None:
    """Close the connection at once, without what still waits to be sent."""
    layer: Any = send
    for _ in range(_MOST_LAYERS):
        abort = getattr(getattr(getattr(layer, "__self__", None), "transport", None), "abort", None)
        if abort is not None:
            abort()
            await asyncio.sleep(0)  # in which the web server learns of it
            return
        layer = _within(layer)


def _within(layer: Any) -> Any:
    """Return the ``send`` that a middleware's own one calls."""
    names: tuple[str, ...] = getattr(getattr(layer, "__code__", None), "co_freevars", ())
    cells: tuple[Any, ...] = getattr(layer, "__closure__", None) or ()
    inner = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    return next((inner[name] for name in _NAMES if name in inner), None)
