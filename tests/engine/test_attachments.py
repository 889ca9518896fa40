"""Files of a run, fetched from the look-alike."""

from __future__ import annotations

from pathlib import Path

from bot.engine.attachments import fetcher
from bot.workflows import Declared, bind
from bot.workspace.staging import FILE_BYTES_MAX, fetch_inputs, stage
from tests.demo.scene import scene
from tests.github.lookalike import client_of


async def test_from_a_comment_to_the_workspace(tmp_path: Path) -> None:
    """The link that GitHub writes into a comment becomes a file that steps read; what is elsewhere is refused."""
    made = scene(tmp_path / "world")
    store = made.world.store
    url, image = (
        store.attach("sizes.csv", b"a,1\n", "text/csv"),
        store.attach("a.png", b"\x89PNG\r\n\x1a\n", "image/png"),
    )
    long = store.attach("long.txt", b"x" * (FILE_BYTES_MAX + 1), "text/plain")
    declared = {name: Declared(type="file") for name in ("table", "image", "long", "away")}
    words = {
        "table": f"[sizes.csv]({url})",
        "image": f"![a]({image})",
        "long": long,
        "away": "https://elsewhere.test/a",
    }
    bound = bind(declared, words, by_comment=True)
    assert bound.violations == ()
    fetch = fetcher(client_of(made), None, 1)
    assert (await fetch(long)).content is None
    files, violations = await fetch_inputs(declared, bound.values, checkout=None, fetch=fetch)
    assert [(one.name, one.mime) for one in files] == [("table", "text/csv"), ("image", "image/png")]
    assert [(one.name, one.kind) for one in violations] == [("long", "file"), ("away", "file")]
    assert "10,485,761 bytes" in violations[0].message
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    stage(workspace, {one.path: one.content for one in files})
    assert (workspace / ".bot/inputs/table").read_bytes() == b"a,1\n"
