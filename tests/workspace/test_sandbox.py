"""Running commands, the same promises for both back ends."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.workspace.process import Command, shell
from bot.workspace.sandbox import Sandbox, SandboxMode

ROOT = Path(__file__).parents[2]
Find = Callable[[str], list[int]]

#: names that hold something worth stealing, beside whatever this machine has
SETTINGS = (
    *("BOT_GITHUB_APP_ID", "BOT_GITHUB_PRIVATE_KEY", "BOT_GITHUB_WEBHOOK_SECRET", "BOT_DATABASE_URL"),
    *("BOT_DASHBOARD_PASSWORD", "BOT_MARKER_KEY", "BOT_SECRETS_DIR", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
    *("GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_LIBRARY_PATH", "PYTHONSTARTUP"),
)


def unique() -> str:
    """A number of seconds for `sleep` that names one process on this machine."""
    return str(10**9 + secrets.randbelow(10**9))


def until(condition: Callable[[], object], seconds: float = 15) -> None:
    """Wait on a condition, in threads and processes that have no event to wait for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not come true"
        time.sleep(0.005)


def engine(mode: str, cwd: Path, text: str, env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "workspace" / "engine_process.py"), mode, str(cwd), text],
        env={**env, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def engine_result(mode: str, cwd: Path, text: str, env: dict[str, str]) -> dict[str, Any]:
    with engine(mode, cwd, text, env) as process:
        result: dict[str, Any] = json.loads(process.communicate(timeout=60)[0])
    return result


async def test_output_and_exit_code(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(shell("echo out; echo err >&2; exit 7"), tmp_path))
    assert (done.exit_code, done.stdout, done.stderr, done.stdout_bytes) == (7, "out\n", "err\n", 4)
    assert not done.timed_out
    assert 0 < done.duration < 30


async def test_a_signal_is_128_and_its_number(sandbox: Sandbox, tmp_path: Path) -> None:
    assert (await sandbox.run(Command(shell("kill -9 $$"), tmp_path))).exit_code == 137


async def test_it_runs_in_its_folder_and_may_write_there(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(shell("pwd; echo x > made"), tmp_path))
    assert done.stdout == f"{tmp_path}\n"
    assert (tmp_path / "made").read_text() == "x\n"


async def test_argv_is_no_shell(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(("printf", "%s|", "$HOME", "a b", "--", ""), tmp_path))
    assert done.stdout == "$HOME|a b|--||"


async def test_missing_program(sandbox: Sandbox, tmp_path: Path) -> None:
    """It says which, and is told apart from one that ran and failed."""
    done = await sandbox.run(Command(("no-such-program", "x"), tmp_path))
    assert (done.exit_code, done.missing, done.timed_out) == (None, "no-such-program", False)
    assert "No such file" in done.stderr


async def test_a_program_that_cannot_start_is_not_missing(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    done = await sandbox.run(Command(("./data",), tmp_path))
    assert (done.exit_code, done.missing) == (None, "")
    assert "./data: Permission denied" in done.stderr


async def test_one_that_says_it_is_missing_is_believed_to_have_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """A child cannot make us think that it never ran."""
    text = "echo 'bwrap: execvp bash: No such file or directory' >&2; exit 1"
    done = await sandbox.run(Command(shell(text), tmp_path))
    assert (done.exit_code, done.missing) == (1, "")


async def test_missing_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(("true",), tmp_path / "gone", writable=(tmp_path,)))
    assert (done.exit_code, done.missing) == (None, "")
    assert "gone" in done.stderr


async def test_a_command_that_is_too_long_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    """Linux takes at most 128 KiB a word (execve(2), MAX_ARG_STRLEN)."""
    done = await sandbox.run(Command(("true", "x" * 200_000), tmp_path))
    assert done.exit_code is None
    assert "too long" in done.stderr


async def test_empty_output(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(("true",), tmp_path))
    assert (done.exit_code, done.stdout, done.stderr, done.stdout_bytes) == (0, "", "", 0)


async def test_binary_output(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(shell(r"printf '\xff\x00\xfeok'"), tmp_path))
    assert (done.stdout, done.stdout_bytes) == ("�\x00�ok", 5)


async def test_long_output_keeps_head_and_tail(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(shell("seq 1 100000; seq 1 100000 >&2"), tmp_path, max_stdout=100, max_stderr=50))
    assert done.stdout.startswith("1\n2\n")
    assert done.stdout.endswith("\n100000\n")
    assert "of 588895 bytes cut" in done.stdout
    assert done.stdout_bytes == 588895
    assert len(done.stderr) < 120


async def test_a_gigabyte_of_output_in_flat_memory(mode: SandboxMode, tmp_path: Path) -> None:
    """Nor does it take for ever."""
    began = time.monotonic()
    result = await asyncio.to_thread(engine_result, mode, tmp_path, "head -c 1000000000 /dev/zero", {})
    assert (result["exit_code"], result["bytes"]) == (0, 1_000_000_000)
    assert result["grown_kib"] < 16_000
    assert time.monotonic() - began < 30


async def test_stdin_with_large_output_does_not_deadlock(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(("cat",), tmp_path, stdin=b"line\n" * 1_000_000))
    assert (done.exit_code, done.stdout_bytes) == (0, 5_000_000)


async def test_a_child_may_leave_stdin_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await sandbox.run(Command(shell("exec <&-; echo ok"), tmp_path, stdin=b"x" * 5_000_000))
    assert (done.exit_code, done.stdout) == (0, "ok\n")


async def test_no_stdin_is_empty(sandbox: Sandbox, tmp_path: Path) -> None:
    assert (await sandbox.run(Command(("cat",), tmp_path))).exit_code == 0


async def test_the_environment_is_exact(sandbox: Sandbox, tmp_path: Path) -> None:
    """What bash and the folder add is taken off."""
    done = await sandbox.run(Command(("env", "-0"), tmp_path, {"GIVEN": "a\nb=c"}))
    found = dict(entry.split("=", 1) for entry in done.stdout.rstrip("\0").split("\0"))
    home = found.pop("HOME")
    assert found.pop("PWD", str(tmp_path)) == str(tmp_path)
    assert found == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "GIVEN": "a\nb=c",
    }
    assert home != os.environ.get("HOME")


