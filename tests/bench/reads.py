"""API calls and bytes of one dispatch as the thread grows, against reading all of its pages."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.bench.figures import Goal, Pace, Row, middle, shown
from tests.bench.github_process import GitHub
from tests.bench.long_thread import LENGTHS, opened

#: GitHub gives no more of them at once
_PAGE = 100
#: comments by which a thread is longer: where a page ends that holds the newest ones is another matter in each
_NEAR = (0, 11, 22, 33, 44)


async def measure(pace: Pace, folder: Path) -> Row:
    """One dispatch in each thread, and in some that are a little longer; counting needs no rounds."""
    calls, reads, size = dict[int, int](), dict[int, int](), dict[int, float]()
    all_calls, all_size = dict[int, int](), dict[int, int]()
    longest, shortest, full = LENGTHS[-1], LENGTHS[0], LENGTHS[2]
    for length in LENGTHS:
        sizes = list[int]()
        for near in _NEAR if length >= full else _NEAR[:1]:
            async with opened(folder / str(length + near), length + near) as thread:
                github = thread.github
                before, sent = len(github.world.requests), github.sent
                await thread.ask()
                seen = github.world.requests[before:]
                sizes.append(github.sent - sent)
                calls[length] = max(calls.get(length, 0), len(seen))
                about = sum(each.method == "GET" and "/issues/1" in each.path for each in seen)
                reads[length] = max(reads.get(length, 0), about)
                if not near:
                    all_calls[length], all_size[length] = await _all_pages(github)
        size[length] = middle(sizes)

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
            (
                f"From {full:,} comments on: the median bytes, and the most calls, of threads longer by"
                f" {', '.join(map(str, _NEAR))} comments. Where in its page the newest one stands makes a difference."
            ),
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
