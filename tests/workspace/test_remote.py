"""Addresses and refs."""

from __future__ import annotations

import pytest

from bot.errors import OperatorError, UserError
from bot.workspace.remote import check_url, full_ref


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://github.com/o/r.git", "https://github.com"),
        ("https://github.com/o/r.git", "github.com"),
        ("https://GitHub.com:443/o/r.git", "https://github.com"),
        ("http://127.0.0.1:4000/o/r.git", "http://127.0.0.1:4000"),
    ],
)
def test_the_server_s_own_addresses_are_taken(url: str, allowed: str) -> None:
    assert check_url(url, allowed) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/o/r.git",
        "https://github.com.evil.example/o/r.git",
        "https://evil.example/github.com/r.git",
        "https://github.com:8443/o/r.git",
        "https://github.com:x/o/r.git",
        "https://me:token@github.com/o/r.git",
        "https://github.com@evil.example/o/r.git",
        "https://evil.example\\@github.com/o/r.git",
        "https://github.com/o/../r.git",
        "https://github.com/o/r.git?x=1",
        "https://github.com/o/r.git\nhttps://evil.example",
        "ssh://git@github.com/o/r.git",
        "git@github.com:o/r.git",
        "file:///etc",
        "ext::sh -c id",
        "/etc",
        "--upload-pack=id",
        "",
    ],
)
def test_every_other_address_is_refused(url: str) -> None:
    with pytest.raises(OperatorError, match="not at"):
        check_url(url, "https://github.com")


@pytest.mark.parametrize(
    ("ref", "full"),
    [
        ("main", "refs/heads/main"),
        ("refs/heads/main", "refs/heads/main"),
        ("feature/ä-1.2", "refs/heads/feature/ä-1.2"),
        ("refs/pull/12/head", "refs/pull/12/head"),
    ],
)
def test_branches_and_pull_requests(ref: str, full: str) -> None:
    assert full_ref(ref) == full


@pytest.mark.parametrize(
    "ref",
    [
        *("", "-x", "--upload-pack=id", "a..b", "a b", "a\nb", "a~1", "a^", "a:b", "+a:b", "a?", "a*", "a[", "a\\b"),
        *("@", "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b"),
        *("refs/tags/v1", "refs/pull/x/head", "refs/pull/0/head", "refs/pull/1/head/x", "refs/heads/"),
    ],
)
def test_what_git_would_read_otherwise_is_refused(ref: str) -> None:
    with pytest.raises(UserError) as raised:
        full_ref(ref)
    assert raised.value.code == "bad_ref"
