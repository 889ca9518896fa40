"""The look-alike gives GitHub's answers: every route, success and refusal, against the OpenAPI structure."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.rest.routes import ROUTES
from bot.demo.server import lookalike
from bot.model.role import Role
from tests.contract import conversation_routes, pull_routes, write_routes
from tests.contract.openapi import (
    CheckedTransport,
    Undocumented,
    check_request,
    check_response,
    complaints,
    component,
    coverage,
    document,
    operation,
)
from tests.demo.scene import Scene, scene


async def _webhook(request: httpx.Request) -> httpx.Response:
    return httpx.Response(202)


async def _all_routes(made: Scene) -> None:
    """One good request to every route; the checked client complains about what is not GitHub's."""
    from bot.demo.deliveries import Deliverer

    world, path = made.world, made.path
    async with Deliverer(world, "http://bot.test/webhook", transport=httpx.MockTransport(_webhook)) as deliverer:
        await deliverer.settle()
        async with made.as_app() as app:
            await app.get("/app")
            await app.get("/app/installations")
            await app.get(f"/app/installations/{made.installation.id}")
            await app.post(
                f"/app/installations/{made.installation.id}/access_tokens",
                json={"repository_ids": [made.repo.id], "permissions": {"issues": "write"}},
            )
            await app.post(f"/app/installations/{made.installation.id}/access_tokens")
            await app.get(path("/installation"))
            rows = (await app.get("/app/hook/deliveries", params={"per_page": 50})).json()
            await app.get(f"/app/hook/deliveries/{rows[0]['id']}")
            await app.post(f"/app/hook/deliveries/{rows[0]['id']}/attempts")
            await app.get("/rate_limit")
        async with made.as_installation() as bot:
            await bot.get("/installation/repositories")
            await bot.get("/users/meg")
            await bot.get("/users/bot[bot]")
            await bot.get(path())
            for login in ("meg", "sam"):
                await bot.get(path(f"/collaborators/{login}/permission"))
            sha = (await bot.get(path("/commits/main"), headers={"Accept": "application/vnd.github.sha"})).text
            await bot.get(path(f"/commits/{sha}"))
            tree = (await bot.get(path(f"/git/trees/{sha}"), params={"recursive": "1"})).json()
            await bot.get(path(f"/git/trees/{tree['sha']}"))
            blob = next(row["sha"] for row in tree["tree"] if row["type"] == "blob")
            await bot.get(path(f"/git/blobs/{blob}"))
            await bot.get(path("/contents"))
            await bot.get(path("/contents/src"))
            await bot.get(path("/contents/src/size.py"), params={"ref": sha})
            issue = (await bot.post(path("/issues"), json={"title": "Two", "body": "Text", "labels": ["bug"]})).json()
            await bot.get(path("/issues"), params={"state": "all", "sort": "updated", "direction": "asc"})
            here = path(f"/issues/{issue['number']}")
            await bot.patch(here, json={"title": "Three", "state": "closed", "state_reason": "not_planned"})
            comment = (await bot.post(f"{here}/comments", json={"body": "Hello"})).json()
            there = path(f"/issues/comments/{comment['id']}")
            await bot.get(f"{here}/comments", params={"per_page": 5, "page": 1, "since": "2025-01-01T00:00:00Z"})
            await bot.get(path("/issues/comments"), params={"sort": "updated", "direction": "desc"})
            await bot.put(f"{there}/pin")
            await bot.get(here)
            await bot.get(there, headers={"Accept": "application/vnd.github.full+json"})
            await bot.delete(f"{there}/pin")
            await bot.patch(there, json={"body": "Hello again"})
            for subject in (here, there):
                reaction = (await bot.post(f"{subject}/reactions", json={"content": "eyes"})).json()
                await bot.post(f"{subject}/reactions", json={"content": "eyes"})
                await bot.get(f"{subject}/reactions", params={"content": "eyes"})
                await bot.delete(f"{subject}/reactions/{reaction['id']}")
            await bot.post(f"{here}/labels", json={"labels": ["one", "two"]})
            await bot.get(f"{here}/labels")
            await bot.put(f"{here}/labels", json={"labels": ["three", "a/b"]})
            await bot.delete(f"{here}/labels/a%2Fb")
            await bot.delete(f"{here}/labels")
            await bot.put(f"{here}/lock", json={"lock_reason": "resolved"})
            await bot.delete(f"{here}/lock")
            await bot.delete(there)
            await pull_routes.ask(made, bot)
            await write_routes.ask(made, bot)
            await conversation_routes.ask(made, bot)
        await deliverer.settle()


