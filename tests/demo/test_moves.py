"""Transfers, archives, force-pushes, and what an installation may do: what changes under a bot's feet."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.records import Repository
from bot.demo.refusal import Refused
from tests.contract.openapi import complaints, component
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.demo.test_pulls import told


def other(made: Scene) -> Repository:
    """A second repository of ana's, where meg may write too."""
    repo = made.world.add_repository("ana", "other")
    made.world.set_role(repo, "meg", "write")
    return repo


async def test_a_transferred_issue(tmp_path: Path) -> None:
    """Comments go along; the old number redirects, and a new `opened` tells where it came from."""
    made = scene(tmp_path)
    world, target = made.world, other(made)
    world.label(target, "bug")
    world.set_labels(made.repo, 1, "meg", ["bug", "only here"])
    comment = world.comment(made.repo, 1, "sam", "Mine too.")
    row = world.transfer_issue(made.repo, 1, "meg", target)
    assert (row.number, [one.name for one in row.labels], row.comments) == (1, ["bug"], [comment])
    assert comment.issue is row
    assert list(made.repo.issues) == []
    (gone, came) = (
        payload for action, payload in told(made, "issues") if action == "transferred" or "changes" in payload
    )
    assert (gone["repository"]["name"], gone["changes"]["new_repository"]["name"]) == ("parser", "other")
    assert gone["changes"]["new_issue"]["id"] == row.id != gone["issue"]["id"]
    assert (came["action"], came["repository"]["name"], came["sender"]["login"]) == ("opened", "other", "meg")
    assert came["changes"]["old_issue"]["id"] == gone["issue"]["id"]
    for issue in (gone["issue"], gone["changes"]["new_issue"], came["changes"]["old_issue"]):
        assert complaints(component("issue"), issue) == []
    async with made.as_installation() as bot:
        for rest in ("", "/labels"):
            answer = await bot.get(made.path(f"/issues/1{rest}"))
            assert answer.status_code == 301
            assert answer.headers["Location"].endswith(f"/repositories/{target.id}/issues/1{rest}")
        assert (await bot.post(made.path("/issues/1/comments"), json={"body": "x"})).status_code == 404
        assert (await bot.get(made.path(f"/issues/comments/{comment.id}"))).status_code == 404


def test_what_cannot_be_transferred(tmp_path: Path) -> None:
    """To another owner, a pull request, by a reader."""
    made = scene(tmp_path)
    world, target, pull = made.world, other(made), with_pull(made)
    hers = world.add_repository("meg", "hers")
    for number, who, to in ((1, "meg", hers), (pull.number, "meg", target), (1, "sam", target), (1, "meg", made.repo)):
        with pytest.raises(Refused):
            world.transfer_issue(made.repo, number, who, to)
    assert sorted(made.repo.issues) == [1, pull.number]
    assert list(target.issues) == []


async def test_a_transferred_repository(tmp_path: Path) -> None:
    """Its old name redirects; an App that the new owner has not installed is left behind, and told."""
    made = scene(tmp_path)
    world = made.world
    world.transfer_repository(made.repo, "meg")
    (payload,) = (payload for action, payload in told(made, "repository") if action == "transferred")
    assert payload["changes"]["owner"]["from"]["user"]["login"] == "ana"
    assert payload["repository"]["full_name"] == "meg/parser"
    (lost,) = (payload for action, payload in told(made, "installation_repositories"))
    assert (lost["action"], lost["repositories_removed"][0]["id"]) == ("removed", made.repo.id)
    assert world.repository("meg/parser") is made.repo
    with pytest.raises(Refused):
        world.mint(made.installation, [made.repo.id])
    async with made.client(world.user_token("ana")) as client:
        assert (await client.get("/repos/ana/parser")).status_code == 301


def test_a_transfer_between_installations(tmp_path: Path) -> None:
    """Where the App is installed at the new owner too, it goes on there; chosen repositories are given up."""
    made = scene(tmp_path)
    there = made.world.install(made.app, "meg")
    made.world.choose(made.installation, [made.repo])
    made.world.transfer_repository(made.repo, "meg", "ana")
    heard = [row.installation_id for row in made.world.deliveries if row.action == "transferred"]
    assert heard == [made.installation.id, there.id]
    assert made.installation.repository_ids == set()
    made.world.comment(made.repo, 1, "sam", "x")
    assert made.world.deliveries[-1].installation_id == there.id


