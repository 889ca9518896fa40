"""A page of a served scene in a real browser, for the tests of the thread page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from bot.demo.server import LookAlikeServer
from tests.demo.picture import CHROMIUM, FLAGS
from tests.demo.scene import Scene, Told, scene

#: on a user's machine the browser may be missing; in CI nothing is skipped, so there the launch fails
needs_chromium = pytest.mark.skipif(
    not CHROMIUM.exists() and not os.environ.get("CI"), reason="Chromium is not installed (apt-get install chromium)"
)

BLOCK = {"kind": "pin", "label": "ana", "trust": "writer", "tokens": 9, "text": "Keep Python 3.9"}
SAW = {"run": "r1", "step": "triage", "model": "demo", "blocks": [BLOCK], "comments": [], "inputs": []}


@dataclass
class Open:
    """A page of a served scene; `told` is what it knows of the bot, `complaints` what the browser's console said."""

    made: Scene
    page: Page
    told: Told
    complaints: list[str] = field(default_factory=list)


@asynccontextmanager
async def open_page(directory: Path) -> AsyncIterator[Open]:
    """The thread, followed live."""
    made, told = scene(directory), Told(SAW)
    async with LookAlikeServer(made.world, saw=told) as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page()
        shown = Open(made, page, told)
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        await page.goto(server.url)
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")
        yield shown
        await browser.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the page asked the world to do."""
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)
