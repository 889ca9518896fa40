"""Which hosts a list of patterns opens."""

from __future__ import annotations

import pytest

from bot.workspace.reach import Reach


@pytest.mark.parametrize(
    ("patterns", "host", "port", "reached"),
    [
        ([], "example.org", 443, False),
        (["none"], "none", 443, False),
        (["*"], "anything.example", 1, True),
        (["*"], "localhost", 80, False),
        (["*"], "127.0.0.1", 80, False),
        (["*"], "169.254.169.254", 80, False),
        (["*"], "10.1.2.3", 80, False),
        (["*"], "::1", 80, False),
        (["*"], "2130706433", 80, False),
        (["*"], "8.8.8.8", 443, True),
        (["*.internal"], "metadata.internal", 80, False),
        (["metadata.internal"], "metadata.internal", 80, True),
        (["*:443"], "anything.example", 80, False),
        (["api.example.org"], "api.example.org", 8443, True),
        (["API.example.org"], "api.EXAMPLE.org.", 443, True),
        (["api.example.org"], "x.api.example.org", 443, False),
        (["api.example.org"], "api.example.org.evil.example", 443, False),
        (["*.example.org"], "a.b.example.org", 443, True),
        (["*.example.org"], "example.org", 443, False),
        (["*.example.org"], "evilexample.org", 443, False),
        (["api.example.org:8443"], "api.example.org", 8443, True),
        (["api.example.org:8443"], "api.example.org", 443, False),
        (["127.0.0.1:80"], "127.0.0.1", 80, True),
        (["[::1]:80"], "::1", 80, True),
        (["a.example", "b.example"], "b.example", 443, True),
    ],
)
def test_patterns(patterns: list[str], host: str, port: int, reached: bool) -> None:
    """By whole names; a star stands for what is below; without a port every port."""
    assert Reach.of(patterns).to(host, port) is reached
