"""The engine's own git."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import BotError, Forbidden, NotFound, OperatorError, Transient
from bot.workspace.git import Credential, Git, GitResult, fault
from tests.workspace.conftest import GitServer, Origin

TOKEN = "ghs_canaryToken0123456789"


async def fetch(git: Git, server: GitServer, cwd: Path, token: str = TOKEN, name: str = "repo") -> bytes:
    url = server.url(name)
    return await git.run("ls-remote", "--", url, cwd=cwd, credential=Credential(url, token), protocols=("http",))


async def test_the_token_opens_the_repository(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    head = origin.git("rev-parse", "HEAD")
    assert f"{head}\trefs/heads/main" in (await fetch(Git(), server, tmp_path)).decode()


async def test_a_wrong_token_is_forbidden_and_not_shown(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    """Without asking anybody for another one."""
    with pytest.raises(Forbidden) as raised:
        await fetch(Git(), server, tmp_path, token="ghs_wrongCanary")
    assert raised.value.status == 401
    assert "wrongCanary" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(403, Forbidden), (404, NotFound), (301, NotFound), (429, Transient), (500, Transient), (503, Transient)],
)
async def test_what_the_server_says_becomes_ours(
    server: GitServer, origin: Origin, tmp_path: Path, status: int, kind: type[BotError]
) -> None:
    server.status = status
    with pytest.raises(kind) as raised:
        await fetch(Git(), server, tmp_path)
    assert type(raised.value) is kind
    if isinstance(raised.value, Transient):
        assert raised.value.limited == (status == 429)


async def test_a_server_that_is_not_there_is_transient(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/repo.git"
    with pytest.raises(Transient):
        await Git().run("ls-remote", url, cwd=tmp_path, protocols=("http",))


async def test_a_server_that_never_answers_is_transient(tmp_path: Path, processes: Callable[[str], list[int]]) -> None:
    """git's own helper dies with it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/repo.git"
        with pytest.raises(Transient, match="too long"):
            await Git(timeout=0.5).run("ls-remote", url, cwd=tmp_path, protocols=("http",))
    assert processes(url) == []


@pytest.mark.parametrize("url", ["ext::sh -c 'touch pwned'", "file:///etc", "ssh://localhost/x", "git://localhost/x"])
async def test_no_other_transport_is_used(tmp_path: Path, url: str) -> None:
    with pytest.raises(OperatorError, match="not allowed"):
        await Git().run("ls-remote", "--", url, cwd=tmp_path, protocols=("http", "https"))
    assert list(tmp_path.iterdir()) == []


