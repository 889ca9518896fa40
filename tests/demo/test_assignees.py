"""Who is assigned to a thread: through REST, and told in webhooks."""

from __future__ import annotations

from pathlib import Path

from tests.demo.scene import Scene, scene


def told(made: Scene) -> list[tuple[str, str | None, str]]:
    """Events of people coming and going."""
    return [
        (one.event, one.action, one.payload()["assignee"]["login"])
        for one in made.world.deliveries
        if one.action in {"assigned", "unassigned"}
    ]


async def test_people_come_and_go(tmp_path: Path) -> None:
    """One event for each that is new or gone; whoever has no role here is left out without a word."""
    made = scene(tmp_path)
    here = made.path("/issues/1/assignees")
    async with made.as_installation() as bot:
        answer = await bot.post(here, json={"assignees": ["MEG", "sam", "nobody", "ana"]})
        assert answer.status_code == 201
        assert [who["login"] for who in answer.json()["assignees"]] == ["meg", "ana"]
        assert answer.json()["assignee"]["login"] == "meg"
        await bot.post(here, json={"assignees": ["meg"]})
        answer = await bot.request("DELETE", here, json={"assignees": ["meg", "sam"]})
        assert [who["login"] for who in answer.json()["assignees"]] == ["ana"]
    assert told(made) == [
        ("issues", "assigned", "meg"), ("issues", "assigned", "ana"), ("issues", "unassigned", "meg"),
    ]  # fmt: skip


async def test_at_most_ten(tmp_path: Path) -> None:
    """The others are left out."""
    made = scene(tmp_path)
    names = [f"p{n}" for n in range(12)]
    for name in names:
        made.world.add_user(name)
        made.world.set_role(made.repo, name, "write")
    made.world.assign(made.repo, 1, "ana", names)
    assert [who.login for who in made.issue.assignees] == names[:10]


async def test_who_may_assign(tmp_path: Path) -> None:
    """A token that only reads may not, nor somebody without a role; a list of something else is refused."""
    made = scene(tmp_path)
    here = made.path("/issues/1/assignees")
    async with made.as_installation(issues="read") as reader:
        assert (await reader.post(here, json={"assignees": ["meg"]})).status_code == 403
    async with made.client(made.world.mint(made.installation).value, unchecked=True) as bot:
        assert (await bot.post(here, json={"assignees": [5]})).status_code == 422
    assert made.issue.assignees == []


async def test_on_a_pull_request(tmp_path: Path) -> None:
    """Told as an event of the pull request, and shown there."""
    made = scene(tmp_path)
    made.app.events.append("pull_request")
    made.world.write_file(made.repo, "x", "x", "meg", branch="fix")
    pull = made.world.open_pull(made.repo, "meg", "Fix", head="fix")
    async with made.as_installation() as bot:
        await bot.post(made.path(f"/issues/{pull.number}/assignees"), json={"assignees": ["ana"]})
        shown = (await bot.get(made.path(f"/pulls/{pull.number}"))).json()
    assert [who["login"] for who in shown["assignees"]] == ["ana"]
    assert told(made) == [("pull_request", "assigned", "ana")]
