"""`make faults`: kill bots at every commit boundary, at every edge of a write and at random, and print what that cost.

    make faults                                          300 kills
    make faults ARGS="--kills 10000 --seed 7"
    make faults ARGS="--database postgresql --processes 2"

Prints kills, dispatches, what was lost and what was doubled, the seconds, and the seed that repeats the choices. Where
something is wrong, the episode's seed, its kills and what was found; its folder stays, with world, logs and database.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.databases import Server
from tests.faults.boundaries import Coverage, edges
from tests.faults.episode import LONGEST, ODDS, Odds, Report, Terms, play
from tests.faults.lives import lives

#: kills in one life of a world
KILLS = 25
#: faults of one episode that are told
MOST = 20
#: kills in one that only looks for commits at which nobody was killed yet
FEW = 10
#: worlds at once
AT_ONCE = 3


@dataclass
class Figures:
    """What a whole run came to."""

    seed: int
    coverage: Coverage
    reports: list[Report] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, report: Report) -> None:
        self.reports.append(report)
        self.kills += report.kills
        self.ends += report.verdict.ends

    @property
    def faulty(self) -> list[Report]:
        return [report for report in self.reports if report.verdict.faults]

    @property
    def line(self) -> str:
        """The figures in one line."""
        found = [report.verdict for report in self.reports]
        return (
            f"kills {self.kills.total()}, dispatches {sum(one.dispatches for one in found)}, "
            f"lost {sum(len(one.lost) for one in found)}, doubled {sum(len(one.doubled) for one in found)}, "
            f"otherwise wrong {sum(len(one.odd) for one in found)}, {self.seconds:.0f} s, seed {self.seed}"
        )

    def told(self) -> str:
        """All that is printed at the end."""
        edges = self.coverage.killed
        names = {name for _, name in edges}
        lines = [self.line]
        lines.append(f"  killed {_listed(self.kills)}; at {len(edges)} edges of {len(names)} kinds of commit")
        lines.append(
            f"  runs ended {_listed(self.ends)}; {sum(one.redelivered for one in self.reports)} deliveries again"
        )
        if missing := self.coverage.wanted():
            named = ", ".join(f"{when} {name}" for when, name in sorted(missing)[:MOST])
            more = f", and {len(missing) - MOST} more" if len(missing) > MOST else ""
            lines.append(f"  never killed: {named}{more}")
        for report in self.faulty:
            lines.append(f"  episode {report.seed} ({report.folder}):")
            faults = report.verdict.faults
            lines += [f"    {fault}" for fault in faults[:MOST]]
            lines += [f"    and {len(faults) - MOST} more"] if len(faults) > MOST else []
            lines.append(f"    killed {'; '.join(report.deaths)}")
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


async def storm(
    kills: int,
    seed: int,
    folder: Path,
    *,
    at_once: int = AT_ONCE,
    processes: int = 1,
    database: Callable[[str], str] = lambda _name: "",
    heard: Callable[[Report], None] = lambda _report: None,
    each: int = KILLS,
    more: int = 0,
    only: int | None = None,
    longest: float = LONGEST,
) -> Figures:
    """So many kills in worlds side by side, and up to so many `more` while there are commits that met none.

    `database` makes an empty one for a name and gives its URL; `only` plays the world of that number and no other.
    """
    figures = Figures(seed, Coverage(frozenset(edges())))
    began = time.monotonic()
    waiting = enumerate(_shares(kills, each, more, figures.coverage))

    async with lives() as started:

        async def worlds() -> None:
            for number, (share, odds) in waiting:
                if only is not None and number != only:
                    continue
                name = f"{seed}.{number}"
                url = await asyncio.to_thread(database, f"faults_{seed}_{number}")
                terms = Terms(share, processes, url, odds, longest)
                report = await play(name, terms, folder / name, started, figures.coverage)
                figures.add(report)
                figures.seconds = time.monotonic() - began
                heard(report)

        await asyncio.gather(*(worlds() for _ in range(at_once)))
    figures.seconds = time.monotonic() - began
    return figures


def _shares(kills: int, each: int, more: int, coverage: Coverage) -> Iterator[tuple[int, Odds]]:
    """How many kills the next world gets, and of what sort; those beyond the number are for commits alone."""
    for start in range(0, kills, each):
        yield min(each, kills - start), ODDS
    for _ in range(0, more, FEW):
        if not coverage.wanted():
            return
        yield FEW, (12, 0, 0, 2)


def main(given: Sequence[str] | None = None) -> int:
    """The command; 1 where anything was lost, doubled or otherwise wrong."""
    parser = argparse.ArgumentParser(prog="make faults", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None, help="what decides everything; else a random one")
    parser.add_argument("--world", type=int, default=None, help="play one again: 3 of `7.3`, with `--seed 7`")
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds that a bot lives at most")
    parser.add_argument("--each", type=int, default=KILLS, help="kills in one world")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="worlds side by side")
    parser.add_argument("--processes", type=int, default=1, help="bots of one world")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--folder", type=Path, default=None, help="where worlds lie; those with a fault stay there")
    args = parser.parse_args(given)
    seed = random.SystemRandom().randrange(10**6) if args.seed is None else args.seed
    folder = args.folder or Path(tempfile.mkdtemp(prefix="faults-"))
    # a bot that dies leaves requests half answered, of which the look-alike's server need not tell
    logging.getLogger("uvicorn.error").addFilter(lambda _record: False)
    figures = asyncio.run(_command(args, seed, folder))
    print(figures.told())
    if not figures.faulty and args.folder is None:
        folder.rmdir()
    return 1 if figures.faulty else 0


async def _command(args: argparse.Namespace, seed: int, folder: Path) -> Figures:
    done = 0

    def heard(report: Report) -> None:
        nonlocal done
        done += report.kills.total()
        state = "well" if not report.verdict.faults else f"{len(report.verdict.faults)} faults"
        print(f"{done:6} kills; episode {report.seed}: {state}, {report.seconds:.0f} s", flush=True)
        for fault in report.verdict.faults[:MOST]:
            print(f"       {fault}", flush=True)

    async with databases(args.database) as database:
        return await storm(
            args.kills,
            seed,
            folder,
            at_once=args.at_once,
            processes=args.processes,
            database=database,
            heard=heard,
            each=args.each,
            only=args.world,
            longest=args.longest,
        )


@asynccontextmanager
async def databases(kind: str) -> AsyncIterator[Callable[[str], str]]:
    """What makes an empty database for a name: none of its own for SQLite, which lies in the data folder."""
    if kind == "sqlite":
        yield lambda _name: ""
        return
    server = await asyncio.to_thread(Server)

    def make(name: str) -> str:
        server.create(name)
        return server.url(name)

    try:
        yield make
    finally:
        await asyncio.to_thread(server.stop)


if __name__ == "__main__":
    raise SystemExit(main())
