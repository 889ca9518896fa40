"""The thread page in a real browser: one person writes as several, and sees live what happens."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright, expect

from bot.demo.server import LookAlikeServer
from tests.demo.scene import Scene, scene

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

# on a user's machine the browser may be missing; in CI nothing is skipped, so there the launch fails
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists() and not os.environ.get("CI"), reason="Chromium is not installed (apt-get install chromium)"
)


async def saw(comment: int) -> Mapping[str, Any]:
    """What the bot saw for any comment."""
    block = {"kind": "pin", "label": "ana", "trust": "writer", "tokens": 9, "text": "Keep Python 3.9"}
    return {"run": "r1", "step": "triage", "model": "demo", "blocks": [block], "comments": [], "inputs": []}


@dataclass
class Open:
    """A page of a served scene; `complaints` is what the browser's console said."""

    made: Scene
    page: Page
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """The thread, followed live."""
    made = scene(tmp_path)
    async with LookAlikeServer(made.world, saw=saw) as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page()
        shown = Open(made, page)
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        await page.goto(server.url)
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")
        yield shown
        await browser.close()


async def test_a_conversation(opened: Open) -> None:
    """Write as sam, be refused a pin as sam, pin as meg, edit, delete; the bot's answer comes in live."""
    made, page = opened.made, opened.page
    await page.get_by_text("sam", exact=True).first.click()
    await page.get_by_label("Comment", exact=True).fill("I see it too, @bot")
    await page.keyboard.press("Control+Enter")
    box = page.locator("article").nth(1)
    await expect(box).to_contain_text("I see it too")
    assert made.world.comments(made.repo, 1)[0].author.login == "sam"

    await box.hover()
    await box.get_by_role("button", name="Pin").click()
    await expect(page.locator("#toast")).to_contain_text("Must have write rights")
    await page.locator(".personas").get_by_text("meg").click()
    await box.hover()
    await box.get_by_role("button", name="Pin").click()
    await expect(page.locator(".pinned-banner")).to_contain_text("pinned by meg")
    await box.hover()
    await box.get_by_role("button", name="Unpin").click()
    await expect(page.locator(".pinned-banner")).to_have_count(0)

    await box.hover()
    await box.get_by_role("button", name="Edit").click()
    await box.get_by_label("Text of the comment").fill("Edited **text**")
    await box.get_by_role("button", name="Save").click()
    await expect(box.locator("strong")).to_have_text("text")

    made.world.react(made.world.comments(made.repo, 1)[0], made.app.bot, "eyes")
    await expect(box.locator(".marks")).to_contain_text("1")
    made.world.comment(made.repo, 1, made.app.bot, "The cause is `int('')`.", app=made.app)
    answer = page.locator("article.from-bot")
    await expect(answer.locator("code")).to_have_text("int('')")
    await answer.get_by_role("button", name="What it saw").click()
    await expect(page.locator("#panel-saw")).to_contain_text("Keep Python 3.9")

    await box.hover()
    await box.get_by_role("button", name="Delete").click()
    await expect(page.locator("article")).to_have_count(2)
    assert opened.complaints == ["Failed to load resource: the server responded with a status of 403 (Forbidden)"]


async def test_the_configuration_is_edited(opened: Open) -> None:
    """A commit from the page, and one from elsewhere that appears unless somebody is typing."""
    made, page = opened.made, opened.page
    await page.get_by_role("tab", name="Configuration").click()
    area, commit = page.get_by_label("Content of the file"), page.get_by_role("button", name="Commit to main")
    await expect(area).to_have_value("agents: {}\n")
    await expect(commit).to_be_disabled()
    await area.fill("agents:\n  triage: {}\n")
    await expect(page.locator(".gutter")).to_have_text("1\n2\n3")
    await page.get_by_label("Commit message").fill("Add triage")
    await commit.click()
    await expect(page.locator("#toast")).to_contain_text("Committed")
    sha = made.repo.git.resolve("main")
    assert sha is not None
    details = made.repo.git.details(sha)
    assert details is not None
    assert (details.message.strip(), details.author[0]) == ("Add triage", "Ana")

    made.world.write_file(made.repo, ".github/bot.yml", "agents: 2\n", "meg")
    await expect(area).to_have_value("agents: 2\n")
    await area.fill("typing")
    made.world.write_file(made.repo, ".github/bot.yml", "agents: 3\n", "meg")
    made.world.comment(made.repo, 1, "sam", "after the push")
    await expect(page.locator("article")).to_have_count(2)
    await expect(area).to_have_value("typing")
    assert opened.complaints == []


async def test_typing_survives_what_happens_meanwhile(opened: Open) -> None:
    """Neither a new comment nor an edit of that very comment takes away what is being written."""
    made, page = opened.made, opened.page
    comment = made.world.comment(made.repo, 1, "sam", "first")
    box = page.locator(f"#issuecomment-{comment.id}")
    await box.hover()
    await box.get_by_role("button", name="Edit").click()
    area = box.get_by_label("Text of the comment")
    await area.fill("half a sen")
    await page.get_by_label("Comment", exact=True).fill("draft")
    made.world.edit_comment(comment.id, "meg", "changed elsewhere")
    made.world.comment(made.repo, 1, "meg", "second")
    await expect(page.locator("article")).to_have_count(3)
    await expect(area).to_have_value("half a sen")
    await expect(page.get_by_label("Comment", exact=True)).to_have_value("draft")
    await box.get_by_role("button", name="Cancel").click()
    await expect(box).to_contain_text("changed elsewhere")


async def test_narrow_screens_do_not_scroll_sideways(opened: Open) -> None:
    """A phone shows everything in one column."""
    made, page = opened.made, opened.page
    await page.set_viewport_size({"width": 360, "height": 740})
    made.world.comment(
        made.repo,
        1,
        "sam",
        "x" * 300 + "\n\n```\n" + "y" * 300 + "\n```\n\n| a | b |\n|---|---|\n| " + "z" * 90 + " | 1 |",
    )
    await expect(page.locator("article")).to_have_count(2)
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
    side, column = await page.locator(".side").bounding_box(), await page.locator(".column").bounding_box()
    assert side is not None
    assert column is not None
    assert side["y"] >= column["y"] + column["height"]
