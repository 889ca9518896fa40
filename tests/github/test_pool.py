"""Connections to GitHub: kept open, and given up where the other end has closed them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpcore
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.github.kit import Kit
from bot.github.pool import Backend, Pooled, Stream, pooled

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Server:
    """Answers every request; `hang_up` closes what is open."""

    url: str = ""
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    async def hang_up(self) -> None:
        for writer in tuple(self.open):
            # at once: an encrypted one would wait for the other end to agree
            writer.transport.abort()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def serving(encrypted: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    found = Server()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0, ssl=encrypted)
    place = "http://127.0.0.1" if encrypted is None else "https://localhost"
    found.url = f"{place}:{server.sockets[0].getsockname()[1]}/"
    try:
        yield found
    finally:
        await found.hang_up()
        server.close()
        await server.wait_closed()


async def test_a_connection_is_used_again() -> None:
    async with serving() as server, httpx.AsyncClient(transport=Pooled()) as client:
        for _ in range(3):
            assert (await client.get(server.url)).text == "ok"
        assert server.connections == 1


async def test_one_that_was_closed_meanwhile_is_given_up_before_a_request_goes_over_it() -> None:
    """A POST that met it could not be told from one that arrived."""
    async with serving() as server, httpx.AsyncClient(transport=Pooled()) as client:
        assert (await client.post(server.url)).text == "ok"
        await server.hang_up()
        assert (await client.post(server.url)).text == "ok"
        assert server.connections == 2


async def test_many_at_once_have_a_connection_each() -> None:
    async with serving() as server, httpx.AsyncClient(transport=Pooled()) as client:
        answers = await asyncio.gather(*(client.get(server.url) for _ in range(10)))
        assert [answer.text for answer in answers] == ["ok"] * 10
        assert server.connections == 10


async def test_the_socket_is_looked_at_without_asking_for_it_anew() -> None:
    asked: list[str] = []

    class Inner(httpcore.AsyncNetworkStream):
        def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
            self._stream = stream

        def get_extra_info(self, info: str) -> object:
            asked.append(info)
            return self._stream.get_extra_info(info)

        async def aclose(self) -> None:
            await self._stream.aclose()

    async with serving() as server:
        port = httpx.URL(server.url).port
        assert port is not None
        stream = Stream(Inner(await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", port)))
        assert [stream.get_extra_info("is_readable") for _ in range(3)] == [False] * 3
        assert asked == ["socket"]
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        await server.hang_up()
        while not stream.get_extra_info("is_readable"):
            await asyncio.sleep(0)
        await stream.aclose()
        assert stream.get_extra_info("is_readable")


async def test_one_that_is_encrypted_is_kept_and_given_up_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every one to GitHub is, by authorities of a file as a GitHub Enterprise Server may need them."""
    file = tmp_path / "localhost.pem"
    file.write_bytes(_certificate())
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with serving(ours) as server, httpx.AsyncClient(transport=Pooled()) as client:
        assert server.url.startswith("https://localhost:")
        for _ in range(3):
            assert (await client.post(server.url)).text == "ok"
        assert server.connections == 1
        await server.hang_up()
        assert (await client.post(server.url)).text == "ok"
        assert server.connections == 2


async def test_who_is_not_trusted_is_told_nothing(tmp_path: Path) -> None:
    file = tmp_path / "localhost.pem"
    file.write_bytes(_certificate())
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(file)
    async with serving(ours) as server, httpx.AsyncClient(transport=Pooled()) as client:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.get(server.url)


async def test_what_becomes_encrypted_stays_one_of_ours() -> None:
    class Inner(httpcore.AsyncNetworkStream):
        def get_extra_info(self, info: str) -> object:
            return None

        async def start_tls(self, *_: object, **__: object) -> httpcore.AsyncNetworkStream:
            return Inner()

    assert isinstance(await Stream(Inner()).start_tls(ssl.create_default_context()), Stream)


def _certificate() -> bytes:
    """A key and a certificate for `localhost` that it signs itself, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return plain + made.public_bytes(serialization.Encoding.PEM)


def test_a_proxy_of_the_environment_is_left_to_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert isinstance(pooled(), Pooled)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    assert pooled() is None


async def test_the_pool_connects_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[httpcore.AsyncNetworkStream] = []
    connect = Backend.connect_tcp

    async def noted(self: Backend, *where: object, **more: object) -> httpcore.AsyncNetworkStream:
        made.append(await connect(self, *where, **more))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(Backend, "connect_tcp", noted)
    async with serving() as server, httpx.AsyncClient(transport=Pooled()) as client:
        await client.get(server.url)
    assert [type(one) for one in made] == [Stream]


async def test_the_one_client_of_the_process_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    kit = Kit("http://127.0.0.1:1/", None, 1.0, "threadsmith")
    assert isinstance(kit.config.async_transport, Pooled)
    await kit.aclose()
