"""Optional traces: what has ended is sent to a collector over OTLP/HTTP, from rows, by one process at a time.

Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bot import __version__, log
from bot.errors import OperatorError, Transient
from bot.model.clock import Clock
from bot.model.span import Span
from bot.store import Store, traced

_log = log.get("traces")

#: seconds between two looks
EVERY = 2.0
#: spans sent at once
MOST = 512
#: seconds for which a collector may keep us waiting
LIMIT = 3.0
#: a collector that was away for longer gets nothing of the time before
_OLDEST = timedelta(hours=1)


class Exporter:
    """Sends spans. Raises `OperatorError` where the extra is not installed."""

    def __init__(self, endpoint: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise OperatorError(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, and OpenTelemetry is not installed",
                "install `threadsmith[otlp]`, or unset it",
            ) from None
        self._exporter: Any = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=LIMIT)
        self._resource = Resource({"service.name": "threadsmith", "service.version": __version__})

    def send(self, spans: Sequence[Span]) -> bool:
        """Whether the collector took them. Blocks."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        made = [self._made(span) for span in spans]
        return bool(self._exporter.export(made) is SpanExportResult.SUCCESS)

    def close(self) -> None:
        """Close the connections."""
        self._exporter.shutdown()

    def _made(self, span: Span) -> Any:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

        def context(key: str) -> SpanContext:
            return SpanContext(span.trace_id, Span.id_of(key), is_remote=False, trace_flags=TraceFlags(1))

        return ReadableSpan(
            span.name,
            context=context(span.key),
            parent=context(span.parent) if span.parent is not None else None,
            resource=self._resource,
            attributes=dict(span.attributes),
            status=Status(StatusCode.ERROR if span.failed else StatusCode.OK),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(max(span.start, span.end)),
            instrumentation_scope=InstrumentationScope("threadsmith", __version__),
        )


class Traces:
    """Reads what has ended and sends it, under a duty: `store` refuses to note how far it came once it is another's."""

    def __init__(self, store: Store, exporter: Exporter, clock: Clock) -> None:
        self._store, self._exporter, self._clock = store, exporter, clock

    async def run(self) -> None:
        """Until cancelled. What the collector does not take is sent again, and left out after an hour."""
        now = self._clock.now()
        start = await self._store.read(traced.reached) or now
        ends = traced.Ends(max(start, now - _OLDEST))
        waiting: list[Span] = []
        while True:
            with suppress(Transient):  # the store says so
                waiting += await self._store.read(ends.next)
                waiting = await self._sent(waiting)
            await self._clock.sleep(EVERY)

    async def _sent(self, spans: list[Span]) -> list[Span]:
        """Send them, and note how far it came; what was not taken."""
        spans.sort(key=lambda span: span.end)
        while spans:
            if not await asyncio.to_thread(self._exporter.send, spans[:MOST]):
                _log.warning("traces_not_taken", spans=len(spans))
                oldest = self._clock.now() - _OLDEST
                return [span for span in spans if span.end >= oldest]
            at, spans = spans[:MOST][-1].end, spans[MOST:]
            await self._store.write(partial(traced.reach, at=at))
        return spans


def _nanoseconds(at: datetime) -> int:
    return int(at.astimezone(UTC).timestamp() * 1_000_000) * 1_000
