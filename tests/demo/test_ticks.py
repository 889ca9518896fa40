"""Boxes on the thread page in a real browser: ticked by those who may, kept while the page changes around them."""

from __future__ import annotations

import asyncio

from playwright.async_api import Route, expect

from bot.demo.known import Gate, Known
from bot.model.state import GateState
from tests.demo.opened import Open, needs_chromium, until

pytestmark = needs_chromium

QUESTION = "**Build this plan?**\n\n```text\n- [ ] no box\n```\n\n- [ ] `approve`\n- [ ] revise\n  - [x] stop"


async def test_boxes_are_ticked(opened: Open) -> None:
    """With the mouse and with the keyboard, by whoever may edit; the focus stays though the text changes around it."""
    made, page = opened.made, opened.page
    asked = made.world.comment(made.repo, 1, made.app.bot, QUESTION, app=made.app)
    box = page.locator(f"#issuecomment-{asked.id}")
    ticks = box.get_by_role("checkbox")
    await expect(ticks).to_have_count(3)
    for who, may in (("sam", False), ("meg", True)):
        await page.locator(".personas").get_by_text(who).click()
        for index in range(3):
            await expect(ticks.nth(index)).to_be_enabled(enabled=may)
    await box.get_by_role("checkbox", name="approve").click()
    await expect(box.locator("header")).to_contain_text("edited by meg")
    assert asked.body == QUESTION.replace("[ ] `approve`", "[x] `approve`")
    told = made.world.deliveries[-1].payload()
    assert (told["action"], told["sender"]["login"], told["changes"]) == ("edited", "meg", {"body": {"from": QUESTION}})

    # two at once, each in the text that the other left; and what somebody else says above comes in meanwhile
    await ticks.nth(1).focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await expect(ticks.nth(2)).not_to_be_checked()
    body = QUESTION.replace("- [ ] `", "- [x] `").replace("[ ] revise", "[x] revise").replace("[x] stop", "[ ] stop")
    await until(lambda: asked.body == body)
    made.world.edit_comment(asked.id, "ana", f"Above.\n\n{body}\n\nBelow.")
    await expect(box).to_contain_text("Below.")
    await expect(box.locator("header")).to_contain_text("edited by ana")
    await expect(ticks.nth(2)).to_be_focused()
    await expect(ticks.nth(1)).to_be_checked()
    # when there is nothing to tick any more, the keyboard goes on from the comment
    made.world.edit_comment(asked.id, made.app.bot, "Answered by meg.")
    await expect(ticks).to_have_count(0)
    await expect(box).to_be_focused()
    assert opened.complaints == []


async def test_commands_are_offered_while_they_apply(opened: Open) -> None:
    """`approve` appears with the question and goes with it; the mark of a question follows."""
    made, page, told = opened.made, opened.page, opened.told
    offered = page.locator("[data-offer]:visible")
    await expect(offered).to_have_count(0)
    asked = made.world.comment(made.repo, 1, made.app.bot, QUESTION, app=made.app)
    told.known = Known(gates={asked.id: Gate(GateState.OPEN)}, offers=("approve", "stop"))
    made.world.react(asked, "ana", "eyes")
    await expect(page.locator(".gate")).to_have_text("waits for an answer")
    await expect(offered).to_have_text(["approve", "stop"])
    await offered.first.click()
    await expect(page.get_by_label("Comment", exact=True)).to_have_value("@bot approve")
    told.known = Known(gates={asked.id: Gate(GateState.ANSWERED, "meg", "approve")})
    made.world.edit_comment(asked.id, made.app.bot, "Answered")
    await expect(page.locator(".gate")).to_have_text("answered by meg: approve")
    await expect(offered).to_have_count(0)


async def test_a_tick_that_came_too_late(opened: Open) -> None:
    """It is refused and told, and the text is shown as it is now: the box may be another's."""
    made, page = opened.made, opened.page
    asked = made.world.comment(made.repo, 1, made.app.bot, "- [ ] approve", app=made.app)
    ticks = page.locator(f"#issuecomment-{asked.id}").get_by_role("checkbox")
    await expect(ticks).to_have_count(1)
    # an edit of which this page is not told before it asks
    with made.world.silence():
        made.world.edit_comment(asked.id, made.app.bot, "- [ ] delete everything")
    await ticks.click()
    await expect(page.locator("#toast")).to_contain_text("changed meanwhile")
    await expect(page.get_by_role("checkbox", name="delete everything")).not_to_be_checked()
    assert asked.body == "- [ ] delete everything"
    await ticks.click()
    await until(lambda: asked.body == "- [x] delete everything")
    # and whoever takes the tick back is believed, though this browser made it
    made.world.edit_comment(asked.id, made.app.bot, "- [ ] delete everything")
    await expect(ticks).not_to_be_checked()


async def test_a_tick_on_its_way_is_not_undone(opened: Open) -> None:
    """What comes in before the tick has arrived shows the text without it: the box stays as it was ticked."""
    made, page = opened.made, opened.page
    asked = made.world.comment(made.repo, 1, made.app.bot, "- [ ] approve", app=made.app)
    tick = page.locator(f"#issuecomment-{asked.id}").get_by_role("checkbox")
    held, gone = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        held.set()
        await gone.wait()
        await route.continue_()

    await page.route("**/boxes/*", hold)
    await tick.click()
    await held.wait()
    made.world.react(asked, "ana", "eyes")
    made.world.comment(made.repo, 1, "sam", "meanwhile")
    await expect(page.locator("article")).to_have_count(3)
    await expect(tick).to_be_checked()
    await expect(page.locator(".marks")).to_have_count(0)
    gone.set()
    await expect(page.locator(".marks")).to_have_count(1)
    await expect(tick).to_be_checked()
    assert asked.body == "- [x] approve"
