"""The thread page in a real browser: one person writes as several, and sees live what happens."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import async_playwright, expect

from bot.demo.reviews import Remark
from bot.demo.stage import open_stage
from tests.contract.pull_routes import with_pull
from tests.demo.opened import Open, needs_chromium, until
from tests.demo.picture import CHROMIUM, FLAGS, PICTURE, play, portrait
from tests.demo.scene import Scene

pytestmark = needs_chromium


async def test_a_conversation(opened: Open) -> None:
    """Write as sam, who is offered no pin, pin as meg, edit, delete; the bot's answer comes in live."""
    made, page = opened.made, opened.page
    await page.get_by_text("sam", exact=True).first.click()
    await page.get_by_label("Comment", exact=True).fill("I see it too, @bot")
    await page.keyboard.press("Control+Enter")
    box = page.locator("article").nth(1)
    await expect(box).to_contain_text("I see it too")
    assert made.world.comments(made.repo, 1)[0].author.login == "sam"

    await box.hover()
    tools = box.locator(".tool:visible")
    await expect(tools).to_have_text(["Edit", "Delete"])
    await page.locator(".personas").get_by_text("meg").click()
    await expect(tools).to_have_text(["Pin on GitHub", "Pin for @bot", "Edit", "Hide", "Delete"])
    await box.get_by_role("button", name="Pin on GitHub").click()
    await expect(page.locator(".pinned-banner")).to_contain_text("pinned by meg")
    await box.hover()
    await box.get_by_role("button", name="Unpin on GitHub").click()
    await expect(page.locator(".pinned-banner")).to_have_count(0)

    await box.hover()
    await box.get_by_role("button", name="Edit").click()
    await box.get_by_label("Text of the comment").fill("Edited **text**")
    await box.get_by_role("button", name="Save").click()
    await expect(box.locator("strong")).to_have_text("text")

    made.world.react(made.world.comments(made.repo, 1)[0], made.app.bot, "eyes")
    await expect(box.locator(".marks")).to_contain_text("1")
    table = "| a | b |\n|---|--:|\n| 1 | 2 |"
    made.world.comment(made.repo, 1, made.app.bot, f"The cause is `int('')`.\n\n{table}", app=made.app)
    answer = page.locator("article.from-bot")
    await expect(answer.locator("code")).to_have_text("int('')")
    await expect(answer.locator("td").nth(1)).to_have_css("text-align", "right")
    await page.locator(".personas").get_by_text("sam").click()
    await expect(answer.locator(".tool:visible")).to_have_text(["What it saw"])
    await answer.get_by_role("button", name="What it saw").click()
    await expect(page.locator("#panel-saw")).to_contain_text("Keep Python 3.9")

    await box.hover()
    await box.get_by_role("button", name="Delete").click()
    await expect(page.locator("article")).to_have_count(2)
    assert opened.complaints == []


async def test_an_edit_changes_in_place(opened: Open) -> None:
    """The same nodes stay: what was unfolded stays unfolded, what was marked stays marked, nothing jumps."""
    made, page = opened.made, opened.page
    body = "one\n\n<details><summary>more</summary>\n\nfolded\n\n</details>\n\n" + "long\n\n" * 60
    comment = made.world.comment(made.repo, 1, "meg", body)
    box = page.locator(f"#issuecomment-{comment.id}")
    await box.locator("summary").click()
    await box.evaluate("box => (box.querySelector('.face').same = true)")
    await box.locator("p", has_text="long").nth(40).scroll_into_view_if_needed()
    place = await page.evaluate("scrollY")
    made.world.edit_comment(comment.id, "meg", body.replace("one", "two"))
    await expect(box.locator(".markdown > p").first).to_have_text("two")
    await expect(box.locator("details")).to_have_attribute("open", "")
    assert await box.evaluate("box => box.querySelector('.face').same")
    assert await page.evaluate("scrollY") == place