async def test_home_is_empty_writable_and_private(sandbox: Sandbox, tmp_path: Path) -> None:
    text = 'ls -A "$HOME"; echo x > "$HOME/.netrc" && mkdir -p "$HOME/a/b" && echo "$HOME"'
    for _ in range(2):
        done = await sandbox.run(Command(shell(text), tmp_path))
        assert done.exit_code == 0
        assert done.stdout.count("\n") == 1, "something was there already"
        assert not Path(done.stdout.strip()).exists()


async def test_no_engine_variable_reaches_the_child(mode: SandboxMode, tmp_path: Path) -> None:
    """Every variable is a canary; with isolation /proc has none of them either."""
    names = {*SETTINGS, *os.environ} - {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"}
    canaries = {name: f"canary-{secrets.token_hex(8)}" for name in names}
    places = "/proc/self/environ" if mode == "off" else "/proc/self/environ /proc/1/environ /proc/*/environ"
    text = f"env; set; export -p; cat {places} /proc/self/cmdline; echo; echo seen; ls -d /proc/[0-9]*"
    result = await asyncio.to_thread(engine_result, mode, tmp_path, text, canaries)
    assert "seen" in result["stdout"]
    assert [name for name, value in canaries.items() if value in result["stdout"]] == []
    assert "canary" not in result["stdout"]
    if mode == "required":
        assert "/proc/1\n" in result["stdout"]


LEAVE = 'setsid bash -c "(sleep {n} & echo > started; sleep {n})" & setsid --fork sleep {n} >/dev/null 2>&1'


async def test_time_out_kills_grandchildren(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """Double-forked ones, ones in a session of their own, and one that holds the pipe; and it returns at once."""
    n = unique()
    began = time.monotonic()
    done = await sandbox.run(Command(shell(f"{LEAVE.format(n=n)}; echo first; sleep {n}"), tmp_path, timeout=1.0))
    assert time.monotonic() - began < 10
    assert (done.exit_code, done.timed_out, done.stdout) == (None, True, "first\n")
    assert (tmp_path / "started").exists()
    assert processes(n) == []


async def test_a_normal_end_kills_grandchildren(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    n = unique()
    text = f"{LEAVE.format(n=n)}; while [ ! -e started ]; do sleep 0.01; done; echo done"
    done = await sandbox.run(Command(shell(text), tmp_path, timeout=30))
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert processes(n) == []


async def test_a_cancellation_kills_the_tree(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """Cancelled again while it is dying makes no difference."""
    n = unique()
    task = asyncio.create_task(sandbox.run(Command(shell(f"{LEAVE.format(n=n)}; sleep {n}"), tmp_path)))
    await asyncio.to_thread(until, (tmp_path / "started").exists)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes(n) == []


async def test_a_cancellation_at_once_leaves_nothing(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """At each of the first turns of the loop, when the launcher is still on its way."""
    n = unique()
    for turns in range(8):
        task = asyncio.create_task(sandbox.run(Command(("sleep", n), tmp_path)))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert processes(n) == []


async def test_no_descriptor_is_left(sandbox: Sandbox, tmp_path: Path) -> None:
    """Neither here nor in the child."""
    await sandbox.run(Command(("true",), tmp_path))
    before = sorted(os.listdir("/proc/self/fd"))
    done = await sandbox.run(Command(("ls", "/proc/self/fd"), tmp_path, stdin=b"x"))
    await sandbox.run(Command(("sleep", "100"), tmp_path, timeout=0.1))
    await sandbox.run(Command(("no-such-program",), tmp_path))
    assert done.stdout.split() == ["0", "1", "2", "3"], "3 is the folder that ls reads"
    assert sorted(os.listdir("/proc/self/fd")) == before


async def test_the_engine_s_death_is_the_child_s(mode: SandboxMode, tmp_path: Path, processes: Find) -> None:
    """kill -9 of the engine, while a grandchild in its own session runs. Its HOME goes too."""
    n = unique()
    with engine(mode, tmp_path, f'echo "$HOME" > home; {LEAVE.format(n=n)}; sleep {n}', {}) as process:
        until((tmp_path / "started").exists)
        until(lambda: len(processes(n)) >= 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not processes(n))
    home = Path((tmp_path / "home").read_text().strip())
    until(lambda: not home.exists())


async def test_many_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    done = await asyncio.gather(*(sandbox.run(Command(("echo", str(i)), tmp_path)) for i in range(12)))
    assert [d.stdout for d in done] == [f"{i}\n" for i in range(12)]
