"""The switch that forbids real requests under test: nothing connects anywhere but to this machine.

`tests/conftest.py` throws it once for the whole session, so that no test can ask a real model, or a real GitHub, by
mistake; fakes on loopback stay within reach. It cannot be thrown back.
"""

from __future__ import annotations

import ipaddress
import sys


class RealRequest(RuntimeError):
    """A test was about to leave this machine. No OSError: product code must not take it for an outage."""


def forbid() -> None:
    """Refuse, from now on and in this process, every connection that is not to loopback."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    # raised by CPython for each connect and sendto, asyncio's included; uvloop, which no test loop is, has its own
    if event not in {"socket.connect", "socket.sendto"}:
        return
    address = arguments[1]
    if isinstance(address, tuple) and not _is_loopback(str(address[0])):
        raise RealRequest(f"a test tried to reach {address[0]}:{address[1]}")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