@pytest.mark.parametrize("owner_type", ["User", "Organization"])
async def test_every_route_answers_as_described(tmp_path: Path, owner_type: str) -> None:
    """No route gives a status, a field or a type that GitHub does not, and none is left out."""
    made = scene(tmp_path, owner_type=owner_type)
    await _all_routes(made)
    # the description knows contents only with a path
    wanted = {(method, template.replace(":path}", "}"))
              for method, template, _ in ROUTES if not template.endswith("/contents")}  # fmt: skip
    missing = [route for route, count in coverage(made.transport.seen, wanted).items() if not count]
    assert missing == []
    assert {seen.status for seen in made.world.requests} <= {200, 201, 202, 204, 302}


async def test_refusals_have_described_shapes(tmp_path: Path) -> None:
    """400, 401, 403, 404, 410, 422 and 301: GitHub's message, documentation_url and, where described, errors."""
    made = scene(tmp_path)
    world, path = made.world, made.path
    gone = world.open_issue(made.repo, "ana", "Gone")
    world.delete_issue(made.repo, gone.number, "ana")
    locked = world.open_issue(made.repo, "ana", "Locked")
    world.lock(made.repo, locked.number, "ana")
    here = path("/issues/1/comments")
    async with made.as_installation(issues="read") as reader, made.client() as nobody, made.client("x") as wrong:
        assert (await reader.post(here, json={"body": "x"})).status_code == 403
        assert (await nobody.post(here, json={"body": "x"})).status_code == 401
        assert (await wrong.get(path())).status_code == 401
        assert (await nobody.get("/app")).status_code == 401
    async with made.client(world.mint(made.installation).value, unchecked=True) as bot:
        assert (await bot.post(here, content=b"{")).status_code == 400
        assert (await bot.post(here, json={})).status_code == 422
        assert (await bot.post(here, json={"body": 5})).status_code == 422
        assert (await bot.post(here, json={"body": "  "})).json()["errors"][0]["resource"] == "IssueComment"
        assert (await bot.post(here, json={"body": "x" * 65_537})).status_code == 422
        assert (await bot.post(here, json={"body": "é" * 65_536})).status_code == 201
        assert (await bot.get(path("/issues/999"))).status_code == 404
        assert (await bot.get(path(f"/issues/{gone.number}"))).status_code == 410
        answer = await bot.post(path(f"/issues/{locked.number}/comments"), json={"body": "x"})
        assert (answer.status_code, answer.json()["message"]) == (
            403,
            "Unable to create comment because issue is locked.",
        )
        assert (await bot.post(path("/issues/1/reactions"), json={"content": "wow"})).status_code == 422
        assert (await bot.get(path("/commits/nowhere"))).status_code == 422
        assert (await bot.get(path("/collaborators/bot[bot]/permission"))).status_code == 404
        world.rename_repository(made.repo, "renamed")
        moved = await bot.get("/repos/ana/parser/issues/1")
        assert moved.status_code == 301
        assert (await bot.get(moved.headers["Location"])).json()["number"] == 1


