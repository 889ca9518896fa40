"""Inputs of every sort: computed in order, shown in blocks, recorded, or refused with their name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.context import ExecInput, InputResult, ReadInput, Selection, Sources, Unavailable, gather
from bot.errors import Forbidden, NotFound, Transient, UserError
from bot.model.pull import CheckRun, Diff, FailedLog, FailedLogs, Linked, ReviewThread
from bot.model.thread import Account, Comment
from bot.workspace.process import shell
from bot.workspace.sandbox import open_sandbox

WHERE = ".github/bot.yml line 31"
COMMIT = "0f3c9a1b" * 5
AT = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MEG = Account(11, "meg")


class Given:
    """Sources that give what a test put there; an exception is raised."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.asked: list[str] = []

    def _take(self, name: str) -> Any:
        self.asked.append(name)
        found = self.given.get(name, Unavailable("this thread is an issue"))
        if isinstance(found, Exception):
            raise found
        return found

    async def diff(self) -> Diff:
        return self._take("diff")  # type: ignore[no-any-return]  # the test's own

    async def failed_logs(self) -> FailedLogs:
        return self._take("checks")  # type: ignore[no-any-return]  # the test's own

    async def unresolved_threads(self) -> tuple[ReviewThread, ...]:
        return self._take("threads")  # type: ignore[no-any-return]  # the test's own

    async def linked_issues(self) -> tuple[Linked, ...]:
        return self._take("linked")  # type: ignore[no-any-return]  # the test's own

    async def comments(self, count: int) -> Selection:
        return self._take(f"comments {count}")  # type: ignore[no-any-return]  # the test's own


async def gathered(
    inputs: Sequence[ExecInput | ReadInput], workspace: Path, sources: Sources | None = None, **options: Any
) -> tuple[InputResult, ...]:
    options = {"commit": COMMIT, "retry": "@bot fix", **options}
    sandbox = await open_sandbox("off")
    return await gather(inputs, sources=sources or Given(), sandbox=sandbox, workspace=workspace, env={}, **options)


async def one(wanted: ReadInput, workspace: Path, sources: Sources | None = None, **options: Any) -> InputResult:
    (result,) = await gathered([wanted], workspace, sources, **options)
    return result


def comment(body: str, **fields: Any) -> Comment:
    return Comment(**{"id": 1, "author": MEG, "body": body, "created_at": AT, "updated_at": AT, **fields})


async def test_in_the_declared_order_with_commands(tmp_path: Path) -> None:
    """A file that a command before it wrote is there; each is asked for once."""
    command = ExecInput("made", shell("echo new > made.txt; echo said"), WHERE)
    sources = Given(linked=())
    wanted: list[ExecInput | ReadInput] = [
        command,
        ReadInput("read", "file", WHERE, path="made.txt"),
        ReadInput("links", "linked", WHERE),
    ]
    results = await gathered(wanted, tmp_path, sources)
    assert [(r.record.name, r.record.kind, r.record.status) for r in results] == [
        ("made", "exec", "ok"), ("read", "file", "ok"), ("links", "linked", "ok"),
    ]  # fmt: skip
    assert [r.text for r in results] == ["said\n", "new\n", "nothing is linked\n"]
    assert sources.asked == ["linked"]


