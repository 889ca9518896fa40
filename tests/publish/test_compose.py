"""What one thing to say becomes, and that nobody waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.model.ident import compact
from bot.model.slot import Slot
from bot.publish import Redactor, Speaker, compose
from bot.publish.compose import Draft
from bot.publish.markdown import Effort, TooComplex, parse
from bot.publish.split import CHARACTERS
from bot.store import Session, open_store, outbox
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import FakeClock

SECRET = "canary-of-the-tests"
REDACT = Redactor([SECRET])
SLOT = Slot("run/1", "output")

HOSTILE = ["![", "[\n", "**a", "*a ", "<!--", "a_b_", "|a", "# a\n", "](", "!", "-eyJaaaaa", "fix-", "\x9d", "<a b="]


def made(text: str, **more: bool) -> tuple[str, ...]:
    return compose.compose(
        Draft(text, output=True, footer="<sub>r1</sub>", rest="*rest*", fenced=more.get("fenced", False)), REDACT
    )


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("text", ["", " \n", "\u200b\u200b\u2060", "\x1b[31m\x1b[0m"])
def test_what_nobody_sees_is_nothing(text: str, fenced: bool) -> None:
    """No comment at all, not an empty fence."""
    assert made(text, fenced=fenced) == ()


@pytest.mark.parametrize("text", ["<!-- x -->", "<!-- a --><!-- b -->\n\n<?x?>", "[a]: http://b.example"])
def test_markdown_that_shows_nothing_is_nothing(text: str) -> None:
    """A footer alone is no answer; in a fence the same is text."""
    assert made(text) == ()
    assert len(made(text, fenced=True)) == 1


def test_a_long_text_is_cut_before_it_is_read() -> None:
    """The work is bounded by what may be posted, and the reader is told."""
    text, cut = compose.shorten("word " * 400_000, 3 * CHARACTERS, REDACT)
    assert (len(text), cut) == (3 * CHARACTERS, True)
    parts = made("<!-- hidden -->" * 40_000)
    assert parts == () or parts[-1].endswith("*rest*")
    assert made("seen " + "<b></b>" * 100_000)[-1].rstrip().endswith("*rest*")


@pytest.mark.parametrize("before", range(0, len(SECRET) + 1, 3))
def test_no_secret_is_cut_in_two(before: int) -> None:
    """Its beginning would be no secret to the redactor any more."""
    text, cut = compose.shorten("." * (1_000 - before) + SECRET + "." * 90_000, 1_000, REDACT)
    assert cut
    assert "can" not in text.replace(SECRET, "")


@pytest.mark.parametrize("piece", HOSTILE)
def test_effort_is_bounded(piece: str) -> None:
    """Whatever a text is made of, reading it stops after so many steps, and it is shown all the same."""
    text = "seen\n\n" + piece * (60_000 // len(piece))
    effort = Effort(Effort.MOST)
    try:
        parse(text, effort)
    except TooComplex:
        assert effort.left < 0
    else:
        assert effort.left >= 0
    assert made(text)


def test_text_built_to_be_slow_is_fenced() -> None:
    """And prose of the same length is not."""
    assert made("![" * 30_000)[0].startswith("```text\n![![")
    assert made("A line of *prose* with `code` and a [link](https://a.example).\n\n" * 900)[0].startswith("A line")


def test_a_result_is_folded_below_the_text_and_passes_the_policy() -> None:
    """Secrets, mentions and what no database takes are gone from it as from any text; alone it is nothing to say."""
    result = compact({"verdict": f"ask @ana about {SECRET} \ud800", "risk": [1, 2]})
    (body,) = compose.compose(Draft("Fine.", output=True, result=result, footer="<sub>r1</sub>"), REDACT)
    assert body.startswith("Fine.\n\n<details><summary>Result</summary>")
    assert "risk: [1,2]" in body
    assert body.endswith("<sub>r1</sub>")
    assert SECRET not in body
    body.encode()
    assert compose.compose(Draft("", output=True, result=result, footer="<sub>r1</sub>"), REDACT) == ()
    assert "Result" not in compose.compose(Draft("Fine.", output=True), REDACT)[0]


async def test_long_texts_are_composed_outside_of_the_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the writer's thread, and nothing of the work is done twice in the end."""
    store = open_store(DATABASES.of_folder(tmp_path))
    where: list[str] = []
    real: Callable[[Draft, Redactor], tuple[str, ...]] = compose.compose

    def watched(draft: Draft, redactor: Redactor) -> tuple[str, ...]:
        where.append(threading.current_thread().name)
        return real(draft, redactor)

    monkeypatch.setattr(compose, "compose", watched)
    speaker = Speaker(REDACT, FakeClock())

    def work(session: Session) -> bool:
        thread = rows.thread(session)
        said = speaker.output(session, thread, SLOT, purpose="output", text=f"{SECRET} @ana " * 2_000)
        result = {"list": ["word"] * 2_000}
        speaker.output(session, thread, Slot("run/3", "output"), purpose="output", text="short", result=result)
        return speaker.output(session, thread, Slot("run/2", "output"), purpose="output", text="short") and said

    assert await compose.write(store, work)
    assert len(where) == 3
    assert where.count("store-write") == 1
    found = await store.read(lambda session: outbox.find(session, SLOT))
    assert found is not None
    assert SECRET not in found.body
    assert "`@ana`" in found.body
    await store.close()
