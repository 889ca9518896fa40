"""Checked configurations are kept by commit."""

from __future__ import annotations

from bot.workflows import Memo, builtin_files
from tests.workflows.yaml_cases import BOT


def test_a_commit_is_checked_once() -> None:
    """The same commit gives the same object, another commit or repository its own."""
    memo = Memo({})
    first = memo.check(1, "a", {BOT: "version: 1"})
    assert memo.check(1, "a", {BOT: "version: 1"}) is first
    assert memo.check(1, "b", {BOT: "version: 1"}) is not first
    assert memo.check(2, "a", {BOT: "version: 2"}).configuration is None


def test_the_least_used_is_dropped() -> None:
    """The bound counts commits; what was asked for again stays."""
    memo = Memo({}, limit=2)
    first = memo.check(1, "a", {})
    second = memo.check(1, "b", {})
    assert memo.check(1, "a", {}) is first
    memo.check(1, "c", {})
    assert memo.check(1, "a", {}) is first
    assert memo.check(1, "b", {}) is not second


def test_the_products_own_configuration() -> None:
    """What a repository without any file has."""
    configuration = Memo(builtin_files()).defaults().configuration
    assert configuration is not None
    assert configuration.names() == ("ask",)


def test_what_is_known_takes_no_work() -> None:
    """Nothing before the first check, then the same object."""
    memo = Memo({})
    assert memo.known(1, "a") is None
    assert memo.check(1, "a", {}) is memo.known(1, "a")
