"""Where a command leaves its result: only a plain file counts."""

from __future__ import annotations

import os
from pathlib import Path

from bot.steps import read_result, result_file
from bot.steps.result_file import READ_MAX


async def test_the_folder_is_there_for_one_attempt() -> None:
    """Empty at first, private, and gone afterwards."""
    async with result_file() as path:
        assert read_result(path) is None
        assert path.parent.stat().st_mode & 0o777 == 0o700
        path.write_text('{"a": 1}')
        assert read_result(path) == '{"a": 1}'
    assert not path.parent.exists()


def test_what_is_no_plain_file_is_no_result(tmp_path: Path) -> None:
    """A child may have made a link to something of ours, or a pipe that nobody writes to."""
    (tmp_path / "secret").write_text("secret")
    link, pipe, folder = tmp_path / "link", tmp_path / "pipe", tmp_path / "folder"
    link.symlink_to(tmp_path / "secret")
    os.mkfifo(pipe)
    folder.mkdir()
    assert [read_result(path) for path in (link, pipe, folder)] == [None, None, None]


def test_a_large_file_is_read_in_part(tmp_path: Path) -> None:
    """More than any result may hold, and no more."""
    file = tmp_path / "large"
    file.write_bytes(b"x" * (READ_MAX + 10))
    assert len(read_result(file) or "") == READ_MAX + 1
