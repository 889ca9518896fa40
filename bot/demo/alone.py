"""The look-alike without a bot: bots are processes of their own, which whoever tries them starts by hand."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from bot.demo.deliveries import Deliverer
from bot.demo.stage import ShiftedClock, answering, furnish
from bot.demo.world import World
from bot.errors import OperatorError
from bot.settings import Settings
from bot.workspace import open_sandbox

_OURS = Settings.model_fields
#: where `serve` listens unless it is told otherwise
FRONT_DOOR = f"http://{_OURS['host'].default}:{_OURS['port'].default}/webhook"


@asynccontextmanager
async def open_alone(port: int, file: Path, *, deliver_to: str = FRONT_DOOR) -> AsyncIterator[str]:
    """The issue as it stood before the demo, and its page's address; what happens there is delivered to `deliver_to`.

    `file` has the settings that a bot needs for it, as an `.env`, as long as this. Raises OperatorError where the port
    is taken, or the file is there already.
    """
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadsmith-demo-")))
        clock = ShiftedClock()
        world = World(directory / "github", clock=clock)
        await stack.enter_async_context(answering(world, port))
        issue, app = await furnish(world, clock)
        isolation = await open_sandbox("required")
        settings = {
            "BOT_GITHUB_URL": world.api_url,
            "BOT_GITHUB_APP_ID": str(app.id),
            "BOT_GITHUB_PRIVATE_KEY": app.private_key.replace("\n", "\\n"),
            "BOT_GITHUB_WEBHOOK_SECRET": app.webhook_secret,
            "BOT_ALLOWED_OWNERS": "acme",
            "BOT_DEFAULT_MODEL": "demo:helper",
            # as in the demo: what runs is the configuration bundled here
            "BOT_SANDBOX": "required" if isolation.isolated else "off",
        }
        stack.enter_context(_written(file, "".join(f"{name}={value}\n" for name, value in settings.items())))
        await stack.enter_async_context(Deliverer(world, deliver_to, app=app))
        yield f"{world.site_url}/{issue.repository.full_name}/issues/{issue.number}"


@contextmanager
def _written(file: Path, text: str) -> Iterator[None]:
    """A file of the user's alone, that was not there before and is not there afterwards."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as writing:
            writing.write(text)
    except OSError as error:
        raise OperatorError(
            f"{file} cannot be made: {error.strerror}", "name a new file, in a folder of yours"
        ) from error
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
