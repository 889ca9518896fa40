"""`threadsmith serve` on a machine whose power goes: see `test_power`.

`POWER_EVENTS` is where the record of all that was done to the disk is left; the power goes at the `POWER_AFTER`th
change behind a SIGUSR1.
"""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

from tests.faults import serve
from tests.faults.power import Did
from tests.faults.recorder import Recorder, sqlite_library


class Watched(list[Did]):
    """Events, the last of which is the last."""

    def __init__(self, out: Path) -> None:
        super().__init__()
        self.out, self.left = out, -1

    def append(self, did: Did) -> None:
        super().append(did)
        self.left -= 1
        if self.left == 0:
            self.gone()

    def gone(self) -> None:
        self.out.write_bytes(pickle.dumps(list(self)))
        os._exit(9)


def main() -> None:
    """As the real command, on the default VFS with a record."""
    library = sqlite_library()
    assert library is not None
    recorder = Recorder(library)
    with recorder.installed(Path(os.environ["BOT_DATA_DIR"])):
        events = Watched(Path(os.environ["POWER_EVENTS"]))
        recorder.events = events
        after = int(os.environ["POWER_AFTER"])

        def count(*_: object) -> None:
            events.left = after

        signal.signal(signal.SIGUSR1, count)
        serve.main()


if __name__ == "__main__":
    main()
