"""The system's Chromium, driven by Playwright, and an application on a real socket."""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncGenerator, Generator

import uvicorn
from playwright.async_api import Browser, async_playwright
from starlette.types import ASGIApp

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Return the path of the browser; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.asynccontextmanager
async def running_browser() -> AsyncGenerator[Browser]:
    """Run a browser for as long as the block lasts."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve an application on a free port; yields its URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listener.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals to pytest."""
        yield
