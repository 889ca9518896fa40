"""What still acts in a text, read from the Markdown parser's own result: the check on everything `view` decided."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from markdown_it.token import Token

from bot.publish import inert, tags
from bot.publish.inert import Allowed
from bot.publish.markdown import Page
from bot.publish.view import BORDER

#: stands for a link to an issue in the run of a block's text
_LINK = "\1"
_BEFORE_LINK = re.compile(rf"{inert.KEYWORD}{inert.GAP}{_LINK}", re.IGNORECASE)


def live(page: Page, allowed: Allowed, own: Callable[[str], bool]) -> str | None:
    """The first thing in a block of `page` that would ping, close, load or hide; None where all is inert."""
    for token in page.tokens:
        if token.type == "html_block":
            nodes = list(_html(token.content, own, block=True))
        elif token.type == "inline":
            nodes = list(_inline(token.children or [], own, allowed))
        else:
            continue
        for node in nodes:
            if node.startswith("\2"):
                return node[1:]
            urls = [] if token.type == "html_block" else [match.span() for match in inert.URL.finditer(node)]
            for match in inert.MENTION.finditer(node):
                if not allowed.pings(match["name"]) and not inert.inside(urls, match.start()):
                    return match[0]
        run = "".join(nodes)
        closing = next((m for m in inert.CLOSING.finditer(run) if not allowed.shuts(m["reference"])), None)
        if found := closing or _BEFORE_LINK.search(run):
            return found[0]
    return None


def _inline(children: list[Token], own: Callable[[str], bool], allowed: Allowed) -> Iterator[str]:
    """The text nodes of a block; `\\2…` for a fault."""
    held = ""
    position = 0
    while position < len(children):
        child = children[position]
        position += 1
        if child.type in ("text", "text_special"):
            held += child.content
            continue
        if child.type in ("softbreak", "hardbreak"):
            held += "\n"
            continue
        yield held
        held = ""
        match child.type:
            case "code_inline":
                yield BORDER
            case "image":
                address = str(child.attrGet("src") or "")
                if not own(address):
                    yield f"\2image {address}"
            case "link_open":
                address = str(child.attrGet("href") or "")
                if inert.TARGET.match(address) and not allowed.shuts(address):
                    yield _LINK
            case "html_inline":
                yield from _html(child.content, own, block=False)
                if child.content == "<code>" and _closes(children, position):
                    yield BORDER
                    position += 2
            case _:
                pass
    yield held


def _closes(children: list[Token], position: int) -> bool:
    """Whether text alone and the end of the code element follow."""
    following = children[position : position + 2]
    return [token.type for token in following] == ["text", "html_inline"] and following[1].content == "</code>"


def _html(content: str, own: Callable[[str], bool], *, block: bool) -> Iterator[str]:
    if re.search(r"<[!?]", content):
        yield f"\2hidden {content[:40]}"
        return
    rest = tags.CODE.sub(BORDER, content) if block else content
    last = 0
    for tag in tags.TAG.finditer(rest):
        yield html.unescape(rest[last : tag.start()])
        last = tag.end()
        if tag["name"].lower() == "br":
            yield "\n"
        if tags.rewrite(tag, own) != tag[0]:
            yield f"\2tag {tag[0][:40]}"
        address = re.search(r'href="([^"]*)"', tag[0])
        if address and inert.TARGET.match(html.unescape(address[1])):
            yield _LINK
    yield html.unescape(rest[last:])
