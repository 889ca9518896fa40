"""What a command in the sandbox can see and reach."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest

from bot.errors import OperatorError
from bot.workspace.bubblewrap import diagnose
from bot.workspace.process import Command, shell
from bot.workspace.sandbox import Sandbox, open_sandbox


async def said(sandbox: Sandbox, text: str, cwd: Path, **more: tuple[Path, ...]) -> str:
    done = await sandbox.run(Command(shell(text), cwd, **more))  # type: ignore[arg-type] # only folders are passed
    return done.stdout + done.stderr


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


async def test_it_says_what_it_isolates(isolated: Sandbox) -> None:
    assert isolated.isolated
    assert "PID, mount, user, network" in isolated.describe()


async def test_the_engine_s_folders_are_not_there(isolated: Sandbox, tmp_path: Path) -> None:
    """Of the data folder only the way to the workspace is left; home, configuration and logs are gone."""
    workspace = folder(tmp_path / "data" / "runs" / "r1" / "workspace")
    (tmp_path / "data" / "bot.db").write_text("secret")
    (tmp_path / "data" / "runs" / "r1" / "state.json").write_text("secret")
    text = f"find {tmp_path}; ls -A {Path.home()} /root /home /opt /srv /mnt /sys /run /var /boot; cat /etc/shadow"
    out = await said(isolated, text, workspace)
    assert "secret" not in out
    assert "bot.db" not in out
    assert "state.json" not in out
    assert f"{tmp_path}/data/runs/r1/workspace\n" in out
    assert "cannot access '/root'" in out
    assert "/etc/shadow: No such file" in out


async def test_nothing_outside_can_be_written(isolated: Sandbox, tmp_path: Path) -> None:
    workspace = folder(tmp_path / "w" / "workspace")
    text = "for p in / /usr /etc /etc/passwd /bin /var /home; do touch $p/x 2>/dev/null && echo wrote $p; done; true"
    assert "wrote" not in await said(isolated, text, workspace)
    await said(isolated, f"echo x > {tmp_path}/w/beside; echo x > /tmp/beside", workspace)
    assert sorted(p.name for p in (tmp_path / "w").iterdir()) == ["workspace"]


async def test_other_processes_are_out_of_reach(isolated: Sandbox, tmp_path: Path) -> None:
    """Neither seen nor killed: the only processes are its own."""
    with subprocess.Popen(["sleep", "1000"]) as host:
        out = await said(isolated, f"kill -9 {host.pid} {os.getpid()}; echo /proc/[0-9]*", tmp_path)
        assert host.poll() is None
        host.kill()
    assert "No such process" in out
    assert out.splitlines()[0].split() == ["/proc/1", "/proc/2"]


async def test_there_is_no_network(isolated: Sandbox, tmp_path: Path) -> None:
    """Not even the machine's loopback, nor its abstract sockets; its own loopback works."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        assert "refused" in await said(isolated, connect, tmp_path)
        assert await said(await open_sandbox("off"), f"{connect} && echo reached", tmp_path) == "reached\n"
    assert "lo:" in await said(isolated, "cat /proc/net/dev", tmp_path)
    assert "eth" not in await said(isolated, "cat /proc/net/dev", tmp_path)


async def test_it_has_no_capabilities(isolated: Sandbox, tmp_path: Path) -> None:
    """Also where the engine runs as root."""
    out = await said(isolated, "id -u; grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status; hostname", tmp_path)
    assert out.split() == [
        *("1000", "CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapBnd:", "0" * 16),
        "sandbox",
    ]


async def test_folders_are_given_as_asked(isolated: Sandbox, tmp_path: Path) -> None:
    """Readable ones cannot be written, inner ones may be; each stands at its own place."""
    work, run = folder(tmp_path / "work"), folder(tmp_path / "run")
    inner = folder(run / "inner")
    (run / "file").write_text("text\n")
    text = f"cat {run}/file; touch {run}/no; touch {inner}/yes; touch yes"
    out = await said(isolated, text, work, readable=(run,), writable=(work, inner))
    assert out.startswith("text\n")
    assert "Read-only file system" in out
    assert (inner / "yes").exists()
    assert (work / "yes").exists()
    assert not (run / "no").exists()