@pytest.mark.parametrize("owner_type", ["User", "Organization"])
def test_webhook_payloads_hold_described_objects(tmp_path: Path, owner_type: str) -> None:
    """Each object in a payload has the shape that the REST API gives it, and the keys that GitHub's events have."""
    made = scene(tmp_path, owner_type=owner_type)
    world, repo = made.world, made.repo
    comment = world.comment(repo, 1, "sam", "first")
    world.edit_comment(comment.id, "meg", "second")
    world.pin_comment(comment.id, "meg")
    world.unpin_comment(comment.id, "meg")
    world.delete_comment(comment.id)
    world.edit_issue(repo, 1, "meg", title="Other", body="Other")
    world.set_labels(repo, 1, "meg", ["bug"])
    world.set_labels(repo, 1, "meg", [])
    world.lock(repo, 1, "meg")
    world.unlock(repo, 1, "meg")
    world.set_state(repo, 1, "meg", "closed")
    world.set_state(repo, 1, "meg", "open")
    world.write_file(repo, "README.md", "# changed\n", "meg")
    other = world.add_repository(made.app.owner, "other")
    world.choose(made.installation, [other])
    world.choose(made.installation, [other, repo])
    world.suspend(made.installation)
    world.suspend(made.installation, suspended=False)
    world.uninstall(made.installation)
    parts = {
        "comment": "issue-comment",
        "issue": "issue",
        "label": "label",
        "repository": "full-repository",
        "sender": "simple-user",
    }
    seen = set()
    for delivery in world.deliveries:
        payload = delivery.payload()
        seen.add((delivery.event, delivery.action))
        for name, schema in parts.items():
            if name in payload:
                value = copy.deepcopy(payload[name])
                if name == "repository":
                    # a webhook's repository has neither counts of the network nor, in push, times as text
                    value |= {"network_count": 0, "subscribers_count": 0}
                    if delivery.event == "push":
                        assert isinstance(value["created_at"], int)
                        value |= dict.fromkeys(("created_at", "pushed_at"), "2025-11-03T10:00:00Z")
                assert complaints(component(schema), value) == [], (delivery.event, delivery.action, name)
        if delivery.event.startswith("installation"):
            assert complaints(component("installation"), payload["installation"]) == []
        else:
            assert payload["installation"]["id"] == made.installation.id
            assert ("organization" in payload) is (owner_type == "Organization")
    actions = {"created", "edited", "pinned", "unpinned", "deleted"}
    assert {action for event, action in seen if event == "issue_comment"} == actions
    assert {action for event, action in seen if event == "issues"} == {
        "opened", "edited", "labeled", "unlabeled", "locked", "unlocked", "closed", "reopened",
    }  # fmt: skip
    assert ("push", None) in seen
    assert {action for event, action in seen if event == "installation"} == {
        "created", "suspend", "unsuspend", "deleted",
    }  # fmt: skip
    assert {action for event, action in seen if event == "installation_repositories"} == {"added", "removed"}


async def _answer(tmp_path: Path) -> Any:
    made = scene(tmp_path)
    made.world.set_role(made.repo, "sam", Role.TRIAGE)
    async with made.as_installation() as bot:
        return (await bot.post(made.path("/issues/1/comments"), json={"body": "x"})).json()


