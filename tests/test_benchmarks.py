"""The machinery of the benchmarks: what is told of figures, and that the page says what was measured."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest

from bot.webhook.signature import verify
from tests.bench import machine
from tests.bench.__main__ import DOCS
from tests.bench.figures import Goal, Row, percentile, shown
from tests.bench.load import MARK, SECRET, fire, requests
from tests.bench.report import rendered


def test_the_page_says_what_was_measured() -> None:
    """Both files are of one run; whoever edits one by hand is found out."""
    results = json.loads((DOCS / "benchmarks.json").read_text(encoding="utf-8"))
    assert rendered(results) == (DOCS / "benchmarks.md").read_text(encoding="utf-8")


def test_nothing_tells_whose_machine_it_was() -> None:
    """Neither its name nor a path."""
    text = (DOCS / "benchmarks.json").read_text(encoding="utf-8")
    assert socket.gethostname() not in text
    assert not re.search(r'[" (]/(?!readyz)\w+/?', text)


@pytest.mark.parametrize(
    ("value", "sense", "holds"),
    [(2, "at least", True), (1.99, "at least", False), (2, "at most", True), (2.01, "at most", False)],
)
def test_a_goal_holds_on_its_own_side(value: float, sense: str, holds: bool) -> None:
    """The limit itself counts as held."""
    assert Goal("x", value, sense, 2).holds is holds  # type: ignore[arg-type]  # parametrised


def test_a_goal_that_does_not_hold_stands_out() -> None:
    """On the page, with its limit."""
    row = Row("x", "X", "y", (Goal("speed", 1.234, "at least", 2, "×"),), ("a",), ((12345.0,),), ("A note.",))
    facts = {"cpu": "c", "cores": 1, "ram_gib": 1, "kernel": "k", "python": "3", "sqlite": "3", "fsync_ms": 0.5}
    page = rendered(
        {"quick": False, "taken": "2026-11-30", "machine": facts, "rows": [json.loads(json.dumps(row.to_json()))]}
    )
    assert "| speed | 1.23 × | at least 2 × | **does not hold** |" in page
    assert "| 12,345 |" in page
    assert "- A note." in page


def test_percentile_is_the_nearest_rank() -> None:
    """Of a hundred values the 99th; of one that one."""
    assert percentile(list(range(100, 0, -1)), 0.99) == 99
    assert percentile([7], 0.99) == 7


@pytest.mark.parametrize(
    ("value", "told"), [(0.01234, 0.012), (1.239, 1.24), (12.34, 12.3), (123.4, 123), (5123.4, 5123)]
)
def test_figures_have_three_digits(value: float, told: float) -> None:
    """More would be noise."""
    assert shown(value) == told


def test_requests_are_signed_and_all_different() -> None:
    """A receiver that looks takes each of them, and none for another."""
    template = json.dumps({"comment": {"id": MARK}}).encode()
    bodies = [request.partition(b"\r\n\r\n")[2] for request in requests(template, 100_000_000, 3)]
    assert [json.loads(body)["comment"]["id"] for body in bodies] == [100_000_000, 100_000_001, 100_000_002]
    signature = re.search(rb"X-Hub-Signature-256: (\S+)", requests(template, 100_000_000, 1)[0])
    assert signature is not None
    assert verify([SECRET.encode()], bodies[0], signature[1])


def test_a_refusal_ends_the_measurement() -> None:
    """A receiver that answers fast because it refuses is no fast receiver."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

        refusing = threading.Thread(target=refuse)
        refusing.start()
        with pytest.raises(RuntimeError, match="401"):
            fire(server.getsockname()[1], 1, requests(b"{}", 1, 1))
        refusing.join()


def test_the_machine_is_described(tmp_path: Path) -> None:
    """Everything that a figure depends on, measured where it says."""
    told = machine.described(tmp_path)
    assert told["cores"] >= 1
    assert told["fsync_ms"] > 0
    assert list(tmp_path.iterdir()) == []