async def test_an_archived_repository(tmp_path: Path) -> None:
    """Read only until it is taken back; only its administrators may do either."""
    made = scene(tmp_path)
    with pytest.raises(Refused):
        made.world.archive_repository(made.repo, "meg")
    made.world.archive_repository(made.repo)
    made.world.archive_repository(made.repo)
    here = made.path("/issues/1/comments")
    async with made.as_installation() as bot:
        assert (await bot.get(made.path())).json()["archived"] is True
        refused = await bot.post(here, json={"body": "x"})
        assert (refused.status_code, refused.json()["message"]) == (403, "Repository was archived so is read-only.")
        assert (await bot.get(here)).status_code == 200
        made.world.archive_repository(made.repo, "ana", archived=False)
        assert (await bot.post(here, json={"body": "x"})).status_code == 201
    assert [action for action, _ in told(made, "repository")] == ["archived", "unarchived"]


def test_a_force_push(tmp_path: Path) -> None:
    """Another history in the branch's place: the pull request follows, the push says that it was forced."""
    made = scene(tmp_path)
    world, pull = made.world, with_pull(made)
    before = pull.head_sha
    world.write_file(made.repo, "docs/size.md", "# Sizes\n\nAll.\n", "meg", branch=pull.head)
    between = pull.head_sha
    after = world.force_push(made.repo, pull.head, {"src/size.py": "pass\n"}, "meg", "Again")
    details = made.repo.git.details(after)
    assert details is not None
    assert details.parents == (made.repo.git.resolve("main"),)
    assert (pull.head_sha, made.repo.git.resolve(pull.head)) == (after, after)
    forced = [payload["forced"] for _, payload in told(made, "push")]
    assert forced == [False, False, True]
    synchronized = [(payload["before"], payload["after"], payload["sender"]["login"])
                    for action, payload in told(made, "pull_request") if action == "synchronize"]  # fmt: skip
    assert synchronized == [(before, between, "meg"), (between, after, "meg")]
    assert world.force_push(made.repo, pull.head, {}, "meg", "", onto=before) == before == pull.head_sha
    assert not [name for name in made.repo.git.refs() if "_force" in name]
    for branch, who, onto in (("none", "meg", None), (pull.head, "meg", "none"), (pull.head, "sam", None)):
        with pytest.raises(Refused):
            world.force_push(made.repo, branch, {"a": "b"}, who, "x", onto=onto)


async def test_grants(tmp_path: Path) -> None:
    """Less takes effect at once, on tokens that are out too, and in silence; more is told."""
    made = scene(tmp_path)
    world, before = made.world, dict(made.installation.permissions)
    async with made.as_installation() as bot:
        count = len(world.deliveries)
        world.grant(made.installation, {"issues": "read"})
        assert len(world.deliveries) == count
        assert (await bot.post(made.path("/issues/1/comments"), json={"body": "x"})).status_code == 403
        assert (await bot.get(made.path("/issues/1"))).status_code == 200
        assert (await bot.get(made.path("/pulls"))).status_code == 403
        world.grant(made.installation, before)
        assert (await bot.post(made.path("/issues/1/comments"), json={"body": "x"})).status_code == 201
    (accepted,) = (payload for action, payload in told(made, "installation") if action == "new_permissions_accepted")
    assert accepted["installation"]["permissions"] == before
    assert accepted["repositories"][0]["id"] == made.repo.id
    assert complaints(component("installation"), accepted["installation"]) == []


def test_renames_and_deletions_have_a_sender(tmp_path: Path) -> None:
    """Whoever did it, and nobody without the right to."""
    made = scene(tmp_path, owner_type="Organization")
    made.world.set_role(made.repo, "meg", "admin")
    with pytest.raises(Refused):
        made.world.rename_repository(made.repo, "x", "sam")
    with pytest.raises(Refused):
        made.world.delete_repository(made.repo, "sam")
    made.world.rename_repository(made.repo, "lexer", "meg")
    made.world.delete_repository(made.repo, "meg")
    events = [(action, payload["sender"]["login"]) for action, payload in told(made, "repository")]
    assert events == [("renamed", "meg"), ("deleted", "meg")]
