"""Values that no process can be given: in files that only this command reads, and that are gone afterwards."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bot.workspace import Command, Sandbox, shell
from bot.workspace.large import VALUE_MAX, with_large_values
from bot.workspace.sandbox import open_sandbox


@pytest.fixture(params=["required", "off"])
async def either(request: pytest.FixtureRequest) -> Sandbox:
    return await open_sandbox(request.param)


async def test_only_what_is_too_large_travels_in_a_file(tmp_path: Path) -> None:
    """One byte decides; names, order and all else of the command stay."""
    fits, large = "x" * VALUE_MAX, "é" * (VALUE_MAX // 2) + "y"
    async with with_large_values(Command(("true",), tmp_path, env={"A": fits, "B": large, "C": "c"})) as given:
        assert given.env["A"] == fits
        assert "B" not in given.env
        file = Path(given.env["B_FILE"])
        assert file.read_text() == large
        assert given.readable == (file.parent,)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert not file.is_relative_to(tmp_path)
    assert not file.parent.exists()


async def test_a_command_reads_it(either: Sandbox, tmp_path: Path) -> None:
    """In either back end, run or talked with; it cannot change it."""
    text = 'test -z "$BIG" && wc -c < "$BIG_FILE" && echo "$BIG_FILE"'
    done = await either.run(Command(shell(text), tmp_path, env={"BIG": "x" * 200_000}))
    size, path = done.stdout.split()
    assert (size, done.exit_code) == ("200000", 0)
    assert not Path(path).parent.exists()
    async with either.open(Command(shell(text), tmp_path, env={"BIG": "x" * 200_000})) as live:
        assert b"200000" in await live.read()


async def test_it_is_gone_after_a_failure(tmp_path: Path) -> None:
    """Whatever the block raises."""
    seen: list[Path] = []

    async def fails() -> None:
        async with with_large_values(Command(("true",), tmp_path, env={"B": "x" * 200_000})) as given:
            seen.append(Path(given.env["B_FILE"]))
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        await fails()
    assert not seen[0].parent.exists()
