"""Who gets in: the App's own token, installation tokens and what they are narrowed to, people's tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.keys import new_key
from bot.model.role import Role
from tests.demo.scene import scene


@pytest.mark.parametrize(
    ("issued", "expires", "told"),
    [
        (1, 540, "'Issued at'"),
        (-60, 601, "too far in the future"),
        (-60, 0, "future time"),
        (-60, -1, "future time"),
    ],
)
async def test_times_of_the_apps_token(tmp_path: Path, issued: float, expires: float, told: str) -> None:
    """Issued in the future, living longer than ten minutes or no more: 401 with the claim that is wrong."""
    made = scene(tmp_path)
    async with made.client(made.jwt(issued, expires)) as client:
        answer = await client.get("/app")
    assert answer.status_code == 401
    assert told in answer.json()["message"]


async def test_the_longest_life_is_allowed(tmp_path: Path) -> None:
    """Ten minutes exactly, and the client id as issuer."""
    made = scene(tmp_path)
    async with made.client(made.jwt(0, 600, iss=made.app.client_id)) as client:
        assert (await client.get("/app")).json()["slug"] == "bot"


async def test_forged_app_tokens(tmp_path: Path) -> None:
    """Another key, an unsigned token, missing claims, an unknown App, no token of an App at all."""
    made = scene(tmp_path)
    good = made.jwt()
    head, claims, _ = good.split(".")
    tokens = {
        made.jwt(signed_with=new_key()): 401,
        f"{head}.{claims}.": 401,
        f"{head}.{claims}.AAAA": 401,
        "a.b.c": 401,
        made.jwt(iat=None): 401,
        made.jwt(exp="soon"): 401,
        made.jwt(iss="999"): 404,
        made.world.mint(made.installation).value: 401,
    }
    for token, status in tokens.items():
        async with made.client(token) as client:
            assert (await client.get("/app")).status_code == status, token
    async with made.as_app() as client:
        assert (await client.get(made.path())).status_code == 401


async def test_a_token_works_for_its_repositories_only(tmp_path: Path) -> None:
    """Another repository of the installation: 403 where it is public, 404 where it is private."""
    made = scene(tmp_path)
    other = made.world.add_repository("ana", "other")
    secret = made.world.add_repository("ana", "secret", private=True)
    async with made.as_installation() as narrow, made.client(made.world.mint(made.installation).value) as wide:
        assert (await narrow.get(made.path())).status_code == 200
        refused = await narrow.get(f"/repos/{other.full_name}")
        assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
        assert (await narrow.get(f"/repos/{secret.full_name}")).status_code == 404
        for repo in (other, secret):
            assert (await wide.get(f"/repos/{repo.full_name}")).status_code == 200
        listed = (await narrow.get("/installation/repositories")).json()
        assert [row["name"] for row in listed["repositories"]] == ["parser"]
        assert (await wide.get("/installation/repositories")).json()["total_count"] == 3


@pytest.mark.parametrize(
    ("permissions", "reads", "writes", "files"),
    [
        ({"issues": "write"}, 200, 201, 403),
        ({"issues": "read"}, 200, 403, 403),
        ({"contents": "read"}, 403, 403, 200),
    ],
)
async def test_a_token_works_for_its_permissions_only(
    tmp_path: Path, permissions: dict[str, str], reads: int, writes: int, files: int
) -> None:
    """Write includes read; nothing includes another permission."""
    made = scene(tmp_path)
    here = made.path("/issues/1/comments")
    async with made.as_installation(**permissions) as client:
        assert (await client.get(here)).status_code == reads
        assert (await client.post(here, json={"body": "x"})).status_code == writes
        assert (await client.get(made.path("/contents/README.md"))).status_code == files
    seen = made.world.requests[-1]
    assert seen.kind == "installation"
    assert seen.permissions == {"metadata": "read", **permissions}
    assert seen.repository_ids == frozenset({made.repo.id})


async def test_no_token_for_more_than_was_granted(tmp_path: Path) -> None:
    """A foreign repository, a permission that was not granted, a foreign installation."""
    made = scene(tmp_path)
    foreign = made.world.add_repository("meg", "hers")
    here = f"/app/installations/{made.installation.id}/access_tokens"
    async with made.as_app() as app:
        for body in (
            {"repository_ids": [foreign.id]},
            {"repository_ids": [made.repo.id, foreign.id]},
            {"repositories": ["hers"]},
            {"permissions": {"contents": "write"}},
            {"permissions": {"administration": "read"}},
        ):
            assert (await app.post(here, json=body)).status_code == 422, body
        assert (await app.post("/app/installations/1/access_tokens")).status_code == 404
        made.world.suspend(made.installation)
        assert (await app.post(here)).status_code == 403


async def test_tokens_end(tmp_path: Path) -> None:
    """After an hour, when the App is suspended, when it is removed."""
    made = scene(tmp_path)
    async with made.as_installation() as client:
        made.clock.advance(3599)
        assert (await client.get(made.path())).status_code == 200
        made.clock.advance(1)
        assert (await client.get(made.path())).json()["message"] == "Bad credentials"
    async with made.as_installation() as client:
        made.world.suspend(made.installation)
        assert (await client.get(made.path())).status_code == 403
        made.world.suspend(made.installation, suspended=False)
        made.world.uninstall(made.installation)
        assert (await client.get(made.path())).status_code == 401


async def test_people_do_what_their_role_allows(tmp_path: Path) -> None:
    """A stranger may comment on a public issue, not edit, pin or lock; nobody sees a private one."""
    made = scene(tmp_path)
    theirs = made.world.comment(made.repo, 1, "meg", "mine")
    private = made.world.add_repository("ana", "secret", private=True)
    async with made.client(made.world.user_token("sam")) as sam, made.client(made.world.user_token("meg")) as meg:
        assert (await sam.post(made.path("/issues/1/comments"), json={"body": "x"})).status_code == 201
        pin = made.path(f"/issues/comments/{theirs.id}/pin")
        assert (await sam.put(pin)).status_code == 403
        assert (await meg.put(pin)).status_code == 200
        edited = await sam.patch(made.path(f"/issues/comments/{theirs.id}"), json={"body": "x"})
        assert edited.status_code == 403
        assert (await sam.put(made.path("/issues/1/lock"), json={})).status_code == 403
        assert (await sam.get(f"/repos/{private.full_name}")).status_code == 404


@pytest.mark.parametrize(
    ("role", "private", "permission", "named"),
    [
        (Role.NONE, False, "read", "read"),
        (Role.NONE, True, "none", "none"),
        (Role.TRIAGE, True, "read", "triage"),
        (Role.WRITE, False, "write", "write"),
        (Role.MAINTAIN, False, "write", "maintain"),
        (Role.ADMIN, True, "admin", "admin"),
    ],
)
async def test_effective_roles(tmp_path: Path, role: Role, private: bool, permission: str, named: str) -> None:
    """The legacy permission knows neither maintain nor triage; `role_name` does."""
    made = scene(tmp_path)
    repo = made.world.add_repository("ana", "other", private=private)
    made.world.set_role(repo, "sam", role)
    async with made.client(made.world.mint(made.installation).value) as client:
        answer = (await client.get(f"/repos/{repo.full_name}/collaborators/sam/permission")).json()
    assert (answer["permission"], answer["role_name"]) == (permission, named)
    assert answer["user"]["permissions"]["push"] is role.at_least(Role.WRITE)
