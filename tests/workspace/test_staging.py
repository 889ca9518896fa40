"""Files that a run is given: from attachments and from the repository, checked, staged, and offered to templates."""

from __future__ import annotations

import base64
import hashlib
import stat
from pathlib import Path

import pytest

from bot.errors import NotFound, Transient
from bot.workflows import Declared
from bot.workflows.paths import MISS, resolve
from bot.workspace.staging import BYTES_SLOT_MAX, FILE_BYTES_MAX, Fetch, Fetched, fetch_inputs, media_type, stage

URL = "https://github.test/user-attachments/files/123/Sizes%20of%20May.csv"
SPEC = Declared(type="file")


async def nowhere(url: str) -> Fetched:
    raise NotFound(f"{url}: not a host of GitHub's")


def holding(content: bytes) -> Fetch:
    async def fetch(url: str) -> Fetched:
        assert url == URL
        return Fetched(content, len(content))

    return fetch


async def test_an_attachment(tmp_path: Path) -> None:
    """Fetched once, with its name, kind, size and digest; staged where every step finds it."""
    content = b"a,1\n"
    files, violations = await fetch_inputs({"spec": SPEC}, {"spec": URL}, checkout=None, fetch=holding(content))
    assert violations == ()
    stage(tmp_path, {one.path: one.content for one in files})
    staged = tmp_path / ".bot/inputs/spec"
    assert (staged.read_bytes(), stat.S_IMODE(staged.stat().st_mode)) == (content, 0o600)
    assert files[0].values() == {
        "spec": ".bot/inputs/spec",
        "spec.path": ".bot/inputs/spec",
        "spec.url": URL,
        "spec.bytes": base64.b64encode(content).decode(),
        "spec.original_filename": "Sizes of May.csv",
        "spec.mime": "text/csv",
        "spec.size_bytes": 4,
        "spec.sha256_hex": hashlib.sha256(content).hexdigest(),
    }


async def test_a_file_of_the_repository(tmp_path: Path) -> None:
    """It has no address; links are not followed."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/spec.md").write_text("# Spec\n")
    (tmp_path / "link.md").symlink_to("docs/spec.md")
    given = {"spec": "docs/spec.md", "other": "link.md"}
    declared = {"spec": SPEC, "other": SPEC, "area": Declared(type="text")}
    files, violations = await fetch_inputs(
        declared, {**given, "area": "docs/spec.md"}, checkout=tmp_path, fetch=nowhere
    )
    assert [(one.name, one.content, one.original_filename) for one in files] == [("spec", b"# Spec\n", "spec.md")]
    assert files[0].mime == "text/markdown"
    assert [(one.name, one.kind) for one in violations] == [("other", "file")]
    scope = {"inputs": files[0].values()}
    assert resolve(scope, ("inputs", "spec")) == ".bot/inputs/spec"
    assert resolve(scope, ("inputs", "spec", "size_bytes")) == 7
    assert resolve(scope, ("inputs", "spec", "url")) is MISS


async def test_everything_that_is_wrong_is_told_together(tmp_path: Path) -> None:
    """With the name of the input, in the declared order."""
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "huge").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    (tmp_path / "a.txt").write_text("x")
    kind = Declared(type="file", accept=(".csv", "image/*"))
    declared = {"gone": SPEC, "far": SPEC, "empty": SPEC, "huge": SPEC, "kind": kind}
    bound = {"gone": "none", "far": "https://elsewhere.test/x", "empty": "empty", "huge": "huge", "kind": "a.txt"}
    files, violations = await fetch_inputs(declared, bound, checkout=tmp_path, fetch=nowhere)
    assert files == ()
    assert {one.kind for one in violations} == {"file"}
    assert [one.message for one in violations] == [
        "`gone`: there is no file `none` in the workspace",
        "`far`: the attachment cannot be had (https://elsewhere.test/x: not a host of GitHub's)",
        "`empty`: it is empty",
        "`huge`: it has 10,485,761 bytes; 10,485,760 are the most",
        "`kind`: `a.txt` is text/plain; accepted are `.csv`, `image/*`",
    ]
    _, violations = await fetch_inputs({"a": SPEC}, {"a": "x"}, checkout=None, fetch=nowhere)
    assert violations[0].message == "`a`: the repository is not checked out"


async def test_sizes() -> None:
    """Ten MiB are taken, longer ones not, though the server sends no content then; `bytes` ends at one MiB."""

    async def long(url: str) -> Fetched:
        return Fetched(None, FILE_BYTES_MAX + 1)

    _, violations = await fetch_inputs({"spec": SPEC}, {"spec": URL}, checkout=None, fetch=long)
    assert "are the most" in violations[0].message
    for size, there in ((BYTES_SLOT_MAX, True), (BYTES_SLOT_MAX + 1, False), (FILE_BYTES_MAX, False)):
        files, _ = await fetch_inputs({"spec": SPEC}, {"spec": URL}, checkout=None, fetch=holding(b"x" * size))
        assert ("spec.bytes" in files[0].values()) is there


async def test_an_outage_is_no_violation() -> None:
    """The same may work later."""

    async def busy(url: str) -> Fetched:
        raise Transient("502")

    with pytest.raises(Transient):
        await fetch_inputs({"spec": SPEC}, {"spec": URL}, checkout=None, fetch=busy)


@pytest.mark.parametrize(("accept", "taken"), [(".CSV", True), ("text/csv", True), ("text/*", True), (".md", False),
                                               ("image/*", False), ("text/markdown", False)])  # fmt: skip
async def test_accept(accept: str, taken: bool) -> None:
    """Endings whatever their case, media types, whole families of them."""
    declared = {"spec": Declared(type="file", accept=(accept,))}
    files, violations = await fetch_inputs(declared, {"spec": URL}, checkout=None, fetch=holding(b"a,1\n"))
    assert (len(files), len(violations)) == ((1, 0) if taken else (0, 1))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("a.txt", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("a.png", b"no picture", "text/plain"),
        ("a.webp", b"RIFF....WEBP", "image/webp"),
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.json", b"{}", "application/json"),
        ("a", b"text", "text/plain"),
        ("a.html", b"<p>", "text/html"),
        ("a.zip", b"PK\x03\x04", "application/zip"),
        ("a.txt", b"\xff\xfe\x00", "application/octet-stream"),
        ("a.txt", b"a\0b", "application/octet-stream"),
    ],
)
def test_media_type(name: str, content: bytes, kind: str) -> None:
    """Content decides; a name only says which kind of text."""
    assert media_type(name, content) == kind