async def test_the_token_is_in_no_command_line(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    """Every process of the machine is looked at while git waits for the server."""
    credential = Credential(server.url(), TOKEN)
    seen: list[bytes] = []
    answer = server.answer

    def looked(request: object) -> None:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    seen.append((entry / "cmdline").read_bytes())
                except OSError:
                    continue
        answer(request)  # type: ignore[arg-type] # the server's own request, passed through

    server.answer = looked  # type: ignore[method-assign] # to look while a request is open
    await fetch(Git(), server, tmp_path)
    line = b"\n".join(seen)
    assert b"ls-remote" in line
    assert TOKEN.encode() not in line
    assert credential.config()[0][1].split()[-1].encode() not in line
    assert server.headers[-1].startswith("Basic ")


async def test_the_token_goes_to_its_own_address_only(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    other = Credential("http://127.0.0.1:9/repo.git", TOKEN)
    with pytest.raises(Forbidden):
        await Git().run("ls-remote", server.url(), cwd=tmp_path, credential=other, protocols=("http",))
    assert set(server.headers) == {""}


async def test_a_redirect_is_not_followed(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    """Wherever it leads, the token was not meant for it."""
    other = GitServer(server.root)
    server.status, server.location = 302, other.origin
    with pytest.raises(NotFound):
        await fetch(Git(), server, tmp_path)
    other.close()
    assert other.requests == []


async def test_a_git_that_shows_the_token_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that was told to trace."""
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nenv >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    credential = Credential("https://github.com/o/r.git", TOKEN)
    done = await Git().attempt("fetch", cwd=tmp_path, credential=credential)
    assert "Authorization: Basic ***" in done.stderr
    assert TOKEN not in done.stderr


async def test_the_machine_s_configuration_counts_for_nothing(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files nor the engine's own GIT_ variables."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        '[url "http://127.0.0.1:9/"]\n\tinsteadOf = http://\n[core]\n\tfsmonitor = false\n'
    )
    (home / ".netrc").write_text("machine 127.0.0.1 login x password y\n")
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_PARAMETERS": "'core.pager=false'",
        "GIT_SSH_COMMAND": "false",
        "GIT_DIR": "/nowhere",
    }.items():
        monkeypatch.setenv(name, value)
    listed = (await Git().run("config", "--list", "--show-scope", cwd=tmp_path)).decode()
    assert {line.split("\t")[0] for line in listed.splitlines()} == {"command"}
    assert "insteadof" not in listed
    await fetch(Git(), server, tmp_path)


async def test_hooks_filters_and_monitors_of_a_repository_do_not_run(origin: Origin, tmp_path: Path) -> None:
    """Even in a repository whose own configuration asks for them (the engine never runs git in one, but still)."""
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    hook = origin.work / ".git" / "hooks" / "post-checkout"
    hook.write_text(script.read_text())
    hook.chmod(0o755)
    origin.git("config", "core.fsmonitor", str(script))
    await Git().run("status", cwd=origin.work)
    await Git().run("checkout", "-q", "-b", "other", cwd=origin.work)
    assert not mark.exists()


async def test_proxies_and_certificates_are_passed_on(tmp_path: Path) -> None:
    """What the operator gives; nothing else of the environment."""
    git = Git(environment={"http_proxy": "http://127.0.0.1:9"})
    with pytest.raises(Transient, match=r"127\.0\.0\.1 port 9|127\.0\.0\.1:9"):
        await git.run("ls-remote", "http://example.invalid/r.git", cwd=tmp_path, protocols=("http",))


async def test_without_git_the_operator_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OperatorError, match="not installed"):
        await Git().run("version", cwd=tmp_path)


async def test_other_failures_are_the_operator_s(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"git rev-parse failed: .*not a git repository"):
        await Git().run("rev-parse", "HEAD", cwd=tmp_path)


def test_a_credential_hides_itself() -> None:
    credential = Credential("https://github.com/o/r.git", TOKEN)
    assert TOKEN not in repr(credential)
    assert Credential("https://github.com/o/r.git", "").config() == ()


@pytest.mark.parametrize("lead", ["", "x", "xy", "x-access-token:"])
def test_tokens_are_scrubbed_in_every_form(lead: str) -> None:
    """Plain, quoted, and in base64 whatever stands before or after it."""
    token = "gh+s/secret=Value 1"
    credential = Credential("https://github.com/o/r.git", token)
    encoded = base64.b64encode(f"{lead}{token}: and more".encode()).decode()
    text = credential.scrub(f"a {token} b gh%2Bs%2Fsecret%3DValue%201 c {encoded} d")
    assert text.startswith("a *** b *** c ")
    assert text.endswith(" d")
    core = base64.b64encode(token.encode()).decode()[4:12]
    kept = text.removeprefix("a *** b *** c ").removesuffix(" d")
    assert "***" in kept
    assert core not in kept
    assert len(kept) < len(encoded) - 4 * len(token) // 3 + 6


def test_a_scrub_without_a_token_changes_nothing() -> None:
    assert Credential("https://github.com/o/r.git", "").scrub("text") == "text"


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("fatal: unable to access 'u': Could not resolve host: github.com", Transient),
        ("error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly", Transient),
        ("fatal: the remote end hung up unexpectedly", Transient),
        ("fatal: couldn't find remote ref refs/pull/9/head", NotFound),
        ("remote: Repository not found.\nfatal: repository 'https://github.com/o/r.git/' not found", NotFound),
        ("fatal: Authentication failed for 'https://github.com/o/r.git/'", Forbidden),
        ("fatal: could not read Username for 'https://github.com': terminal prompts disabled", Forbidden),
    ],
)
def test_git_s_words_are_understood(stderr: str, kind: type[BotError]) -> None:
    assert type(fault(GitResult(128, b"", stderr))) is kind


def test_other_words_are_no_fault_of_the_remote() -> None:
    assert fault(GitResult(128, b"", "fatal: bad object HEAD")) is None
