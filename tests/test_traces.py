"""What has ended is sent to a collector: one trace a dispatch, whoever did which part of it, and no text in it."""

from __future__ import annotations

import asyncio
import builtins
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bot.errors import OperatorError
from bot.traces import Exporter
from tests.stage import open_stage

CONFIGURATION = """
version: 1
workflows:
  greet:
    steps:
      - id: hello
        run: "echo a very private sentence"
"""


class Collector(HTTPServer):
    """Takes traces on loopback, once it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.spans: list[Any] = []
        self.raw = b""
        self.refusals = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        if self.server.refusals:
            self.server.refusals -= 1
            self.send_response(400)
        else:
            told = ExportTraceServiceRequest.FromString(body)
            self.server.raw += body
            for resource in told.resource_spans:
                for scope in resource.scope_spans:
                    self.server.spans += scope.spans
            self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
        """Nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector, closed at the end."""
    with Collector() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


async def until_told(collector: Collector, wanted: set[str]) -> dict[str, Any]:
    """The spans by name, once all that are wanted are there."""
    async with asyncio.timeout(30):
        while not wanted <= {span.name for span in collector.spans}:
            await asyncio.sleep(0.05)
    return {span.name: span for span in collector.spans}


async def test_a_dispatch_is_one_trace(tmp_path: Path, collector: Collector) -> None:
    """Delivery, dispatch, run, step and post, each below the one before; a collector that refuses is asked again."""
    collector.refusals = 1
    files = {".github/bot.yml": CONFIGURATION}
    async with open_stage(tmp_path, files, sandbox="off", otlp_endpoint=collector.url) as stage:
        await stage.says("ana", "@bot greet with another private sentence")
        wanted = {"delivery", "dispatch", "run", "step run", "post comment"}
        spans = await until_told(collector, wanted)
    assert len({span.trace_id for span in collector.spans}) == 1
    assert spans["delivery"].parent_span_id == b""
    for above, below in (("delivery", "dispatch"), ("dispatch", "run"), ("run", "step run"), ("run", "post comment")):
        assert spans[below].parent_span_id == spans[above].span_id, below
    for span in collector.spans:
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    assert len({span.span_id for span in collector.spans}) == len(collector.spans)
    for text in (b"private", b"acme", b"widgets", b"ana", b"greet", b"hello"):
        assert text not in collector.raw, text


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says what to do."""
    real = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(OperatorError, match="OpenTelemetry is not installed") as raised:
        Exporter("http://127.0.0.1:1")
    assert "threadsmith[otlp]" in raised.value.mend


async def test_a_bot_without_the_extra_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Traces are off, and the log says so once."""

    def absent(endpoint: str) -> Exporter:
        raise OperatorError("OpenTelemetry is not installed", "install it")

    monkeypatch.setattr("bot.made.Exporter", absent)
    async with open_stage(tmp_path, otlp_endpoint="http://127.0.0.1:1") as stage:
        assert "traces" not in stage.bot.loops
    told = capsys.readouterr()
    assert (told.out + told.err).count("traces_off") == 1


async def test_connections_are_closed_after_the_loop_that_uses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sends when it is told to stop can still go."""
    left: list[bool] = []

    class Watched(Exporter):
        def close(self) -> None:
            left.append("traces" in {task.get_name() for task in asyncio.all_tasks()})
            super().close()

    monkeypatch.setattr("bot.made.Exporter", Watched)
    async with open_stage(tmp_path, otlp_endpoint="http://127.0.0.1:1") as stage:
        assert "traces" in stage.bot.loops
    assert left == [False]


async def test_off_there_is_nothing_of_it(tmp_path: Path) -> None:
    """No loop, no duty."""
    async with open_stage(tmp_path) as stage:
        assert "traces" not in stage.bot.loops
        assert stage.settings.otlp_endpoint == ""