async def test_links_into_the_thread(opened: Open) -> None:
    """A comment's address goes to that comment on this page, also where it was written as a link."""
    made, page = opened.made, opened.page
    first = made.world.comment(made.repo, 1, "sam", "the first")
    link = f"{made.world.site_url}/ana/parser/issues/1#issuecomment-{first.id}"
    made.world.comment(made.repo, 1, "meg", "\n\n".join(["down"] * 60) + f"\n\n[see]({link})")
    await page.get_by_role("link", name="see").click()
    await expect(page.locator(f"#issuecomment-{first.id}")).to_be_in_viewport()
    assert len(page.context.pages) == 1
    assert page.url == link


async def test_a_pull_request(opened: Open) -> None:
    """Reviews and checks come in live; the page of a phone is not wider for them."""
    made, page = opened.made, opened.page
    pull = with_pull(made)
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.goto(f"{made.world.site_url}/ana/parser/pull/{pull.number}")
    await expect(page.locator("#live")).to_have_attribute("data-state", "live")
    remark = Remark("src/size.py", "- [ ] " + "z" * 200, 2)
    made.world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=[remark])
    await expect(page.locator(".review")).to_contain_text("requested changes")
    await page.locator(".message").get_by_role("checkbox").click()
    await until(lambda: pull.review_threads[0].comments[0].body.startswith("- [x] z"))
    made.world.reply(pull.review_threads[0].comments[0].id, "meg", "Because.")
    await expect(page.locator(".message")).to_have_count(2)
    made.world.resolve(pull.review_threads[0], "meg")
    await expect(page.locator(".review")).to_contain_text("resolved by meg")
    check = made.world.add_check(made.repo, pull.head_sha, "tests", None)
    await expect(page.locator(".check")).to_contain_text("in progress")
    made.world.finish(check, "failure")
    await expect(page.locator(".check")).to_contain_text("failure")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.complaints == []


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


async def test_unsaved_files_wait(opened: Open) -> None:
    """Another file is looked at and the draft is there again, marked, though the file was committed to meanwhile; who
    may not commit is told.
    """
    made, page = opened.made, opened.page
    await page.get_by_role("tab", name="Configuration").click()
    area, commit = page.get_by_label("Content of the file"), page.get_by_role("button", name="Commit to main")
    files = page.locator("select[name=path]")
    await area.fill("half a conf")
    await files.select_option("README.md")
    await expect(area).to_have_value("# parser\n")
    await expect(files.locator("option").first).to_have_text(".github/bot.yml (unsaved)")
    await expect(commit).to_be_disabled()
    made.world.write_file(made.repo, ".github/bot.yml", "agents: 3\n", "meg")
    await area.fill("# another\n")
    await files.select_option(".github/bot.yml")
    await expect(area).to_have_value("half a conf")
    await expect(commit).to_be_enabled()
    await page.locator(".personas").get_by_text("sam").click()
    await expect(commit).to_be_disabled()
    await expect(page.locator("#committer")).to_contain_text("sam has the role read; to commit, write is needed")
    await page.locator(".personas").get_by_text("meg").click()
    await commit.click()
    await expect(files.locator("option").first).to_have_text(".github/bot.yml")
    await files.select_option("README.md")
    await expect(area).to_have_value("# another\n")
    assert made.repo.git.read(head_blob(made, ".github/bot.yml")) == ("blob", b"half a conf")
    assert opened.complaints == []


def head_blob(made: Scene, path: str) -> str:
    """The object of a file on the default branch."""
    (found,) = (entry.sha for entry in made.repo.git.tree("main", recursive=True) or () if entry.path == path)
    return found


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


