"""Comments as HTML, safe by construction: only fixed tags and escaped text are ever written.

Raw HTML is not passed through. Of the tags that people write, `details`, `summary`, `sub`, `sup` and `kbd` are
written anew without attributes, balanced within the block in which they were opened; comments vanish; whatever else
looks like a tag is dropped, as GitHub drops what it does not know. Images become links, since the page loads nothing
from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from html import escape, unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from bot.demo import checklist
from bot.demo.checklist import Box

Env = MutableMapping[str, Any]

_ALLOWED = frozenset({"details", "summary", "sub", "sup", "kbd"})
_HTML = re.compile(r"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][\w-]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*>|<[!?][^>]*>", re.DOTALL)
_MENTION = re.compile(r"(?<![\w@/.`-])@([A-Za-z\d](?:[A-Za-z\d-]{0,38}))(?![\w/@-])")


def render(text: str) -> str:
    """The HTML of a comment's body. Boxes of task lists are disabled, with their number as `data-box`."""
    env: Env = {}
    html: str = _PARSER.render(text, env)
    return html


def boxes(text: str) -> list[Box]:
    """The boxes of task lists in a comment's body, as they are shown."""
    # places are told in `source`: the parser's own copy has other line ends
    return list(checklist.boxes(_PARSER.parse(text, {"source": text})))


class _Writer(RendererHTML):
    """Renders tokens; the tags of raw HTML are kept on a stack with one level for each open block."""

    def render(self, tokens: Sequence[Token], options: OptionsDict, env: Env) -> str:
        """Block tokens, each level's raw tags closed where the level ends."""
        levels: list[list[str]] = [[]]
        out: list[str] = []
        for index, token in enumerate(tokens):
            if token.nesting < 0:
                out.append(_close(levels.pop()))
            if token.type == "html_block":
                out.append(_tags(token.content, levels[-1]))
            elif token.type == "inline":
                if (box := checklist.box_of(token)) is not None:
                    out.append(_input(box, token))
                out.append(self.renderInline(token.children or [], options, env))
            elif token.type in {"th_open", "td_open"}:
                out.append(_cell(token))
            elif token.type in self.rules:
                out.append(self.rules[token.type](tokens, index, options, env))
            else:
                out.append(self.renderToken(tokens, index, options, env))
            if token.nesting > 0:
                levels.append([])
        out.append(_close(levels[0]))
        return "".join(out)

    def renderInline(self, tokens: Sequence[Token], options: OptionsDict, env: Env) -> str:  # noqa: N802 - its name
        """Inline tokens, raw tags closed at the end."""
        levels: list[list[str]] = [[]]
        out: list[str] = []
        for index, token in enumerate(tokens):
            if token.nesting < 0:
                out.append(_close(levels.pop()))
            if token.type == "html_inline":
                out.append(_tags(token.content, levels[-1]))
            elif token.type == "text":
                out.append(_MENTION.sub(r'<span class="mention">@\1</span>', escape(token.content)))
            elif token.type == "image":
                words = escape(token.content or "image")
                out.append(f'<a class="image" href="{escape(str(token.attrGet("src")))}" {_REL}>{words}</a>')
            elif token.type == "link_open":
                out.append(f'<a href="{escape(str(token.attrGet("href")))}" {_REL}>')
            elif token.type in self.rules:
                out.append(self.rules[token.type](tokens, index, options, env))
            else:
                out.append(self.renderToken(tokens, index, options, env))
            if token.nesting > 0:
                levels.append([])
        out.append(_close(levels[0]))
        return "".join(out)


_REL = 'rel="nofollow noopener noreferrer" target="_blank"'


#: how a column of a table is aligned; as a class, since the page's policy forbids styles in place
_ALIGNED = {f"text-align:{side}": side for side in ("left", "center", "right")}


def _cell(token: Token) -> str:
    """The opening tag of a table's cell."""
    side = _ALIGNED.get(str(token.attrGet("style")), "left")
    return f"<{token.tag}>" if side == "left" else f'<{token.tag} class="{side}">'


def _input(box: Box, token: Token) -> str:
    """A box; what it is for is its name for those who do not see the page."""
    name = "".join(child.content or " " for child in token.children or [] if child.type != "html_inline")
    ticked = " checked" if box.ticked else ""
    return (
        f'<input type="checkbox" class="task-list-item-checkbox" data-box="{box.number}" disabled{ticked} '
        f'aria-label="{escape(" ".join(name.split()))}"> '
    )


def _close(opened: list[str]) -> str:
    return "".join(f"</{name}>" for name in reversed(opened))


def _tags(raw: str, opened: list[str]) -> str:
    """Raw HTML written anew: allowed tags from a fixed set, text escaped, all else dropped."""
    out: list[str] = []
    end = 0
    for match in _HTML.finditer(raw):
        out.append(escape(unescape(raw[end : match.start()])))
        end = match.end()
        name = (match[2] or "").lower()
        if name == "br":
            out.append("<br>")
        elif name in _ALLOWED and not match[1]:
            opened.append(name)
            out.append(f"<{name}>")
        elif name in opened:
            # closing an outer tag closes what was opened within it
            while (inner := opened.pop()) != name:
                out.append(f"</{inner}>")
            out.append(f"</{name}>")
    out.append(escape(unescape(raw[end:])))
    return "".join(out)


_PARSER = MarkdownIt("commonmark", {"html": True, "breaks": True, "langPrefix": "language-"}, renderer_cls=_Writer)
_PARSER.enable(["table", "strikethrough"]).use(checklist.plugin)
