"""A plan is asked for, sent back, planned again and approved, on the thread page in a real browser with a real bot."""

from __future__ import annotations

from playwright.async_api import Page, async_playwright, expect

from bot.demo.stage import open_stage, shown
from tests.demo.opened import needs_chromium
from tests.demo.picture import CHROMIUM, FLAGS

pytestmark = needs_chromium

WISH = "smaller, please"
#: the bot's patience on a machine with other work, in milliseconds
PATIENCE = 60_000


async def write(page: Page, who: str, text: str) -> None:
    """Somebody comments."""
    await page.locator(".personas").get_by_text(who, exact=True).click()
    await page.get_by_label("Comment", exact=True).fill(text)
    await page.keyboard.press("Control+Enter")


async def test_a_plan_is_revised_and_approved() -> None:
    """The question has boxes for those who may edit; its comment shows who answered what; the words reach the plan."""
    async with open_stage() as stage, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = await browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(stage.url)
        await expect(page.locator("#live")).to_have_attribute("data-state", "live")
        said, offered = page.locator("article.from-bot"), page.locator("[data-offer]:visible")

        await write(page, "ana", "@bot implement refuse a size without a number")
        await expect(said).to_have_count(1, timeout=PATIENCE)
        first = said.first
        await expect(first.locator(".gate")).to_have_text("waits for an answer")
        await expect(first.get_by_role("checkbox")).to_have_count(3)
        await expect(offered).to_contain_text(["approve"])
        await page.locator(".personas").get_by_text("sam", exact=True).click()
        for name in ("approve", "revise", "stop"):
            await expect(first.get_by_role("checkbox", name=name)).to_be_disabled()

        # whoever may edit may tick, and is told where that does not count
        await page.locator(".personas").get_by_text("ana", exact=True).click()
        wrong = first.get_by_role("checkbox", name="approve")
        await wrong.focus()
        await page.keyboard.press("Space")
        await expect(first.locator(".markdown")).to_contain_text("does not count", timeout=PATIENCE)
        await expect(wrong).not_to_be_checked()
        await expect(wrong).to_be_focused()

        await write(page, "meg", f"@bot answer revise {WISH}")
        await expect(said).to_have_count(2, timeout=PATIENCE)
        await stage.rest()
        await expect(first.locator(".gate")).to_have_text("answered by meg: revise")
        await expect(first.locator(".markdown")).to_contain_text(WISH)
        await expect(first.get_by_role("checkbox")).to_have_count(0)
        second = said.nth(1)
        await expect(second.locator(".gate")).to_have_text("waits for an answer")
        await second.get_by_role("button", name="What it saw").click()
        await expect(page.locator("#panel-saw")).to_contain_text(WISH)

        tick = second.get_by_role("checkbox", name="approve")
        await expect(tick).to_be_enabled()
        await tick.focus()
        await page.keyboard.press("Space")
        await expect(said).to_have_count(3, timeout=PATIENCE)
        await stage.rest()
        await expect(said.nth(2)).to_contain_text("all 5 checks passed")
        await expect(second.locator(".gate")).to_have_text("answered by meg: approve")
        await expect(second.get_by_role("checkbox")).to_have_count(0)
        # whoever ticked with the keyboard goes on from there
        await expect(second).to_be_focused()
        assert [word in shown(stage.said()[1]) for word in ("Answered by", "meg", "approve")] == [True] * 3
        assert complaints == []
        await browser.close()
