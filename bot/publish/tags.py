"""Raw HTML in Markdown: which tags stay, with which attributes, and what becomes of the others.

The list is a part of what GitHub itself shows (its sanitiser drops the rest without a word): a tag that is not on it is
made visible as text, so that nothing the author wrote is hidden. Images of other hosts become links.
Source: https://github.github.com/gfm/#raw-html and the allow-list of GitHub's html-pipeline.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import urlsplit

TAG = re.compile(
    r"<(?P<slash>/)?(?P<name>[A-Za-z][A-Za-z0-9-]*)"
    r"(?P<attributes>(?:\s+[A-Za-z_:][A-Za-z0-9_.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*)"
    r"\s*/?>"
)
_ATTRIBUTE = re.compile(
    r"\s+(?P<name>[A-Za-z_:][A-Za-z0-9_.:-]*)(?:\s*=\s*(?P<value>[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
)
#: an element that holds nothing but text, so it is surely code
CODE = re.compile(r"<code>[^<]*</code>")

_NAMES = (
    "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li ol p pre q rp rt ruby s"
    " samp small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var"
)
_KEPT = frozenset(_NAMES.split())
_DROPPED = frozenset({"picture", "source"})
_ATTRIBUTES = {"a": ("href",), "details": ("open",), "ol": ("start",), "td": ("colspan", "rowspan", "align")}
_SPECIAL = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_~[]!|:#@/"})
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.#?-][^\\:@]*\Z|/[A-Za-z0-9_.-][^\\:@]*\Z")


def rewrite(tag: re.Match[str], own_image: Callable[[str], bool]) -> str:
    """What stands in the place of a tag; the same text where it may stay. Idempotent."""
    name = tag["name"].lower()
    if name == "img" and not tag["slash"]:
        return _image(tag, own_image)
    if name in _DROPPED:
        return ""
    if name not in _KEPT:
        return "&lt;" + tag[0][1:]
    if tag["slash"]:
        return f"</{name}>"
    return f"<{name}{_attributes(tag, _ATTRIBUTES.get(name, ()))}>"


def code(text: str) -> str:
    """`text` as an HTML code element in which neither HTML nor Markdown sees anything."""
    return f"<code>{html.escape(text).translate(_SPECIAL)}</code>"


def web(address: str) -> bool:
    """Whether a link may go there: the web, mail, or a place in the same site."""
    parts = address.strip().partition(":")
    return parts[0].lower() in ("http", "https", "mailto") or bool(_PLAIN_PATH.match(address))


def own(address: str, hosts: frozenset[str]) -> bool:
    """Whether an image of this address is loaded from one of `hosts` or from beside the page."""
    address = html.unescape(address).strip()
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return False
    if parts.scheme == "https" and "\\" not in address:
        return host in hosts
    return not parts.scheme and bool(_PLAIN_PATH.match(address))


def _image(tag: re.Match[str], own_image: Callable[[str], bool]) -> str:
    values = _values(tag)
    source = values.get("src", "")
    alt = " ".join(values.get("alt", "").split())
    if own_image(source):
        return f"<img{_attributes(tag, ('src', 'alt', 'width', 'height'))}>"
    # an alternative text is no place for a link's own words to end: everything special in it is encoded
    text = html.escape(alt or "image").translate(_SPECIAL)
    return f'<a href="{html.escape(source)}">{text}</a>' if web(source) else text


def _attributes(tag: re.Match[str], kept: tuple[str, ...]) -> str:
    values = _values(tag)
    if "href" in values and not web(values["href"]):
        del values["href"]
    pieces = (
        f" {name}" if name == "open" else f' {name}="{html.escape(" ".join(values[name].split()))}"'
        for name in kept
        if name in values
    )
    return "".join(pieces)


def _values(tag: re.Match[str]) -> dict[str, str]:
    """Attributes by name, decoded; of two with one name the first counts, as in browsers."""
    values: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(tag["attributes"]):
        raw = attribute["value"] or ""
        value = raw[1:-1] if raw[:1] in ("'", '"') else raw
        values.setdefault(attribute["name"].lower(), html.unescape(value))
    return values