async def test_the_check_notices_what_is_wrong(tmp_path: Path) -> None:
    """Missing, mistyped, invented and null fields, a wrong status or path: each is told with its place."""
    good = await _answer(tmp_path)
    where = ("POST", "/repos/ana/parser/issues/1/comments", 201)
    check_response(*where, good, closed=True)
    for change, told in (
        ({"id": "5"}, r"\$\.id"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"url": "no address"}, "url"),
        ({"user": {"login": "ana"}}, "user"),
        ({"author_association": "FRIEND"}, "author_association"),
        ({"body": None}, "body"),
    ):
        with pytest.raises(Undocumented, match=told):
            check_response(*where, {**good, **change})
    with pytest.raises(Undocumented, match="html_url"):
        check_response(*where, {key: value for key, value in good.items() if key != "html_url"})
    with pytest.raises(Undocumented, match="invented"):
        check_response(*where, {**good, "invented": 1}, closed=True)
    check_response(*where, {**good, "user": None, "invented": 1})
    with pytest.raises(Undocumented, match="no such status"):
        check_response("POST", where[1], 200, good)
    with pytest.raises(Undocumented, match="no such operation"):
        check_response("POST", "/repos/ana/parser/nothing", 200, {})
    with pytest.raises(Undocumented, match="message"):
        check_response("POST", where[1], 502, {})
    check_response("POST", where[1], 502, {"message": "Server Error"})
    with pytest.raises(Undocumented, match="no body"):
        check_response("GET", "/repos/ana/parser/issues/1/comments", 304, [])
    with pytest.raises(Undocumented, match="not described"):
        check_response("DELETE", "/repos/ana/parser/issues/comments/1", 204, {})
    with pytest.raises(Undocumented, match="media type"):
        check_response("GET", "/repos/ana/parser/issues/1", 200, "text", "text/html")


def test_requests_are_checked() -> None:
    """Unknown parameters, wrong types and bodies that GitHub does not know are told."""
    comments = "/repos/ana/parser/issues/1/comments"
    check_request("GET", comments, [("per_page", "100"), ("page", "2")])
    check_request("GET", "/api/v3/repositories/5/issues/1/comments", [])
    check_request("POST", comments, [], {"body": "x"})
    check_request("POST", "/app/installations/1/access_tokens", [], {"permissions": {"issues": "write"}})
    for method, path, query, body in (
        ("GET", comments, [("perpage", "100")], None),
        ("GET", comments, [("page", "two")], None),
        ("GET", "/repos/ana/parser/issues", [("state", "opened")], None),
        ("POST", comments, [], None),
        ("POST", comments, [], {}),
        ("POST", comments, [], {"body": "x", "pin": True}),
        ("POST", "/app/installations/1/access_tokens", [], {"permissions": {"issues": "all"}}),
        ("PUT", "/repos/ana/parser/issues/comments/1/pin", [], {"pinned": True}),
        ("PUT", comments, [], None),
    ):
        with pytest.raises(Undocumented):
            check_request(method, path, query, body)


def test_paths_find_their_operation() -> None:
    """Literal words win over parameters, numbers are numbers, references may hold slashes."""
    repo = "/repos/{owner}/{repo}"
    assert operation("GET", "/repos/a/b/issues/comments")[0] == f"{repo}/issues/comments"
    assert operation("GET", "/repos/a/b/issues/5")[0] == f"{repo}/issues/{{issue_number}}"
    assert operation("GET", "/repos/a/b/commits/feature/x")[0] == f"{repo}/commits/{{ref}}"
    assert operation("GET", "/repos/a/b/commits/main/check-runs")[0] == f"{repo}/commits/{{ref}}/check-runs"
    assert operation("GET", "/repos/a/b/contents/x/y.yml")[0] == f"{repo}/contents/{{path}}"
    with pytest.raises(Undocumented):
        operation("GET", "/repos/a/b/issues/five")


async def test_the_transport_lets_other_traffic_by(tmp_path: Path) -> None:
    """Pages are no business of the REST description."""
    made = scene(tmp_path)
    transport = CheckedTransport(httpx.ASGITransport(lookalike(made.world)))
    async with httpx.AsyncClient(transport=transport, base_url=made.world.site_url) as client:
        assert (await client.get("/ana/parser/issues/1")).status_code == 200
    assert transport.seen == set()


def test_the_structure_is_complete() -> None:
    """Every reference in it leads somewhere."""
    components = document()["components"]

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(ref := node.get("$ref"), str):
                _, _, kind, name = ref.split("/", 3)
                assert kind == "examples" or name in components[kind], ref
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(json.loads(json.dumps(document())))
