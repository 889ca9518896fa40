"""What the documentation shows works, and where it points there is something."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer.main
from typer.core import TyperGroup

from bot.cli.local import ThreadFile
from bot.cli.main import commands
from bot.workflows import builtin_files, check
from tests.docs.pages import PAGES, ROOT, Fence, anchors, fences, files_of, links, name

YAML = [fence for page in PAGES for fence in fences(page, "yaml")]
README = ROOT / "README.md"


@pytest.mark.parametrize("fence", YAML, ids=str)
def test_every_yaml_block_is_a_file_without_findings(fence: Fence) -> None:
    """It can be copied as it is."""
    configuration, found = check(files_of(fence), builtin_files())
    assert found == ()
    assert configuration is not None


def test_there_are_yaml_blocks_in_the_pages_that_need_them() -> None:
    """Else the test above would hold of nothing."""
    assert {"README.md", "docs/configuration.md", "docs/context.md"} <= {name(fence.page) for fence in YAML}


@pytest.mark.parametrize("fence", [fence for page in PAGES for fence in fences(page, "json")], ids=str)
def test_every_json_block_is_a_thread_for_run(fence: Fence, tmp_path: Path) -> None:
    """`threadsmith run --thread` takes it."""
    file = tmp_path / "thread.json"
    file.write_text(fence.text, encoding="utf-8")
    thread = ThreadFile.read(file)
    assert thread.request
    assert thread.pins <= {comment.id for comment in thread.comments}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    """A file or folder that exists, and a heading of it where one is named."""
    for address in links(page):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.is_relative_to(ROOT), address
        assert target.exists(), address
        if parts.fragment:
            assert parts.fragment in anchors(target), address


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """`threadsmith X` and `make X`."""
    group = typer.main.get_command(commands())
    assert isinstance(group, TyperGroup)
    known = set(group.commands)
    targets = set(re.findall(r"^([a-z.]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    code = "\n".join(_code(page.read_text(encoding="utf-8")))
    for word in re.findall(r"\bthreadsmith ([a-z]+)", code):
        assert word in known, f"threadsmith {word}"
    for word in re.findall(r"\bmake ([a-z.]+)", code):
        assert word in targets, f"make {word}"


def _code(text: str) -> list[str]:
    """Code of a page: shell blocks and inline code."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [*blocks, *re.findall(r"`([^`\n]+)`", rest)]


def test_the_readme_names_the_commands() -> None:
    """Both of them, and those that a first installation needs."""
    code = "\n".join(_code(README.read_text(encoding="utf-8")))
    for command in ("make demo", "make test", "threadsmith doctor", "threadsmith serve"):
        assert command in code
