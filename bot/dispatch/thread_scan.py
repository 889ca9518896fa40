"""What the log no longer tells is read in the threads: comments and threads of late that speak to the bot.

A delivery is made of each that we have never heard, in the shape of the webhook that would have told of it. It is heard
as any other; a webhook that comes after all is the same request (`bot.webhook.identity`, `bot.dispatch.scanned`).

What REST does not tell is who edited a text. Only the sender of a request decides about it, so that a text counts as
its author's where GitHub's record of edits names nobody else, and an edit as that of the one person who made it. What
several people wrote starts nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot import log
from bot.dispatch import mentions
from bot.dispatch.log_reading import Admit
from bot.dispatch.parts import Parts
from bot.dispatch.scanned import heard_text
from bot.dispatch.schedules import Place
from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient, parse
from bot.model.codec import repository_to_json
from bot.model.ident import digest
from bot.model.thread import Account
from bot.store import Session, deliveries, threads

_log = log.get("missed")

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Heard:
    """The newest version that we know of a text that we were told of, and when that was from."""

    text: str
    at: datetime | None


class ThreadScan:
    """One scan, of what was said from `since` to `until` (None: to this moment); goes on where it ended early."""

    def __init__(self, parts: Parts, app_id: int, admit: Admit, *, since: datetime, until: datetime | None) -> None:
        self._p, self._app_id, self._admit = parts, app_id, admit
        self._since, self._until = since, until
        self._places: list[Place] | None = None
        self.taken = 0

    async def go(self, repositories: int) -> bool:
        """Read so many repositories at most; whether that was all. Raises `Transient` where GitHub does not answer.

        One that GitHub refuses is left out.
        """
        if self._places is None:
            self._places = await self._served()
        for place in self._places[:repositories]:
            try:
                await self._repository(place)
            except (NotFound, Forbidden) as error:
                _log.warning("repository_not_scanned", repository=place.repository.full_name, reason=str(error))
            self._places.remove(place)
        if self._places:
            return False
        _log.info("threads_scanned", since=self._since.isoformat(), taken=self.taken)
        return True

    async def _served(self) -> list[Place]:
        identity = await self._p.identities.get()
        found = []
        for one in await self._p.github.installations():
            if one.suspended or not identity.serves(one.account):
                continue
            try:
                repositories = await self._p.github.repositories(one.id)
            except (NotFound, Forbidden) as error:
                _log.warning("installation_not_read", installation=one.id, reason=str(error))
                continue
            found += [Place(repository, one.id) for repository in repositories if not repository.archived]
        return found

    async def _repository(self, place: Place) -> None:
        client = self._p.github.repository(place.installation_id, place.repository)
        threads_told = [one for one in await client.threads_told(self._since) if self._may_speak(one)]
        comments = [one for one in await client.comments_told(self._since) if self._may_speak(one)]
        if not threads_told and not comments:
            return
        handles = await self._handles(client)
        known = {int(one["number"]): one for one in threads_told}
        for one in threads_told:
            if await _speaks(one, handles):
                await self._thread(place, client, one)
        for one in comments:
            if not await _speaks(one, handles):
                continue
            number = int(str(one["issue_url"]).rpartition("/")[2])
            if number not in known:
                known[number] = await client.thread_told(number)
            await self._comment(place, client, known[number], one)

    def _may_speak(self, told: Told) -> bool:
        """Whether it may hold a request: never what a program wrote, or what came after the scan's time."""
        comment = parse.comment({**told, "body": None})
        late = self._until is not None and comment.updated_at > self._until
        by_program = comment.author.is_bot or self._p.identities.mine(comment)
        return not late and not by_program and "@" in (told.get("body") or "")

    async def _handles(self, client: RepositoryClient) -> Collection[str]:
        configured, identity = await self._p.configured(client), await self._p.identities.get()
        usable = configured.configuration
        return (usable.bot.mention if usable else ()) or (identity.handle,)

    async def _thread(self, place: Place, client: RepositoryClient, told: Told) -> None:
        """The thread's own text; one that was opened before `since` counts only if it was edited."""
        number, is_pull = int(told["number"]), bool(told.get("pull_request"))
        heard = await self._heard(place, number, None)
        if heard is None and parse.timestamp(told.get("created_at")) < self._since:
            return
        # its time of change is that of anything in it
        sender = await self._sender(client, told, heard, edited=True, on_pull=is_pull)
        if sender is not None:
            subject = {"pull_request": await client.pull_told(number)} if is_pull else {"issue": told}
            event = "pull_request" if is_pull else "issues"
            await self._make(place, event, "opened", heard, told, {**subject, "sender": sender})

    async def _comment(self, place: Place, client: RepositoryClient, thread: Told, told: Told) -> None:
        heard = await self._heard(place, int(thread["number"]), int(told["id"]))
        edited = told.get("updated_at") != told.get("created_at")
        sender = await self._sender(client, told, heard, edited=edited, on_pull=bool(thread.get("pull_request")))
        if sender is not None:
            subject = {"issue": thread, "comment": told, "sender": sender}
            await self._make(place, "issue_comment", "created", heard, told, subject)

    async def _heard(self, place: Place, number: int, comment_id: int | None) -> _Heard | None:
        repository_id = place.repository.id

        def work(session: Session) -> _Heard | None:
            text = heard_text(session, repository_id, number, comment_id)
            if text is None:
                return None
            thread = threads.find(session, repository_id, number)
            found = threads.newest(session, thread.id, comment_id or 0) if thread is not None else None
            return _Heard(text, found.updated_at if found is not None else None)

        return await self._p.store.read(work)

    async def _sender(
        self, client: RepositoryClient, told: Told, heard: _Heard | None, *, edited: bool, on_pull: bool
    ) -> Told | None:
        """Who asks; None where nobody does: it is known already, or nobody can tell whose words they are."""
        if heard is not None and heard.text == (told.get("body") or ""):
            return None
        author: Account = parse.account(told.get("user"))
        asks = {author.id: author} if heard is None else {}
        if edited or heard is not None:
            edits = await client.editors(str(told.get("node_id") or ""), pull_request=on_pull)
            since = heard.at if heard is not None else None
            if edits is None:
                asks = {}
            else:
                asks |= {who.id: who for at, who in edits if since is None or at > since}
        if len(asks) != 1:
            _log.warning("scanned_text_of_nobody", url=str(told.get("html_url")))
            return None
        (who,) = asks.values()
        return None if who.is_bot or who.is_deleted else {"id": who.id, "login": who.login, "type": who.type}

    async def _make(
        self, place: Place, event: str, begun: str, heard: _Heard | None, told: Told, subject: Mapping[str, Told]
    ) -> None:
        payload: dict[str, Any] = {
            "action": begun if heard is None else "edited",
            **subject,
            "repository": repository_to_json(place.repository),
            "installation": {"id": place.installation_id},
        }
        if heard is not None:
            payload["changes"] = {"body": {"from": heard.text}}
        name = digest("scan", place.repository.id, event, payload["action"], told["id"], told["updated_at"])
        new = self._admit(
            payload,
            json.dumps(payload, separators=(",", ":")).encode(),
            guid=f"scan-{name[:32]}",
            event=event,
            headers={},
            app_id=self._app_id,
            origin="scan",
        )
        if new is None:
            return
        now = self._p.clock.now()
        if await self._p.store.write(lambda session: deliveries.take(session, new, now)) == "accepted":
            self.taken += 1
            _log.info("missed_text_taken", guid=new.guid, what=event, url=str(told.get("html_url")))


async def _speaks(told: Told, handles: Collection[str]) -> bool:
    # nobody is authorised yet, and Markdown can be made slow to read
    return bool(await asyncio.to_thread(mentions.find, str(told.get("body")), handles))
