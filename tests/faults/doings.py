"""What people begin in an episode, and what must have come of it when everything rests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.demo.records import Comment
from bot.demo.reviews import Remark
from tests.faults.errands import Errands
from tests.faults.people import MOST
from tests.faults.wishes import Wish


@dataclass
class Doings(Errands):
    """People at work. Every `do` is something that somebody does, with a wish that is kept in `wishes`."""

    #: comments that were written without a request, to be edited
    _plain: list[Comment] = field(default_factory=list)

    def do(self) -> None:
        """Something, at random."""
        kinds: Mapping[Callable[[], None], int] = {
            self.says: 6, self.three: 4, self.apart: 2, self.two: 2, self.asks: 3, self.fails: 2, self.edits: 3,
            self.builtin: 3, self.pins: 2, self.sorts: 3, self.opens: 2, self.labels: 2, self.reviews: 1,
            self.looks: 1, self.drags: 1, self.in_the_pull: 2, self.strangers: 1,
            self.pushes: 1, self.renames: 1, self.deletes: 2, self.tells: 2, self.waits: 1, self.takes_back: 1,
            self.checks: 1, self.files: 1, self.assigns: 1, self.passes_through: 1,
        }  # fmt: skip
        self.rng.choices(list(kinds), list(kinds.values()))[0]()

    def _asked(self, command: str, **more: object) -> Wish:
        token, number = self._token(), self._thread()
        return self._wish(command, number, self._write(number, f"@bot {command} {token}"), tokens={token: 1}, **more)

    def says(self) -> None:
        self._asked("echo")

    def three(self) -> None:
        self._asked("three")

    def apart(self) -> None:
        self._asked("apart")

    def two(self) -> None:
        first, second, number = self._token(), self._token(), self._thread(2)
        made = self._write(number, f"@bot echo {first}\n\n@bot three {second}")
        # both repeat the whole text
        self._wish("two", number, made, dispatches=2, tokens={first: 2, second: 2})

    def asks(self) -> None:
        self._asked("gated")

    def fails(self) -> None:
        number = self._thread(2)
        made = self._write(number, "@bot broken")
        self._wish("broken", number, made, ends=frozenset({"failed"}))

    def edits(self) -> None:
        """Somebody adds a request to what was said before, and says something that will be edited."""
        if self._plain:
            row, token = self._plain.pop(0), self._token()
            number = row.issue.number
            self._commands[number] += 1
            self.place.world.edit_comment(row.id, "ana", f"{row.body}\n\n@bot echo {token}")
            self._wish("edited", number, row, tokens={token: 1})
        self._plain.append(self._write(self._thread(0), f"I think so ({self._token()})."))

    def builtin(self) -> None:
        name = self.rng.choice(["help", "status", "pins", "config", "why"])
        number = self._thread()
        self._wish(name, number, self._write(number, f"@bot {name}"), dispatches=0, answers=1)

    def pins(self) -> None:
        number = self._thread()
        made = self._write(number, f"@bot pin Keep it small, says {self._token()}")
        self._wish("pin", number, made, dispatches=0, answers=1)

    def sorts(self) -> None:
        label, number = self._token(), self._thread()
        made = self._write(number, f"@bot sort label={label}")
        self._wish("sort", number, made, label=label)

    def labels(self) -> None:
        """A new issue gets two labels by one click: two events, one of which starts something."""
        world, repo = self.place.world, self.place.repo
        made = world.open_issue(repo, "sam", f"Labelled {self._token()}", "It fails.")
        world.set_labels(repo, made.number, "meg", ["ready", "bug"])
        self._threads.append(made.number)
        self._commands[made.number] += 1
        self._wish("labelled", made.number, None, command="labelled")

    def reviews(self) -> None:
        """A review that asks, with a remark that asks for something else: three events for one click."""
        first, second = self._token(), self._token()
        number = self.place.pull.number
        if self._commands[number] + 2 > MOST:
            return
        self._commands[number] += 2
        remarks = [Remark("size.py", f"@bot echo {second}", line=1)]
        made = self.place.world.review(self.place.repo, number, "ana", f"@bot echo {first}", remarks=remarks)
        # the text asks with all remarks, the remark for itself
        self._wish("review", number, made, dispatches=2, tokens={first: 1, second: 2})

    def looks(self) -> None:
        number = self.place.pull.number
        if self._commands[number] < MOST:
            self._commands[number] += 1
            # it says so where somebody pushes before its review is there
            ends = frozenset({"succeeded", "failed"})
            self._wish("look", number, self._write(number, "@bot look"), ends=ends)

    def in_the_pull(self) -> None:
        number = self.place.pull.number
        if self._commands[number] < MOST:
            self._commands[number] += 1
            token = self._token()
            self._wish("echo", number, self._write(number, f"@bot echo {token}"), tokens={token: 1})

    def strangers(self) -> None:
        """Who may only read asks for something: nothing comes of it."""
        if self._sam_until:
            return
        number = self._thread(0)
        made = self._write(number, f"@bot echo {self._token()}", "sam")
        self._wish("stranger", number, made, dispatches=0)
        self._sam_asked = True

    def pushes(self) -> None:
        """Somebody pushes to the default branch, which tells of new configuration, and to the pull request."""
        world, repo = self.place.world, self.place.repo
        branch = self.rng.choice([None, self.place.pull.head])
        world.write_file(repo, "NEWS.md", f"{self._token()}\n", "meg", "News", branch=branch)

    def renames(self) -> None:
        """The repository gets another name, which changes nothing for its threads."""
        self.place.world.rename_repository(self.place.repo, self._token())

    def deletes(self) -> None:
        """Somebody asks, thinks better of it and deletes the comment: it is answered or not, never twice."""
        number, token = self._thread(), self._token()
        made = self._write(number, f"@bot echo {token}")
        self.place.world.delete_comment(made.id, "ana")
        self.gone[token] = number

    def takes_back(self) -> None:
        """A remark asks and is deleted: what answers it stands in the conversation, or nothing does."""
        number, token = self.place.pull.number, self._token()
        if self._commands[number] >= MOST:
            return
        self._commands[number] += 1
        remarks = [Remark("size.py", f"@bot echo {token}", line=1)]
        made = self.place.world.review(self.place.repo, number, "ana", remarks=remarks)
        (said,) = [c for t in self.place.pull.review_threads for c in t.comments if c.review is made]
        self._doomed.append((self._count + 8, said.id))
        self.gone[token] = number

    def tells(self) -> None:
        """A run is told something while it works, before its agent is asked."""
        token = self._token()
        made = self.place.world.open_issue(self.place.repo, "sam", f"Lazy {token}", "It is slow.")
        asked = self._write(made.number, f"@bot lazy {token}")
        self._wish("lazy", made.number, asked, tokens={token: 1})
        self._to_tell.append(made.number)

    def waits(self) -> None:
        """A run waits for a label, which somebody sets once it does."""
        token = self._token()
        made = self.place.world.open_issue(self.place.repo, "sam", f"Waits {token}", "It waits.")
        asked = self._write(made.number, f"@bot waits {token}")
        self._wish("waits", made.number, asked, tokens={token: 1})
        self.waiting[made.number] = token

    def checks(self) -> None:
        """A run waits for the checks of the pull request, which come to an end once it does."""
        number, token = self.place.pull.number, self._token()
        if self._commands[number] < MOST:
            self._commands[number] += 1
            self._wish("checked", number, self._write(number, f"@bot checked {token}"), tokens={token: 1})
            self.checking.append(token)

    def files(self) -> None:
        """A run is given a file of a comment."""
        number, token = self._thread(), self._token()
        url = self.place.world.store.attach("notes.md", f"It is {token}.\n".encode(), "text/markdown")
        self._wish("filed", number, self._write(number, f"@bot filed spec={url}"), tokens={token: 1})

    def assigns(self) -> None:
        """What a run wants is not possible: it says so."""
        self._wish("assigns", number := self._thread(), self._write(number, "@bot assigns"), ends=frozenset({"failed"}))

    def passes_through(self) -> None:
        """Sam may ask for a moment: what he asks for is done or called off, never twice."""
        if self._sam_asked:  # a bot that was dead meanwhile would find that he may
            return
        number, token = self._thread(), self._token()
        self.place.world.set_role(self.place.repo, "sam", "write")
        self._write(number, f"@bot three {token}", "sam")
        self.gone[token] = number
        self._sam_until = self._count + 3

    def drags(self) -> None:
        """A run that would go on for long, told something and called off later."""
        made = self.place.world.open_issue(self.place.repo, "sam", f"Slow {self._token()}", "It is slow.")
        wish = self._wish("slow", made.number, self._write(made.number, "@bot slow"), ends=frozenset({"cancelled"}))
        self.slow.append(wish)
