"""Every class of the tree has its fate."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bot import errors
from bot.errors import (
    BotError,
    ConfigurationError,
    Fate,
    Forbidden,
    IllegalTransition,
    Lost,
    NotFound,
    NotGranted,
    OperatorError,
    Transient,
    Unsure,
    UserError,
    fate,
)
from bot.finding import Finding

FIRST = Finding(".github/bot.yml", 4, 5, "error", "unknown_key", "`modle` is not a key", "did you mean `model`?")
SECOND = Finding(".github/bot.yml", 9, 1, "error", "wrong_type", "a list is needed")

FATES: dict[type[BaseException], tuple[BaseException, Fate]] = {
    BotError: (BotError("x"), Fate.BUG),
    UserError: (UserError("code", "message"), Fate.TELL),
    ConfigurationError: (ConfigurationError([FIRST, SECOND]), Fate.TELL),
    OperatorError: (OperatorError("message", "mend"), Fate.TELL),
    Transient: (Transient("busy", 7.0, limited=True), Fate.RETRY),
    Unsure: (Unsure("no answer"), Fate.LOOK),
    NotFound: (NotFound("gone"), Fate.DROP),
    Forbidden: (Forbidden("no"), Fate.DROP),
    NotGranted: (NotGranted("no token"), Fate.DROP),
    Lost: (Lost("the duty"), Fate.DROP),
    IllegalTransition: (IllegalTransition("a to b"), Fate.BUG),
    ZeroDivisionError: (ZeroDivisionError(), Fate.BUG),
    TimeoutError: (TimeoutError(), Fate.BUG),
    asyncio.CancelledError: (asyncio.CancelledError(), Fate.BUG),
}


def tree(top: type[BotError] = BotError) -> Iterator[type[BotError]]:
    """Every class below the root, and the root."""
    yield top
    for below in top.__subclasses__():
        yield from tree(below)


def test_no_class_is_missing_here() -> None:
    """A new class needs a decision, and its line in the module's picture."""
    own = {each for each in tree() if each.__module__ == errors.__name__}
    assert own <= set(FATES)
    assert all(each.__name__ in str(errors.__doc__) for each in own)


@pytest.mark.parametrize("kind", FATES)
def test_fate(kind: type[BaseException]) -> None:
    """What becomes of the work that raised it."""
    error, wanted = FATES[kind]
    assert type(error) is kind
    assert fate(error) is wanted


def test_a_class_made_elsewhere_has_the_fate_of_its_kind() -> None:
    """So rooms may have more precise ones."""

    class Precise(Unsure):
        """A write of a special sort."""

    assert fate(Precise("x")) is Fate.LOOK


def test_what_a_user_is_told() -> None:
    """The code comes first; for a configuration the first finding stands for all."""
    plain = UserError("code", "what is wrong", "what to do", "last words")
    assert str(plain) == "code: what is wrong"
    assert (plain.hint, plain.detail) == ("what to do", "last words")
    findings = ConfigurationError([FIRST, SECOND])
    assert str(findings) == "unknown_key: .github/bot.yml:4:5 `modle` is not a key"
    assert (findings.code, findings.hint, findings.findings) == (
        "unknown_key",
        "did you mean `model`?",
        (FIRST, SECOND),
    )


def test_what_the_others_carry() -> None:
    """Waiting, limits, status, mend."""
    limited = Transient("busy", 7.0, limited=True)
    assert (limited.retry_after, limited.limited) == (7.0, True)
    assert (Transient("busy").retry_after, Unsure("x").limited) == (None, False)
    assert (Forbidden("no").status, Forbidden("no", 401).status) == (403, 401)
    assert (str(OperatorError("m", "n")), OperatorError("m", "n").mend) == ("m", "n")
