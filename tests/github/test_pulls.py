"""Pull requests as the client reads them: from the look-alike, and from servers that misbehave."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from bot.errors import Forbidden, NotFound, Transient
from bot.github import Hosts, attachment_hosts
from bot.model.thread import Repository
from tests.contract.pull_routes import with_pull
from tests.demo.scene import scene
from tests.github.fake import COMMIT, REPOSITORY, FakeGitHub, answer, issue_json, make_client
from tests.github.lookalike import client_of

REPO = "/repos/ana/parser"


async def test_pull_request(tmp_path: Path) -> None:
    """Branches, commits, and whether it comes from a fork; an issue is no pull request."""
    made = scene(tmp_path)
    pull = with_pull(made)
    made.world.write_file(made.world.fork(made.repo, "sam"), "README.md", "# Other\n", "sam", branch="doc")
    other = made.world.open_pull(made.repo, "sam", "From afar", head="sam:doc", draft=True)
    client = client_of(made)
    got = await client.pull_request(pull.number)
    assert (got.head, got.base, got.head_sha, got.base_sha) == ("fix/size", "main", pull.head_sha, pull.base_sha)
    assert (got.author.login, got.state, got.draft, got.merged, got.from_fork) == ("meg", "open", False, False, False)
    far = await client.pull_request(other.number)
    assert (far.from_fork, far.draft) == (True, True)
    with pytest.raises(NotFound):
        await client.pull_request(made.issue.number)
    made.world.merge(made.repo, pull.number, "meg")
    merged = await client.pull_request(pull.number)
    assert (merged.state, merged.merged, merged.head_sha) == ("closed", True, got.head_sha)


async def test_pull_requests_of_a_branch(tmp_path: Path) -> None:
    """Those of the branch alone, not a fork's of the same name; closed ones only where asked for."""
    made = scene(tmp_path)
    pull = with_pull(made)
    made.world.write_file(made.world.fork(made.repo, "sam"), "README.md", "# Other\n", "sam", branch="fix/size")
    made.world.open_pull(made.repo, "sam", "From afar", head="sam:fix/size")
    client = client_of(made)
    assert [row.number for row in await client.pull_requests(head="fix/size")] == [pull.number]
    assert await client.pull_requests(head="fix/size", base="other") == ()
    made.world.set_state(made.repo, pull.number, "meg", "closed")
    assert await client.pull_requests(head="fix/size") == ()
    assert len(await client.pull_requests(head="fix/size", state="all")) == 1


def pull_json(number: int, **fields: object) -> dict[str, object]:
    end = {"ref": "fix", "sha": COMMIT, "repo": {"id": REPOSITORY.id}}
    user = {"id": 11, "login": "meg", "type": "User"}
    return {"number": number, "title": "T", "state": "open", "user": user, "head": end, "base": end, **fields}


async def test_servers_that_do_not_filter() -> None:
    """Only what was asked for is taken, of other branches and forks nothing; a list tells merging by its time."""
    server = FakeGitHub()
    far = {"ref": "fix", "sha": COMMIT, "repo": {"id": 99}}
    gone = {"ref": "fix", "sha": COMMIT, "repo": None}
    rows = [
        pull_json(1),
        pull_json(2, head=far),
        pull_json(3, head=gone),
        pull_json(4, head={**far, "ref": "other", "repo": {"id": REPOSITORY.id}}),
        pull_json(5, base={**far, "ref": "main", "repo": {"id": REPOSITORY.id}}, merged_at="2026-03-01T10:00:00Z"),
    ]
    server.on("GET", f"{REPO}/pulls", answer(rows))
    found = await make_client(server).pull_requests(head="fix", state="all")
    assert [(row.number, row.merged) for row in found] == [(1, False), (5, True)]
    assert [row.number for row in await make_client(server).pull_requests(head="fix", base="main")] == [5]
    server.on("GET", f"{REPO}/pulls/3", answer(rows[2]))
    assert (await make_client(server).pull_request(3)).from_fork
    for wrong in ({}, {"number": 3}, pull_json(3, head={"ref": "x", "sha": "no", "repo": None})):
        server.on("GET", f"{REPO}/pulls/3", answer(wrong))
        with pytest.raises(Transient):
            await make_client(server).pull_request(3)


