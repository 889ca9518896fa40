"""The conversation in the terminal: who says what, what the bot answers, short and readable."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

#: rows of an answer that are shown; the page has all of it
ROWS = 20
_COLOURS = {"ana": "cyan", "meg": "magenta", "sam": "yellow"}
_SIGNS = {"eyes": "👀", "rocket": "🚀", "+1": "👍", "confused": "😕"}
_SUB = re.compile(r"^<sub>(.*)</sub>$", re.MULTILINE)
_TAGS = re.compile(r"</?[a-z]+>")
_LINKS = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


class Screen:
    """Writes to a console; nothing else of the demo does."""

    def __init__(self, console: Console) -> None:
        self._c = console

    def opening(self) -> None:
        """The very first words, before anything is loaded."""
        self._c.print("[bold]Threadsmith[/] · a GitHub look-alike and the bot; nothing leaves this machine")

    def set_up(self, *, isolated: bool, isolation: str, issue: str, url: str) -> None:
        """What was started, and whether commands run isolated."""
        if isolated:
            head, words = Text("isolation is on", "green"), isolation
        else:
            why = isolation.removeprefix("no isolation: ").rstrip(".")
            head = Text("isolation is off", "yellow")
            words = f"{why}. The demo runs all the same, since its commands are its own; a real bot would refuse."
        self._c.print(head)
        self._indented(Text(words, "dim"), 2)
        self._c.print(issue)
        self._indented(Text(url, "dim"), 2)

    def act(self, number: int, of: int, title: str) -> None:
        """A new act begins."""
        self._c.print()
        self._c.print(Text.assemble((f"{number}/{of} ", "dim"), (title, "bold")))

    def says(self, login: str, role: str, text: str) -> None:
        """A person's comment."""
        self._person(login, role, Text(text))

    def ticks(self, login: str, role: str, label: str) -> None:
        """A person's tick in a comment of the bot's."""
        self._person(login, role, Text(f"ticks ☑ {_plain(label)}"))

    def commits(self, login: str, role: str, message: str, before: str, after: str) -> None:
        """A person's commit to the configuration: its message and the lines that changed."""
        rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
        changed = [
            Text(row.rstrip(), "green" if row[0] == "+" else "red", no_wrap=True, overflow="ellipsis")
            for row in rows
            if row[0] in "+-"
        ]
        self._person(login, role, Group(Text(f"commits .github/bot.yml: {message}"), *changed))

    def _person(self, login: str, role: str, what: RenderableType) -> None:
        self._c.print(Text.assemble("  ", (login, f"bold {_COLOURS.get(login, 'blue')}"), (f" ({role})", "dim")))
        self._indented(what, 4)

    def _indented(self, what: RenderableType, columns: int) -> None:
        self._c.print(Padding(what, (0, 0, 0, columns), expand=False))

    @contextmanager
    def waiting(self, words: str) -> Iterator[None]:
        """Show that something is going on, and since when."""
        with self._c.status(f"[dim]{words}[/]"):
            yield

    def answers(self, body: str, reactions: Sequence[str]) -> None:
        """A comment of the bot's, and how it reacted to what it answers."""
        signs = "".join(f" {_SIGNS.get(name, name)}" for name in reactions)
        self._c.print(Text.assemble("  ", ("bot", "bold green"), signs))
        small = [_plain(found[1]) for found in _SUB.finditer(body)]
        text = _TAGS.sub("", _SUB.sub("", body)).strip()
        self._c.print(_Barred(Markdown(text)))
        for row in small:
            self._c.print(_Barred(Text(row, "dim")))

    def nothing(self, reason: str) -> None:
        """The bot did not react, and why."""
        self._c.print(Text.assemble("  ", ("bot", "bold green"), (f" stays silent: {reason}", "dim")))

    def verdict(self, faults: Sequence[str], comments: int, seconds: float) -> None:
        """Whether the conversation went as it should."""
        self._c.print()
        if not faults:
            self._c.print(f"[green]✓[/] {comments} comments, each as expected and none besides ({seconds:.1f} s)")
        for fault in faults:
            self._c.print(Text.assemble(("✗ ", "red"), fault))

    def closing(self, url: str) -> None:
        """How to go on."""
        self._c.print()
        self._c.print("Go on as ana, meg or sam, and see what the bot saw:")
        self._c.print(f"  [bold]{url}[/]", soft_wrap=True)
        self._c.print("[dim]Connecting a real GitHub App: README.md. Ctrl-C ends the demo.[/]")

    def alone(self, url: str, file: str, front_door: str) -> None:
        """Where the look-alike is, and what it waits for."""
        self._c.print("The look-alike alone; write as ana, meg or sam:")
        self._c.print(f"  [bold]{url}[/]", soft_wrap=True)
        self._c.print(Text(f"It delivers to {front_door}. Settings for bots: {file}"), soft_wrap=True)
        self._c.print("[dim]Ctrl-C ends it, and takes that file away.[/]")

    def fault(self, message: str, mend: str) -> None:
        """Why the demo cannot go on."""
        self._c.print(Text(message, "red"))
        if mend:
            self._c.print(Text(f"  {mend}"))

    def farewell(self) -> None:
        """Everything is stopped."""
        self._c.print("[dim]stopped; nothing is left behind[/]")


class _Barred:
    """Something with a bar at its left, cut after about `ROWS` rows."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bar = Segment("  │ ", Style(color="green", dim=True))
        rows = console.render_lines(self._inner, options.update(width=max(20, options.max_width - 4)), pad=False)
        # a note in place of a single row would save nothing
        kept = len(rows) if len(rows) <= ROWS + 1 else ROWS
        for row in rows[:kept]:
            yield bar
            yield from row
            yield Segment.line()
        if kept < len(rows):
            yield bar
            yield Segment(f"… {len(rows) - kept} more lines on the page\n", Style(dim=True))


def _plain(text: str) -> str:
    """A small line without its Markdown."""
    return _LINKS.sub(r"\1", text).replace("`", "").replace("\\", "")
