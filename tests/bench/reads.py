"""API calls and bytes of one dispatch as the thread grows, against reading all of its pages."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.bench.figures import Goal, Pace, Row, shown
from tests.bench.github_process import GitHub
from tests.bench.long_thread import LENGTHS, opened

#: GitHub gives no more of them at once
_PAGE = 100


async def measure(pace: Pace, folder: Path) -> Row:
    """One dispatch in each thread; counting needs no rounds."""
    calls, reads, size = dict[int, int](), dict[int, int](), dict[int, int]()
    all_calls, all_size = dict[int, int](), dict[int, int]()
    for length in LENGTHS:
        async with opened(folder / str(length), length) as thread:
            github = thread.github
            before, sent = len(github.world.requests), github.sent
            await thread.ask()
            seen = github.world.requests[before:]
            calls[length], size[length] = len(seen), github.sent - sent
            reads[length] = sum(each.method == "GET" and "/issues/1" in each.path for each in seen)
            all_calls[length], all_size[length] = await _all_pages(github)
    longest, shortest, full = LENGTHS[-1], LENGTHS[0], LENGTHS[2]

    def growth(counts: dict[int, int]) -> float:
        return counts[longest] / counts[shortest]

    return Row(
        "reads",
        "API calls and bytes a dispatch",
        "reading the issue and all pages of its comments",
        (
            Goal("reads of the thread a dispatch, at most", max(reads.values()), "at most", 3),
            Goal(f"API calls at {longest:,} comments, against {shortest}", growth(calls), "at most", 1, "×"),
            Goal(f"bytes at {longest:,} comments, against {full:,}", size[longest] / size[full], "at most", 1.1, "×"),
        ),
        ("comments", "API calls", "of them reads of the thread", "KB", "calls for all pages", "KB of all pages"),
        tuple(
            (
                f"{length:,}", calls[length], reads[length], shown(size[length] / 1e3), all_calls[length],
                shown(all_size[length] / 1e3),
            )
            for length in LENGTHS
        ),
        (
            "A dispatch with one agent step that sees the thread, from delivery to answer: writes are counted too.",
            f"The bytes are compared with {full:,} comments: of a shorter thread there is less than a page to read.",
        ),
    )  # fmt: skip


async def _all_pages(github: GitHub) -> tuple[int, int]:
    """Calls and bytes of reading everything."""
    sent, calls, path = github.sent, 1, "/repos/owner-0/widgets/issues/1"
    headers = {"authorization": f"Bearer {github.world.user_token('ana')}"}
    transport = httpx.ASGITransport(github.served_app)
    async with httpx.AsyncClient(transport=transport, base_url=github.world.api_url, headers=headers) as client:
        await client.get(path)
        while True:
            page = await client.get(f"{path}/comments", params={"per_page": _PAGE, "page": calls})
            calls += 1
            if len(page.raise_for_status().json()) < _PAGE:
                return calls, github.sent - sent