async def test_file(tmp_path: Path) -> None:
    """Label, path, commit, size; what is invisible is shown or taken out, all else stays."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("<!-- seen -->\u202ehidden\n", encoding="utf-8")
    result = await one(ReadInput("spec", "file", WHERE, path="docs/a.md"), tmp_path)
    assert result.block.text == (
        f"input: spec\nsource: file docs/a.md\ncommit {COMMIT[:12]} · 23 bytes\n\n<!-- seen -->\\u{{202e}}hidden\n"
    )
    assert (result.block.kind, result.block.source, result.block.trust) == ("input", "spec", "untrusted")
    record = result.record
    assert (record.source, record.bytes, record.removed) == (
        "file docs/a.md",
        23,
        ("1 bidirectional control (3 bytes)",),
    )
    assert len(record.digest) == 64


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none.md", "there is no file `none.md` in the workspace"),
        ("docs/none.md", "there is no file `docs/none.md` in the workspace"),
        ("docs", "`docs` is no file"),
        ("pipe", "`pipe` is no file"),
        ("link", "`link` leads over a symbolic link"),
        ("away/passwd", "`away/passwd` leads over a symbolic link"),
        ("../x", "`../x` leads out of the workspace"),
        ("/etc/passwd", "`/etc/passwd` leads out of the workspace"),
        (".", "`.` leads out of the workspace"),
    ],
)
async def test_file_that_cannot_be_had(path: str, reason: str, tmp_path: Path) -> None:
    """A required one ends the step with its name; nothing outside is ever read."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "away").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError) as caught:
        await one(ReadInput("spec", "file", WHERE, path=path), tmp_path)
    assert (caught.value.code, caught.value.message) == ("input_failed", f"`spec` cannot be had: {reason}")
    assert caught.value.hint == "Mend it in `.github/bot.yml` line 31, or set `required: false`; then `@bot fix`."
    result = await one(ReadInput("spec", "file", WHERE, required=False, path=path), tmp_path)
    assert result.block.text == f"input: spec\nunavailable: {reason}\n\n"
    assert (result.record.status, result.record.reason, result.text) == ("unavailable", reason, "")


async def test_file_without_a_workspace(tmp_path: Path) -> None:
    """A step that has none says how to get one."""
    (tmp_path / "a").write_text("x")
    with pytest.raises(UserError, match="workspace: read"):
        await one(ReadInput("spec", "file", WHERE, path="a"), tmp_path, commit="")


async def test_a_long_file_is_cut(tmp_path: Path) -> None:
    """Head and tail, with a line that says how much is missing; its middle is not read."""
    with (tmp_path / "long").open("wb") as file:
        file.write(b"head" * 4)
        file.seek(1 << 40)
        file.write(b"tail" * 4)
    result = await one(ReadInput("long", "file", WHERE, path="long", max_bytes=16), tmp_path)
    assert result.text == f"headhead\n[… {(1 << 40)} of {(1 << 40) + 16} bytes cut …]\ntailtail"
    assert result.record.bytes == (1 << 40) + 16


@pytest.mark.parametrize(
    ("value", "declared", "text", "words"),
    [
        ("a\u200bb", None, "a\u200bb", "type string"),
        (5, "number", "5", "type number"),
        (True, "boolean", "true", "type boolean"),
        (None, None, "null", "type null"),
        ([1, "é"], "array", '[1,"é"]', "type array"),
        ({"a": {"b": 1}}, "object", '{"a":{"b":1}}', "type object"),
        (None, "json", "null", "type null"),
    ],
)
async def test_value(value: object, declared: str | None, text: str, words: str, tmp_path: Path) -> None:
    """Values are not changed at all; what is no text is compact JSON."""
    result = await one(ReadInput("v", "value", WHERE, value=value, type=declared), tmp_path, commit="")
    assert result.text == text
    assert f"\n{words} · {len(text.encode())} bytes\n\n" in result.block.text


@pytest.mark.parametrize(
    ("value", "declared", "is_"),
    [("5", "number", "string"), (True, "number", "boolean"), (5, "string", "number"), (None, "object", "null")],
)
async def test_value_of_another_type(value: object, declared: str, is_: str, tmp_path: Path) -> None:
    """Told with both types."""
    with pytest.raises(UserError) as caught:
        await one(ReadInput("v", "value", WHERE, value=value, type=declared), tmp_path)
    assert caught.value.message == f"`v` is of type {is_}, expected {declared}"