async def test_commits_stand_between_the_comments(opened: Open) -> None:
    """Who committed what to the default branch, where it happened, also live."""
    made, page = opened.made, opened.page
    made.world.comment(made.repo, 1, "sam", "before")
    made.world.write_file(made.repo, ".github/bot.yml", "agents: 4\n", "meg", "Another agent")
    made.world.write_file(made.repo, "draft", "x", "meg", "Not shown", branch="draft")
    made.world.comment(made.repo, 1, "sam", "after")
    boxes = page.locator("#timeline > article, #timeline > .event")
    await expect(boxes).to_have_count(4)
    await expect(boxes.nth(1)).to_contain_text("before")
    await expect(boxes.nth(2)).to_contain_text("meg committed")
    await expect(boxes.nth(2)).to_contain_text("Another agent")
    await expect(boxes.nth(3)).to_contain_text("after")


async def test_a_pin_by_the_bot_is_offered(opened: Open) -> None:
    """The button writes the request with the comment's address, ready to be sent."""
    made, page = opened.made, opened.page
    comment = made.world.comment(made.repo, 1, "sam", "Keep 3.9")
    box = page.locator(f"#issuecomment-{comment.id}")
    await box.hover()
    await box.get_by_role("button", name="Pin for @bot").click()
    link = f"{made.world.site_url}/ana/parser/issues/1#issuecomment-{comment.id}"
    comment_box = page.get_by_label("Comment", exact=True)
    await expect(comment_box).to_have_value(f"@bot pin {link}")

    async def after(button: str, value: str) -> None:
        await page.locator("#composer").get_by_role("button", name=button, exact=True).click()
        await expect(comment_box).to_have_value(value)

    # one stands there at a time, and what was typed behind it stays
    await after("help", "@bot help")
    await after("pins", "@bot pins")
    await after("@bot", "@bot ")
    await comment_box.press_sequentially("what now?")
    await after("@bot", "@bot what now?")
    await after("why", "@bot why what now?")
    await comment_box.fill("what now?")
    await after("@bot", "@bot what now?")
    await comment_box.fill("@bot helps")
    await after("why", "@bot why helps")


async def test_the_picture_of_the_readme(tmp_path: Path) -> None:
    """After the conversation: the agent's answer, beside it pin, comments and inputs; then it goes on, no complaint,
    live. The committed picture is of the same size.
    """
    taken = tmp_path / "thread.png"
    async with open_stage() as stage, async_playwright() as playwright:
        assert await play(stage) == []
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        complaints: list[str] = []
        page = await portrait(browser, stage, taken, complaints)
        answer = page.locator("article.seen")
        await expect(answer).to_contain_text("bad input must end with exit code 2")
        await expect(answer.locator("sub")).to_contain_text("saw 5 comments, 1 pin, 2 inputs")
        await expect(answer.locator("sub")).to_be_in_viewport()
        panel = page.locator("#panel-saw")
        await expect(panel.locator(".blocks li")).to_have_count(12)
        await expect(panel.locator(".blocks pre").nth(3)).to_contain_text("three teams rely on that")
        await expect(panel.locator(".inputs b")).to_have_text(["checks", "newest_commits"])
        await expect(page.locator(".event")).to_have_count(2)
        await expect(page.locator(".silence")).to_have_text(
            "The bot stays silent: sam has the role read, write is needed"
        )
        await expect(page.locator("[data-act=saw]")).to_have_count(5)

        await page.locator(".personas").get_by_text("meg").click()
        await page.get_by_label("Comment", exact=True).fill("@bot why")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("article.from-bot").last).to_contain_text("the window is 5")

        # live, though nothing is said: a refusal
        await page.locator(".personas").get_by_text("sam").click()
        await page.get_by_label("Comment", exact=True).fill("@bot checks")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".silence")).to_have_count(2)
        assert complaints == []
        await browser.close()
    assert taken.stat().st_size < 300_000
    assert _size(taken) == _size(PICTURE) == (1200, 900)


def _size(picture: Path) -> tuple[int, int]:
    """Width and height from a PNG's first chunk."""
    head = picture.read_bytes()[16:24]
    return int.from_bytes(head[:4]), int.from_bytes(head[4:])