async def test_differences(tmp_path: Path) -> None:
    """The diff, the files with their hunks, a comparison of branches."""
    made = scene(tmp_path)
    pull = with_pull(made)
    client = client_of(made)
    diff = await client.diff(pull.number)
    assert "+    return int(text or 0)\n" in diff
    assert "rename from run.sh\nrename to check.sh\n" in diff
    files = {file.path: file for file in await client.pull_files(pull.number)}
    assert {path: file.status for path, file in files.items()} == {
        "src/size.py": "modified", "docs/size.md": "added", "check.sh": "renamed",
    }  # fmt: skip
    assert files["check.sh"].previous_path == "run.sh"
    assert files["src/size.py"].patch.startswith("@@ -1,2 +1,2 @@")
    assert (files["src/size.py"].additions, files["src/size.py"].deletions) == (1, 1)
    assert set(await client.compare("main", "fix/size")) == set(files.values())
    assert await client.branch_head("fix/size") == pull.head_sha
    with pytest.raises(NotFound):
        await client.branch_head("fix")


async def test_diff_that_github_finds_too_large() -> None:
    """406: put together from the files' hunks."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/pulls/3", answer({"message": "Sorry, the diff exceeded the maximum"}, 406))
    rows = [
        {"filename": "b.py", "status": "added", "additions": 1, "deletions": 0, "patch": "@@ -0,0 +1 @@\n+x"},
        {"filename": "c.bin", "status": "renamed", "previous_filename": "a.bin", "additions": 0, "deletions": 0},
    ]
    server.on("GET", f"{REPO}/pulls/3/files", answer(rows))
    assert await make_client(server).diff(3) == (
        "diff --git a/b.py b/b.py\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/a.bin b/c.bin\n--- a/a.bin\n+++ b/c.bin\n(GitHub shows no hunks of this file)\n"
    )
    server.on("GET", f"{REPO}/pulls/3", answer({"message": "Forbidden"}, 403))
    with pytest.raises(Forbidden):
        await make_client(server).diff(3)


async def test_pages_are_bounded() -> None:
    """However many pages a server offers, three are read."""
    server = FakeGitHub()
    row = {"filename": "a.py", "status": "modified", "additions": 1, "deletions": 0, "patch": ""}
    server.on("GET", f"{REPO}/pulls/3/files", answer([row], link='<https://x/?page=9>; rel="next"'))
    assert len(await make_client(server).pull_files(3)) == 3
    assert [request.url.params["page"] for request in server.sent()] == ["1", "2", "3"]


async def test_checks_and_logs(tmp_path: Path) -> None:
    """The newest run of each check; a job's log from where GitHub points, without our token."""
    made = scene(tmp_path)
    pull = with_pull(made)
    world = made.world
    world.add_check(made.repo, pull.head, "tests", "success", log="old\n")
    failed = world.add_check(made.repo, pull.head, "tests", "failure", log="not ok 5 é\n")
    world.add_check(made.repo, pull.head, "style", "timed_out", title="Slow", summary="It hung.", app=made.app)
    world.add_check(made.repo, pull.head, "lint", None)
    client = client_of(made)
    runs = {run.name: run for run in await client.check_runs(pull.head_sha)}
    assert {name: (run.failed, run.conclusion) for name, run in runs.items()} == {
        "tests": (True, "failure"), "style": (True, "timed_out"), "lint": (False, None),
    }  # fmt: skip
    assert runs["tests"].job_id == failed.id
    assert runs["style"].job_id is None
    assert (runs["style"].title, runs["style"].summary) == ("Slow", "It hung.")
    log = await client.job_log(failed.id, keep=100)
    assert (log.text(), log.size, log.cut) == ("not ok 5 é\n", 12, 0)
    assert log.media_type == "text/plain"
    failed.log = "a" * 500 + "z" * 500
    assert (await client.job_log(failed.id, keep=11)).text() == "aaaaaa\n[… 989 of 1000 bytes cut …]\nzzzzz"
    failed.log = None
    with pytest.raises(NotFound):
        await client.job_log(failed.id, keep=100)


async def test_checks_need_a_permission_of_their_own(tmp_path: Path) -> None:
    """An App that was not granted checks is told which permission it lacks."""
    made = scene(tmp_path)
    made.installation.permissions.pop("checks")
    pull = with_pull(made)
    with pytest.raises(Forbidden, match="checks"):
        await client_of(made, unchecked=True).check_runs(pull.head_sha)


