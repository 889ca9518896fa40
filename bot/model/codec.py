"""Comments, and the places of review comments, as JSON in rows, and back; repositories as payloads have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from bot.model.thread import Comment, Repository, ReviewPlace


def comment_to_json(comment: Comment) -> dict[str, Any]:
    """Plain JSON values; `comment_from_json` gives an equal comment back."""
    dumped: dict[str, Any] = _adapter().dump_python(comment, mode="json")
    return dumped


def comment_from_json(value: dict[str, Any]) -> Comment:
    """Raises pydantic's ValidationError on anything that `comment_to_json` did not write."""
    return _adapter().validate_python(value)


def repository_to_json(repository: Repository) -> dict[str, Any]:
    """A repository as GitHub's payloads have it."""
    owner = repository.owner
    return {
        "id": repository.id,
        "name": repository.name,
        "owner": {"id": owner.id, "login": owner.login, "type": owner.type},
        "default_branch": repository.default_branch,
        "private": repository.private,
    }


#: where a dispatch keeps, beside the values of the namespace `trigger`, the places that a review is about
_PLACES = "review_threads"


def places_to_json(comments: Sequence[Comment]) -> dict[str, Any]:
    """What a dispatch keeps of the review comments that led to it: the place and the address of each."""
    return {_PLACES: [{"url": one.url, **asdict(one.place)} for one in comments if one.place is not None]}


def review_places(trigger: Mapping[str, Any]) -> list[ReviewPlace]:
    """The places that `places_to_json` has kept; empty where a dispatch came from no review."""
    return [
        ReviewPlace(**{key: value for key, value in kept.items() if key != "url"}) for kept in trigger.get(_PLACES, ())
    ]


def review_links(trigger: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same as names and addresses: `src/a.py:12` and where it is discussed."""
    places = review_places(trigger)
    return [(place.where, str(kept["url"])) for place, kept in zip(places, trigger.get(_PLACES, ()), strict=True)]


@cache
def _adapter() -> TypeAdapter[Comment]:
    return TypeAdapter(Comment)
