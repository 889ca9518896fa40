"""`pin`, `unpin` and `pins`: which comment is meant, and the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from bot.context import linked_comment
from bot.context.pages import Pages
from bot.context.reviews import read_tail
from bot.context.snapshot import Ref, order, ref
from bot.dispatch.acceptance import Acceptance, Act, Asked
from bot.dispatch.commands import Command
from bot.dispatch.pins import listing, own_pins, pin, say_index
from bot.dispatch.replies import Prepare, Replies
from bot.errors import NotFound, UserError
from bot.github import RepositoryClient
from bot.model.thread import Comment
from bot.publish import Speaker
from bot.store import Session, spoken, threads
from bot.store.tables import Thread

PER_PAGE = 100
#: purposes of those comments of ours that are pinned as a person's are
_RESULTS = frozenset({"result", "output", "action"})


async def chosen(
    command: Command, acceptance: Acceptance, client: RepositoryClient, machinery: Collection[Ref] = ()
) -> Comment:
    """The comment to be pinned: the one linked, with text the asking one, else the one before it.

    `machinery` are comments of ours that say nothing by themselves; the one before is none of those.
    """
    link = command.params.get("link")
    asking = acceptance.event.comment
    if link:
        return await _linked(link, acceptance, client)
    if command.text.strip():
        if asking is None or not asking.id:
            raise UserError("pin_refused", "the issue's own text is always shown to agents", "pin a comment instead")
        return asking
    return await _before(acceptance, client, machinery)


async def _machinery(replies: Replies, acceptance: Acceptance) -> frozenset[Ref]:
    """What the bot says in a thread beside results: the index, answers of built-ins, status, questions, failures."""
    event = acceptance.event

    def work(session: Session) -> frozenset[Ref]:
        thread = threads.find(session, event.repository.id, event.issue.number)
        said = spoken.by_posted(session, thread.id) if thread is not None else {}
        return frozenset(which for which, purpose in said.items() if purpose not in _RESULTS)

    return await replies.store.read(work)


async def _linked(link: str, acceptance: Acceptance, client: RepositoryClient) -> Comment:
    event = acceptance.event
    which = comment_of(link, event.repository.full_name, event.issue.number)
    try:
        comment = await read_comment(client, event.issue.number, which)
    except NotFound:
        raise UserError("pin_refused", "there is no such comment any more", "") from None
    # the address in the link is what somebody typed; the comment's own says where it really stands
    if comment.url and comment_of(comment.url, event.repository.full_name, event.issue.number) != which:
        raise UserError("pin_refused", "that comment stands in another thread", "pin it there")
    if not comment.body.strip():
        raise UserError("pin_refused", "that review has no text of its own", "pin one of its comments")
    return comment


async def read_comment(client: RepositoryClient, number: int, which: Ref) -> Comment:
    """A comment, a review or a review comment as it is now. Raises what the client raises."""
    kind, comment_id = which
    match kind:
        case "comment":
            return await client.comment(comment_id)
        case "review_comment":
            return await client.review_comment(comment_id)
        case "review":
            return await client.review(number, comment_id)


def comment_of(link: str, full_name: str, number: int) -> Ref:
    """What a link to a comment, review or review comment of this thread names. Raises `UserError` for any other."""
    parts = urlsplit(link)
    found = linked_comment(f"#{parts.fragment}")
    if found is None:
        raise UserError("pin_refused", "that is no link to a comment", "use the comment's own *Copy link*")
    path = parts.path.casefold().rstrip("/")
    if path not in {f"/{full_name}/{kind}/{number}".casefold() for kind in ("issues", "pull")}:
        raise UserError("pin_refused", "that comment stands in another thread", "pin it there")
    return found


async def _before(acceptance: Acceptance, client: RepositoryClient, machinery: Collection[Ref]) -> Comment:
    """The comment of a person, or the result, before the one that asks: in its own review thread, else anywhere."""
    event = acceptance.event
    asking, count = event.comment, event.issue.comment_count
    if asking is not None and asking.place is not None:
        found = await _before_in_thread(client, event.issue.number, asking, asking.place.root_id, machinery)
        if found is not None:
            return found
        asking = None
    elif asking is not None and asking.kind == "review":
        # a review's payload does not count the conversation
        count = (await client.issue(event.issue.number)).comment_count
    page = max(1, -(-count // PER_PAGE))
    while asking is not None and page >= 1:
        read = await client.comments(event.issue.number, page=page, per_page=PER_PAGE)
        shown = [one for one in read.items if not one.minimized and ref(one) not in machinery]
        earlier = [one for one in shown if _precedes(one, asking)]
        if earlier:
            return max(earlier, key=order)
        page = page - 1 if page <= read.last else read.last
    raise UserError("pin_refused", "there is no comment before yours", "link the one you mean, or write `pin <text>`")


async def _before_in_thread(
    client: RepositoryClient, number: int, asking: Comment, root_id: int, machinery: Collection[Ref]
) -> Comment | None:
    pages = Pages()
    await read_tail(pages, lambda page: client.review_comments_page(number, page), lambda: False)
    known = [one for one in pages.comments.values() if one.place is not None and one.place.root_id == root_id]
    earlier = [one for one in known if _precedes(one, asking) and ref(one) not in machinery]
    if not earlier and root_id != asking.id:
        with suppress(NotFound):
            return await client.review_comment(root_id)
    return max(earlier, key=order, default=None)


def _precedes(comment: Comment, asking: Comment) -> bool:
    same = comment.kind == asking.kind
    return comment.created_at < asking.created_at or (
        comment.created_at == asking.created_at and (not same or comment.id < asking.id)
    )


def unpin(session: Session, thread: Thread, command: Command, handle: str, speaker: Speaker) -> None:
    """Take one of the bot's pins away, by its number in the index or by link."""
    own = own_pins(session, thread)
    if "number" in command.params:
        number = int(command.params["number"])
        if not 1 <= number <= len(own):
            raise UserError("unpin_refused", f"there is no pin {number} here", "`pins` lists them")
        kind, comment_id = ref(own[number - 1].comment)
    else:
        full_name = f"{thread.owner}/{thread.name}"
        kind, comment_id = comment_of(command.params["link"], full_name, thread.number)
    if not threads.unpin(session, thread.id, comment_id, kind=kind):
        native = any(row.native and row.comment_id == comment_id for row in threads.pins(session, thread.id))
        if native:
            raise UserError("unpin_refused", "that comment is pinned by GitHub's own *Pin comment*", "unpin it there")
        raise UserError("unpin_refused", "that comment is not pinned here", "`pins` lists those that are")
    say_index(session, thread, speaker, handle)


async def _pin(replies: Replies, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    comment = await chosen(asked.command, acceptance, client, await _machinery(replies, acceptance))

    def act(session: Session, thread: Thread) -> None:
        sender, role, handle = acceptance.event.sender, str(asked.role or ""), acceptance.handle
        if pin(session, thread, comment, sender, role, replies.speaker, handle, acceptance.now):
            replies.done(session, thread, asked, acceptance)
        else:
            replies.not_done(session, thread, asked, acceptance, f"[That comment]({comment.url}) is pinned already.")

    return act


async def _unpin(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        try:
            unpin(session, thread, asked.command, acceptance.handle, replies.speaker)
        except UserError as error:
            replies.refusal(asked, acceptance, error)(session, thread)
        else:
            replies.done(session, thread, asked, acceptance)

    return act


async def _pins(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        replies.done(session, thread, asked, acceptance)
        replies.say(session, thread, asked, acceptance, listing(session, thread, acceptance.handle))

    return act


PREPARES: Mapping[str, Prepare] = {"pin": _pin, "unpin": _unpin, "pins": _pins}