async def test_log_is_read_without_credentials_and_within_bounds() -> None:
    """Redirects of the file are followed without our token; a chain of them, a wrong scheme, a failure are errors."""
    server = FakeGitHub()
    seen: list[httpx.Request] = []
    place = "https://files.test/log"

    def file(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.url.path == "/log":
            return httpx.Response(302, headers={"Location": "/there"})
        if request.url.path == "/loop":
            return httpx.Response(302, headers={"Location": "/loop"})
        return httpx.Response({"/there": 200, "/gone": 410, "/busy": 503}[request.url.path], content=b"text")

    async def handle(request: httpx.Request) -> httpx.Response:
        return file(request) if request.url.host == "files.test" else await server.handle(request)

    client = make_client(server, transport=httpx.MockTransport(handle))

    async def log(address: str) -> str:
        server.on("GET", f"{REPO}/actions/jobs/4/logs", httpx.Response(302, headers={"Location": address}))
        return (await client.job_log(4, keep=10)).text()

    assert await log(place) == "text"
    assert all("authorization" not in request.headers for request in seen)
    for address, error in (("https://files.test/gone", NotFound), ("https://files.test/busy", Transient)):
        with pytest.raises(error):
            await log(address)
    with pytest.raises(NotFound, match="without end"):
        await log("https://files.test/loop")
    for address in ("http://files.test/there", "https://u:p@files.test/there", "file:///etc/passwd"):
        with pytest.raises(NotFound, match="not a host"):
            await log(address)
    server.on("GET", f"{REPO}/actions/jobs/4/logs", httpx.Response(200))
    with pytest.raises(Transient, match="no redirect"):
        await client.job_log(4, keep=10)


async def test_reviews_and_threads(tmp_path: Path) -> None:
    """Reviews and comments through REST; which threads are resolved through GraphQL."""
    from bot.demo.reviews import Remark

    made = scene(tmp_path)
    pull, world = with_pull(made), made.world
    remarks = [Remark("src/size.py", "Why 0?", 2), Remark("docs/size.md", "More, please.")]
    world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    first, second = pull.review_threads
    world.reply(first.comments[0].id, "meg", "Because.")
    world.resolve(second, "meg")
    client = client_of(made)
    reviews = await client.reviews(pull.number)
    assert (reviews[0].kind, reviews[0].body) == ("review", "Nearly.")
    comments = await client.review_comments(pull.number)
    assert [(row.kind, row.body) for row in comments] == [
        ("review_comment", "Why 0?"), ("review_comment", "More, please."), ("review_comment", "Because."),
    ]  # fmt: skip
    threads = await client.review_threads(pull.number)
    assert [(one.path, one.line, one.resolved) for one in threads] == [
        ("src/size.py", 2, False), ("docs/size.md", None, True),
    ]  # fmt: skip
    assert [(c.author.login, c.author.id, c.body) for c in threads[0].comments] == [
        ("ana", world.user("ana").id, "Why 0?"), ("meg", world.user("meg").id, "Because."),
    ]  # fmt: skip
    with pytest.raises(NotFound):
        await client.review_threads(made.issue.number)


async def test_many_review_threads(tmp_path: Path) -> None:
    """Pages of fifty, two hundred at most; of a long thread the comments not read are counted."""
    from bot.demo.reviews import Remark

    made = scene(tmp_path)
    pull, world = with_pull(made), made.world
    world.review(made.repo, pull.number, "ana", remarks=[Remark("docs/size.md", f"{n}") for n in range(120)])
    for number in range(35):
        world.reply(pull.review_threads[0].comments[0].id, "meg", f"{number}")
    threads = await client_of(made).review_threads(pull.number)
    assert [thread.comments[0].body for thread in threads] == [f"{n}" for n in range(120)]
    assert (len(threads[0].comments), threads[0].hidden) == (30, 6)


async def test_linked(tmp_path: Path) -> None:
    """Issues that a pull request closes, pull requests that close an issue."""
    made = scene(tmp_path)
    made.world.open_issue(made.repo, "sam", "Unrelated")
    pull = with_pull(made, body="Fixes #1, see #2.")
    client = client_of(made)
    (issue,) = await client.linked(pull.number, pull_request=True)
    assert (issue.number, issue.title, issue.state, issue.repository, issue.is_pull_request) == (
        1, "Crash on an empty size", "open", "ana/parser", False,
    )  # fmt: skip
    made.world.merge(made.repo, pull.number, "meg")
    (found,) = await client.linked(1, pull_request=False)
    assert (found.number, found.state, found.is_pull_request) == (pull.number, "merged", True)
    assert await client.linked(2, pull_request=False) == ()


def graph(body: object, status: int = 200) -> FakeGitHub:
    server = FakeGitHub()
    server.on("POST", "/graphql", answer(body, status))
    return server


async def test_linked_without_graphql() -> None:
    """What the text says, where GraphQL is refused; an issue's pull requests cannot be known then."""
    server = graph({"message": "Not Found"}, 404)
    server.on("GET", f"{REPO}/issues/9", answer(issue_json(9)))
    client = make_client(server)
    (issue,) = await client.linked(3, pull_request=True, text="Closes #9 and closes: #9, not prefixes #8.")
    assert (issue.number, issue.title) == (9, "It crashes")
    with pytest.raises(NotFound):
        await client.linked(9, pull_request=False)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}, Transient),
        ({"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]}, NotFound),
        ({"data": None, "errors": [{"message": "Field 'x' doesn't exist"}]}, Forbidden),
        ({"data": {"repository": {"pullRequest": None}}}, NotFound),
        ({"data": {"repository": None}}, NotFound),
        ({"data": {"repository": {"pullRequest": {}}}}, Transient),
        ({"data": None}, Transient),
        ([], Transient),
    ],
)
async def test_graphql_errors(body: object, error: type[Exception]) -> None:
    """Refusals come with 200; each is the error that it would be in REST."""
    with pytest.raises(error):
        await make_client(graph(body)).review_threads(3)


