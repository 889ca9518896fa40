"""Pull requests on the thread page, without a browser: reviews, their threads, checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.demo.records import Annotation
from bot.demo.reviews import Remark
from tests.contract.pull_routes import with_pull
from tests.demo.scene import scene
from tests.demo.test_page import THREAD, browser


async def test_a_pull_request(tmp_path: Path) -> None:
    """Branches, reviews in their place with verdict, lines and answers, and the checks of its head alone."""
    made = scene(tmp_path)
    world, pull = made.world, with_pull(made)
    at = pull.number
    remarks = [Remark("src/size.py", "Why **0**?", 2, start_line=1), Remark("src/size.py", "Was fine", 2, "LEFT")]
    world.comment(made.repo, at, "sam", "one")
    world.review(made.repo, at, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    world.comment(made.repo, at, "sam", "two")
    world.reply(pull.review_threads[0].comments[0].id, "meg", "Because.")
    world.resolve(pull.review_threads[1], "meg")
    world.review(made.repo, at, "ana", state="APPROVED")
    world.add_check(made.repo, pull.head_sha, "lint", "success")
    failed = world.add_check(made.repo, pull.head_sha, "tests", "failure", title="1 of 5", summary="`empty`")
    failed.text = "*details*"
    failed.annotations += [
        Annotation("src/size.py", 2, 2, "failure", "<b>got 0"),
        Annotation("src/size.py", 1, 2, "warning", "both", title="Untyped"),
    ]
    world.add_check(made.repo, "main", "elsewhere", "failure")
    async with browser(made) as client:
        html = (await client.get(f"/ana/parser/pull/{at}")).text
        live = (await client.get(f"/_demo/ana/parser/issues/{at}/timeline")).text
        one = (await client.get(THREAD)).text
    place = 0
    for part in ("wants to merge", "fix/size", "main", "<p>one</p>", "requested changes", "<p>Nearly.</p>",
                 "src/size.py", "lines 1 to 2", '<span class="removed">-    return int(text)</span>',
                 "<strong>0</strong>", "<p>Because.</p>", "line 2, as it was", "resolved by meg", "<p>Was fine</p>",
                 "<p>two</p>", "approved these changes", "1 failure, 1 success", "tests", "1 of 5",
                 "<code>empty</code>", "<em>details</em>", "note-failure", "src/size.py:2<", "&lt;b&gt;got 0",
                 "note-warning", "src/size.py:1-2<", "Untyped", "lint"):  # fmt: skip
        place = live.index(part, place)
    assert "elsewhere" not in live
    # an answer is no review of its own
    assert live.count('class="verdict') == 2
    assert live.count("</section>") == html.count('<section class="review"') + 2
    assert "opened this issue" not in live
    assert 'class="checks"' not in one
    for link in re.findall(r'href="#([^"]+)"', live):
        assert f'id="{link}"' in live, link


@pytest.mark.parametrize(
    ("state", "word"), [("draft", "Draft"), ("open", "Open"), ("closed", "Closed"), ("merged", "Merged")]
)
async def test_its_state(state: str, word: str, tmp_path: Path) -> None:
    """In GitHub's words."""
    made = scene(tmp_path)
    pull = with_pull(made)
    if state == "merged":
        made.world.merge(made.repo, pull.number, "ana")
    elif state == "closed":
        made.world.set_state(made.repo, pull.number, "ana", "closed")
    made.world.set_draft(made.repo, pull.number, "meg", state == "draft")
    async with browser(made) as client:
        html = (await client.get(f"/_demo/ana/parser/issues/{pull.number}/timeline")).text
    assert f'<span class="state {state}">{word}</span>' in html
    assert ("wants to merge" in html) is (state != "merged")
