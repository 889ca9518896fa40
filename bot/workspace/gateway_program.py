"""Inside a sandbox: passes connections from its loopback to a Unix socket, and becomes the command.

`python -I -S -c PROGRAM SOCKET ARGV…`. A program of its own: imports nothing of ours. The relay goes aside, and dies
with the namespace.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main() -> None:
    out, argv = sys.argv[1], sys.argv[2:]
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    child = os.fork()
    if child == 0:
        if os.fork():
            os._exit(0)  # so that the relay is no child of the command, which may wait for all that it has
        os.setsid()
        # the command's pipes are not the relay's to hold open
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        relay(listening, out)
        os._exit(0)
    os.waitpid(child, 0)
    listening.close()
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        os.environ[name] = os.environ[name.lower()] = address
    # since Node.js 24 its own `fetch` looks at them too, if told to
    os.environ["NODE_USE_ENV_PROXY"] = "1"
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - argv, no shell
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {os.strerror(error.errno or 0)}\n")
        os._exit(127)


def relay(listening: socket.socket, out: str) -> None:
    while True:
        inner, _ = listening.accept()
        threading.Thread(target=join, args=(inner, out), daemon=True).start()


def join(inner: socket.socket, out: str) -> None:
    outer = socket.socket(socket.AF_UNIX)
    try:
        outer.connect(out)
    except OSError:
        inner.close()
        return
    back = threading.Thread(target=carry, args=(outer, inner), daemon=True)
    back.start()
    carry(inner, outer)
    back.join()
    inner.close()
    outer.close()


def carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # whichever side broke, the other must not wait
        for each in (source, target):
            try:  # noqa: SIM105 - contextlib would cost start-up time
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    main()