async def test_graphql_is_asked_where_it_is() -> None:
    """Beside the REST base of github.com, beside `/api/v3` of GHES; with the token for pull requests."""
    server = graph(
        {"data": {"repository": {"pullRequest": {"reviewThreads": {"nodes": [], "pageInfo": {"hasNextPage": False}}}}}}
    )
    assert await make_client(server).review_threads(3) == ()
    sent = json.loads(server.sent()[0].content)
    assert sent["variables"] == {"owner": "ana", "name": "parser", "number": 3, "after": None}
    assert server.minted[0]["permissions"]["pull_requests"] == "read"
    assert set(server.minted[0]["permissions"].values()) == {"read"}


async def test_a_file_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at a bound, however little of it would be kept."""
    monkeypatch.setattr("bot.github.download.MOST_BYTES", 10)
    made = scene(tmp_path)
    client = client_of(made)
    assert (await client.attachment(made.world.store.attach("a.txt", b"x" * 10, "text/plain"), keep=4)).size == 10
    with pytest.raises(NotFound, match="more than"):
        await client.attachment(made.world.store.attach("a.txt", b"x" * 11, "text/plain"), keep=4)


async def test_attachment(tmp_path: Path) -> None:
    """A comment's file, without our token; elsewhere than at GitHub nothing is read."""
    made = scene(tmp_path)
    url = made.world.store.attach("sizes.csv", b"a,1\n", "text/csv")
    client = client_of(made)
    got = await client.attachment(url, keep=100)
    assert (got.head + got.tail, got.media_type) == (b"a,1\n", "text/csv")
    for wrong in ("https://elsewhere.test/x", f"{url}x", "http://github.test/x"):
        with pytest.raises(NotFound):
            await client.attachment(wrong, keep=100)


async def test_attachment_of_a_private_repository() -> None:
    """The address in the rendered comment opens it, that in the text does not."""
    server = FakeGitHub()
    place = "https://api.github.test/user-attachments/assets/12-34"
    html = f'<a href="{place}">it</a> <a href="{place}?jwt=a&amp;b=c"><img src="x"></a>'
    places = (f"{REPO}/issues/comments/8", f"{REPO}/pulls/comments/9", f"{REPO}/pulls/3/reviews/9", f"{REPO}/issues/3")
    for path in places:
        server.on("GET", path, answer({"body_html": html}))
    asked: list[str] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/user-attachments"):
            asked.append(str(request.url))
            return httpx.Response(200 if "jwt" in request.url.params else 404, content=b"png")
        return await server.handle(request)

    private = Repository(REPOSITORY.id, REPOSITORY.owner, REPOSITORY.name, private=True)
    client = make_client(server, transport=httpx.MockTransport(handle), repository=private)
    url = "https://api.github.test/user-attachments/assets/12-34"
    assert (await client.attachment(url, keep=9, comment_id=8)).text() == "png"
    assert asked == ["https://api.github.test/user-attachments/assets/12-34?jwt=a&b=c"]
    for kind in ("review_comment", "review"):
        assert (await client.attachment(url, keep=9, comment_id=9, number=3, kind=kind)).text() == "png"
    assert (await client.attachment(url, keep=9, number=3, kind="review")).text() == "png"
    assert [request.url.path for request in server.sent() if request.url.path in places] == list(places)
    with pytest.raises(NotFound):
        await client.attachment(url, keep=9)


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://github.com/user-attachments/assets/1", True),
        ("https://private-user-images.githubusercontent.com/1", True),
        ("https://evilgithubusercontent.com/1", False),
        ("https://github.com.evil.test/1", False),
        ("http://github.com/1", False),
        ("https://github-production-user-asset-6210df.s3.amazonaws.com/1", False),
    ],
)
def test_hosts_of_attachments(url: str, taken: bool) -> None:
    """github.com and githubusercontent.com; its storage only by their redirect."""
    hosts = attachment_hosts("api.github.com")
    assert hosts.takes(httpx.URL(url)) is taken
    assert hosts.takes(httpx.URL("https://github-production-user-asset-6210df.s3.amazonaws.com/1"), redirected=True)
    assert not hosts.takes(httpx.URL("https://evil.s3.amazonaws.com/1"), redirected=True)
    assert attachment_hosts("ghes.test") == Hosts("https", ("ghes.test",), ("ghes.test",))
