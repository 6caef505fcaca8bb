"""The system's Chromium, driven by Playwright."""

import contextlib
import shutil
from collections.abc import AsyncGenerator

from playwright.async_api import Browser, async_playwright

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