async def test_value_without_a_value(tmp_path: Path) -> None:
    """The template's fault is told as it is; where the value is not required it is unavailable."""
    missing = UserError("template_undefined", "`steps.a.output` has no value", "add `??`")
    with pytest.raises(UserError) as caught:
        await one(ReadInput("v", "value", WHERE, missing=missing), tmp_path)
    assert caught.value is missing
    result = await one(ReadInput("v", "value", WHERE, required=False, missing=missing), tmp_path)
    assert result.record.reason == "`steps.a.output` has no value"


async def test_a_long_value_is_cut(tmp_path: Path) -> None:
    """At `max_bytes`, as every input."""
    result = await one(ReadInput("v", "value", WHERE, value="a" * 50 + "z" * 50, max_bytes=10), tmp_path)
    assert result.text == "aaaaa\n[… 90 of 100 bytes cut …]\nzzzzz"
    assert result.record.bytes == 100


async def test_diff(tmp_path: Path) -> None:
    """A diff is no Markdown: only what is invisible changes."""
    diff = Diff(12, "main", COMMIT, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<!-- a -->\n+b\u200b\n")
    result = await one(ReadInput("d", "diff", WHERE), tmp_path, Given(diff=diff), commit="")
    assert result.block.text == (
        f"input: d\nsource: pull request 12\nagainst main · head {COMMIT[:12]} · 46 bytes\n\n"
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<!-- a -->\n+b\n"
    )
    assert result.record.removed == ("1 zero-width character (3 bytes)",)


@pytest.mark.parametrize("kind", ["diff", "checks", "review_threads"])
async def test_on_an_issue(kind: Any, tmp_path: Path) -> None:
    """What only a pull request has fails there, or says that it is unavailable, with the reason."""
    with pytest.raises(UserError) as caught:
        await one(ReadInput("it", kind, WHERE), tmp_path)
    assert caught.value.message == "`it` cannot be had: this thread is an issue"
    result = await one(ReadInput("it", kind, WHERE, required=False), tmp_path)
    assert "unavailable: this thread is an issue" in result.block.text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NotFound("GET /x: 404"), "GitHub has no such thing, or does not show it (GET /x: 404)"),
        (Forbidden("the App has not been granted `checks: read`"), "has not been granted `checks: read`"),
    ],
)
async def test_what_github_refuses(error: Exception, words: str, tmp_path: Path) -> None:
    """The reason is GitHub's own."""
    with pytest.raises(UserError) as caught:
        await one(ReadInput("it", "checks", WHERE), tmp_path, Given(checks=error))
    assert words in caught.value.message
    result = await one(ReadInput("it", "checks", WHERE, required=False), tmp_path, Given(checks=error))
    assert words in result.record.reason


async def test_an_outage(tmp_path: Path) -> None:
    """The attempt may be repeated where the input is needed; else it goes on without."""
    sources = Given(diff=Transient("GET /x: 502"))
    with pytest.raises(Transient):
        await one(ReadInput("it", "diff", WHERE), tmp_path, sources)
    result = await one(ReadInput("it", "diff", WHERE, required=False), tmp_path, sources)
    assert result.record.reason == "GitHub gave no answer (GET /x: 502)"


async def test_nothing_after_a_failure_is_looked_at(tmp_path: Path) -> None:
    """The first required input that fails ends it."""
    sources = Given()
    wanted = [ReadInput("a", "diff", WHERE), ReadInput("b", "linked", WHERE)]
    with pytest.raises(UserError, match="`a`"):
        await gathered(wanted, tmp_path, sources)
    assert sources.asked == ["diff"]


def failed(name: str, text: str, **fields: Any) -> FailedLog:
    return FailedLog(CheckRun(1, name, "completed", "failure", f"https://github.test/{name}"), text, **fields)


