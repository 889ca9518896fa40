"""The npm package `emulate` as an independent GitHub: a process on loopback with an App, a repository and people.

`ana` owns the repository `parser`, `meg` may write, `sam` is a stranger; issue 1 is meg's. It has no reactions, no pins
and no log of deliveries, and its times carry milliseconds. Install it with
`npm install --prefix tests/contract --no-package-lock --ignore-scripts`.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bot.github import parse
from bot.model.thread import Repository

APP_ID = "42"
SLUG = "bot"
INSTALLATION = 5
OWNER, NAME = "ana", "parser"
GRANTED = {"metadata": "read", "contents": "read", "issues": "write", "pull_requests": "write", "checks": "write"}

_PROGRAM = Path(__file__).parent / "node_modules" / "emulate" / "dist" / "index.js"
_STARTS = 3


@cache
def private_key() -> str:
    """The App's key (PEM), one for all emulators of a process."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator. `people` act through it as themselves."""

    base_url: str
    pid: int
    repository: Repository
    people: dict[str, httpx.Client] = field(repr=False)
    app_id: str = APP_ID
    slug: str = SLUG
    installation_id: int = INSTALLATION
    issue: int = 1

    @property
    def private_key(self) -> str:
        return private_key()

    def call(self, login: str, method: str, path: str, **json_body: Any) -> Any:
        """One request as a person, below the repository; the answer's JSON. Fails on any refusal."""
        response = self.people[login].request(method, f"/repos/{OWNER}/{NAME}{path}", json=json_body or None)
        response.raise_for_status()
        return response.json()

    def write_file(self, path: str, content: bytes, *, login: str = OWNER) -> str:
        """Commit a new file to the default branch; the commit's SHA."""
        text = base64.b64encode(content).decode()
        answer = self.call(login, "PUT", f"/contents/{path}", message=f"Add {path}", content=text)
        return str(answer["commit"]["sha"])

    def new_issue(self, title: str, body: str = "", *, login: str = "meg") -> int:
        """Open another thread; its number."""
        return int(self.call(login, "POST", "/issues", title=title, body=body)["number"])


def missing() -> str:
    """Why the emulator cannot run here; empty where it can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not _PROGRAM.exists():
        return "emulate is not installed: npm install --prefix tests/contract --no-package-lock --ignore-scripts"
    return ""


@contextmanager
def running(folder: Path, *, webhook_url: str = "", webhook_secret: str = "") -> Iterator[Emulator]:
    """Start an emulator with its files in `folder`, and end it. Deliveries go to `webhook_url` where there is one."""
    for left in reversed(range(_STARTS)):
        try:
            process, base_url = _start(folder, webhook_url, webhook_secret)
            break
        except ChildProcessError:
            # somebody else took the port meanwhile
            if left == 0:
                raise
    people = {
        login: httpx.Client(base_url=base_url, headers={"Authorization": f"token token-{login}"}, trust_env=False)
        for login in ("ana", "meg", "sam")
    }
    try:
        yield _furnished(base_url, process.pid, people)
    finally:
        for person in people.values():
            person.close()
        _end(process)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One emulator for all tests of a process that can share it."""
    require()
    with running(tmp_path_factory.mktemp("emulate")) as emulator:
        yield emulator


def require() -> None:
    """Skip where the emulator cannot run, which in CI is a failure: there nothing is skipped."""
    reason = missing()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def _start(folder: Path, webhook_url: str, webhook_secret: str) -> tuple[subprocess.Popen[str], str]:
    seed = folder / "seed.json"
    seed.write_text(json.dumps(_seed(webhook_url, webhook_secret)), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base_url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        ["node", str(_PROGRAM), "start", "-s", "github", "-p", str(port), "--base-url", base_url, "--seed", str(seed)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        # printed once it listens
        if "Config:" in line:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, base_url
    _end(process)
    raise ChildProcessError(f"emulate did not start: {said}")


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _seed(webhook_url: str, webhook_secret: str) -> dict[str, Any]:
    app: dict[str, Any] = {
        "app_id": int(APP_ID),
        "slug": SLUG,
        "name": "Bot",
        "private_key": private_key(),
        "permissions": GRANTED,
        "events": ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"],
        "installations": [{"installation_id": INSTALLATION, "account": OWNER}],
    }
    if webhook_url:
        app |= {"webhook_url": webhook_url, "webhook_secret": webhook_secret}
    people = ("ana", "meg", "sam")
    return {
        "tokens": {f"token-{login}": {"login": login} for login in people},
        "github": {
            "users": [{"login": login} for login in people],
            "repos": [{"owner": OWNER, "name": NAME}],
            "apps": [app],
        },
    }


def _furnished(base_url: str, pid: int, people: dict[str, httpx.Client]) -> Emulator:
    owner = people[OWNER]
    here = f"/repos/{OWNER}/{NAME}"
    repository = parse.repository(owner.get(here).raise_for_status().json())
    owner.put(f"{here}/collaborators/meg", json={"permission": "push"}).raise_for_status()
    people["meg"].post(f"{here}/issues", json={"title": "It crashes", "body": "See log"}).raise_for_status()
    return Emulator(base_url, pid, repository, people)
