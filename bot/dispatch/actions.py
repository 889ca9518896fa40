"""What each built-in command does, gathered from the modules of their families."""

from __future__ import annotations

from collections.abc import Mapping

from bot.dispatch import answering, halts, pinning, reports, retries, steering, trying
from bot.dispatch.acceptance import Acceptance, Act, Asked
from bot.dispatch.replies import Prepare, Replies
from bot.errors import UserError
from bot.github import RepositoryClient

#: every entry of the table of built-ins has its deed here; a test holds both equal
PREPARES: Mapping[str, Prepare] = {
    **reports.PREPARES,
    **halts.PREPARES,
    **retries.PREPARES,
    **steering.PREPARES,
    **trying.PREPARES,
    **pinning.PREPARES,
    **answering.PREPARES,
}


class Actions(Replies):
    """The built-ins' deeds."""

    async def prepare(self, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act | None:
        """The act of a request, None where it is for a workflow. A `UserError` becomes an answer in the thread."""
        command = asked.command
        if asked.for_workflow:
            return None
        if command.kind != "builtin":
            text = reports.did_you_mean(command, acceptance)
            return self.answer(asked, acceptance, text)
        try:
            return await PREPARES[command.name](self, asked, acceptance, client)
        except UserError as error:
            return self.refusal(asked, acceptance, error)