async def test_failed_logs(tmp_path: Path) -> None:
    """Without time stamps and colours; what a check says of itself where it has no log."""
    text = "\ufeff2026-03-02T12:00:00.1234567Z \x1b[31mnot ok 5\x1b[0m\n2026-03-02T12:00:01.0000000Z exit 1\n"
    logs = FailedLogs(COMMIT, (failed("tests", text), failed("style", "Slow", note="its log has expired")), 1, 2)
    result = await one(ReadInput("logs", "checks", WHERE), tmp_path, Given(checks=logs))
    assert result.block.text == (
        f"input: logs\nsource: checks of {COMMIT[:12]}\n"
        "2 failed checks · 1 still running · 2 more failed, not read · 20 bytes\n\n"
        "== tests: failure https://github.test/tests\nnot ok 5\nexit 1\n\n"
        "== style: failure (its log has expired) https://github.test/style\nSlow\n"
    )


async def test_a_long_log_hides_no_other(tmp_path: Path) -> None:
    """Each has an equal share of the room; secrets are taken out before anything is cut."""
    logs = FailedLogs(COMMIT, (failed("a", "x" * 9000), failed("b", "short s3cret\n")))
    result = await one(
        ReadInput("logs", "checks", WHERE, max_bytes=40), tmp_path, Given(checks=logs),
        redact=lambda text: text.replace("s3cret", "***"),
    )  # fmt: skip
    assert f"{'x' * 10}\n[… 8980 of 9000 bytes cut …]\n{'x' * 10}\n" in result.text
    assert result.text.endswith("short ***\n")


async def test_no_failed_check(tmp_path: Path) -> None:
    """That is an answer, not a failure."""
    result = await one(ReadInput("logs", "checks", WHERE), tmp_path, Given(checks=FailedLogs(COMMIT, ())))
    assert (result.record.status, result.text) == ("ok", "no check has failed\n")


async def test_review_threads(tmp_path: Path) -> None:
    """Place, who and when; the words pass the sanitiser, what was minimised is left out."""
    threads = (
        ReviewThread("src/a.py", 7, False, False, (comment("Why?<!-- obey -->"), comment("spam", minimized=True))),
        ReviewThread("b.py", None, False, True, (comment("All of it."),), hidden=3),
    )
    result = await one(ReadInput("r", "review_threads", WHERE), tmp_path, Given(threads=threads))
    assert result.text == (
        "== src/a.py:7\n-- meg, 2026-03-02 12:00 UTC\nWhy?\n\n"
        "== b.py (outdated, 3 more comments)\n-- meg, 2026-03-02 12:00 UTC\nAll of it.\n"
    )
    assert result.record.removed == ("1 HTML comment (13 bytes)",)
    assert "2 unresolved threads" in result.block.text


async def test_linked(tmp_path: Path) -> None:
    """What it is, its state, its text, sanitised; a title stays on its line."""
    rows = (Linked("ana/x", 3, "A <!--b-->title\n== c", "open", "Body<!-- x -->", MEG, "https://github.test/3"),)
    result = await one(ReadInput("l", "linked", WHERE), tmp_path, Given(linked=rows))
    assert result.text == "== issue ana/x#3 (open) by meg: A title == c\nhttps://github.test/3\nBody\n"
    assert result.record.removed == ("title: 1 HTML comment (8 bytes)", "1 HTML comment (10 bytes)")


async def test_the_redactor_sees_everything(tmp_path: Path) -> None:
    """In values, reasons and sources."""
    hide: dict[str, Any] = {"redact": lambda text: text.replace("s3cret", "***")}
    assert (await one(ReadInput("v", "value", WHERE, value="s3cret"), tmp_path, **hide)).text == "***"
    result = await one(ReadInput("v", "file", WHERE, required=False, path="s3cret"), tmp_path, **hide)
    assert "s3cret" not in result.block.text + result.record.reason
    (tmp_path / "a").write_text("key s3cret")
    assert (await one(ReadInput("v", "file", WHERE, path="a"), tmp_path, **hide)).text == "key ***"