async def test_a_working_folder_below_a_readable_one_is_not_made_writable(isolated: Sandbox, tmp_path: Path) -> None:
    below = folder(tmp_path / "below")
    assert "Read-only" in await said(isolated, "touch x", below, readable=(tmp_path,))


@pytest.mark.parametrize("place", ["cwd", "inner"])
async def test_a_link_is_not_followed_out(isolated: Sandbox, tmp_path: Path, place: str) -> None:
    """An earlier child may have put it there: binding it would bind what it points to."""
    work, outside = folder(tmp_path / "work"), folder(tmp_path / "outside")
    link = work / "link"
    link.symlink_to(outside)
    command = Command(("true",), link) if place == "cwd" else Command(("true",), work, writable=(work, link))
    with pytest.raises(OperatorError, match="symbolic link"):
        await isolated.run(command)


@pytest.mark.parametrize("path", [Path("relative"), Path("/"), Path("/tmp/../etc"), Path("/no/such/folder")])
async def test_odd_folders_are_refused(isolated: Sandbox, path: Path) -> None:
    with pytest.raises(OperatorError, match="cannot be given"):
        await isolated.run(Command(("true",), path))


async def test_values_stay_out_of_process_lists_and_off_the_launcher(isolated: Sandbox, tmp_path: Path) -> None:
    """On the machine neither argv nor the environment of bubblewrap shows them, or LD_PRELOAD would run outside."""
    env = {"SECRET": "canary-value", "LD_PRELOAD": "/canary-preload.so"}
    text = "echo > started; while [ ! -e stop ]; do sleep 0.01; done"
    running = asyncio.create_task(isolated.run(Command(shell(text), tmp_path, env)))
    while not (tmp_path / "started").exists():
        await asyncio.sleep(0.005)
    launchers = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                if b"canary" in words:
                    pytest.fail(f"in a command line: {words!r}")
                if b"bwrap" in words.split(b"\0")[0] and str(tmp_path).encode() in (entry / "mountinfo").read_bytes():
                    launchers.append((entry / "environ").read_bytes())
            except OSError:
                continue
    (tmp_path / "stop").touch()
    assert (await running).exit_code == 0
    assert launchers
    assert set(launchers) == {b""}


async def test_names_and_localhost_resolve(isolated: Sandbox, tmp_path: Path) -> None:
    out = await said(isolated, "id -un; getent hosts localhost; echo ~; echo x > /var/tmp/x && cat /tmp/x", tmp_path)
    assert out.split()[0] == "step"
    assert "localhost" in out
    assert out.endswith("/home/step\nx\n")


async def test_required_without_bubblewrap_refuses_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run, with the name of the package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = await open_sandbox("required")
    assert not sandbox.isolated
    assert "not installed" in sandbox.describe()
    for _ in range(2):
        with pytest.raises(OperatorError, match="isolation is required") as raised:
            await sandbox.run(Command(("true",), tmp_path))
        assert "`bubblewrap`" in raised.value.mend


async def test_required_where_namespaces_are_forbidden_says_how_to_allow_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bubblewrap that fails as the real one does on such a machine."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace, likely because' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = await open_sandbox("required")
    with pytest.raises(OperatorError, match="namespaces are forbidden") as raised:
        await sandbox.run(Command(("true",), tmp_path))
    assert "apparmor_restrict_unprivileged_userns" in raised.value.mend


async def test_one_that_is_removed_later_is_told(
    isolated: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OperatorError, match="no longer there"):
        await isolated.run(Command(("true",), tmp_path))


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("bwrap: setting up uid map: Permission denied", "namespaces are forbidden"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "namespaces are forbidden"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "namespaces are forbidden"),
        ("bwrap: Unknown option --json-status-fd", "too old"),
        ("bwrap: something else", "does not work here"),
        ("", "gave no reason"),
    ],
)
def test_bubblewrap_s_words_are_understood(stderr: str, reason: str) -> None:
    found = diagnose(stderr)
    assert reason in found.reason
    assert found.mend
