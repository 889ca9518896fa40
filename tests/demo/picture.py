"""The README's picture: the thread page after the conversation. `python -m tests.demo.picture` writes it again."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright, expect
from rich.console import Console

from bot import log
from bot.demo.screen import Screen
from bot.demo.stage import Stage, open_stage
from bot.demo.story import Story

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "thread.png"


async def play(stage: Stage) -> list[str]:
    """Play the conversation where nobody looks; returns what went wrong."""
    return await Story(stage, Screen(Console(file=io.StringIO()))).play()


async def portrait(browser: Browser, stage: Stage, path: Path, complaints: list[str] | None = None) -> Page:
    """Take the picture of a played stage: the first answer of the agent, and beside it what the bot saw.

    `complaints` takes what the browser's console says, until the page is closed.
    """
    page = await browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    if complaints is not None:
        page.on("console", lambda message: complaints.append(message.text))
    await page.goto(stage.url)
    await expect(page.locator("#live")).to_have_attribute("data-state", "live")
    answer = page.locator("article.from-bot").nth(1)
    await answer.get_by_role("button", name="What it saw").click()
    await expect(page.locator("#panel-saw h2")).to_have_text("explain")
    await expect(answer).to_have_class("comment from-bot seen")
    # tools are shown only where the pointer or the keyboard is
    await page.mouse.move(0, 0)
    await page.evaluate("document.activeElement.blur()")
    # the question that it answers at the top, below the bar
    await page.evaluate(
        "id => scrollTo(0, document.getElementById(id).previousElementSibling.offsetTop - 70)",
        await answer.get_attribute("id"),
    )
    await page.screenshot(path=path, animations="disabled")
    return page


async def main() -> None:
    """Write the picture into the documentation."""
    log.configure("error")
    async with open_stage() as stage, async_playwright() as playwright:
        if faults := await play(stage):
            raise SystemExit("\n".join(faults))
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        await portrait(browser, stage, PICTURE)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
