"""The pages of the documentation and what stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + list((ROOT / "docs").rglob("*.md"))
)


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def name(page: Path) -> str:
    """The page from the repository's root, for the names of tests."""
    return page.relative_to(ROOT).as_posix()


def fences(page: Path, language: str) -> list[Fence]:
    """The page's fenced blocks of a language."""
    return [
        Fence(page, (token.map or [0])[0] + 1, token.info.strip(), token.content)
        for token in _tokens(page)
        if token.type == "fence" and token.info.strip() == language
    ]


def files_of(fence: Fence) -> dict[str, str]:
    """A block as the file that it shows: a `bot.yml` begins with its version, anything else is a workflow's file."""
    files = {".github/bot.yml": "version: 1\n", ".github/bot/workflows/shown.yml": fence.text}
    if "version" in yaml.safe_load(fence.text):
        files = {".github/bot.yml": fence.text}
    for prompt in re.findall(r"prompts/[\w-]+\.md", fence.text):
        files[f".github/bot/{prompt}"] = "A prompt."
    return files


def links(page: Path) -> list[str]:
    """Where the page's links and images lead, as written."""
    found = []
    for token in _tokens(page):
        for child in token.children or ():
            address = child.attrGet("href") if child.type == "link_open" else child.attrGet("src")
            if address:
                found.append(str(address))
    return found


def anchors(page: Path) -> set[str]:
    """The fragments that GitHub gives the page's headings."""
    tokens = _tokens(page)
    titles = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
