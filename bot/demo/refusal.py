"""GitHub's refusals, with the words and shapes of its REST answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException

DOCS = "https://docs.github.com/rest"


class Refused(HTTPException):
    """An answer of 4xx. `errors` are the entries of a 422 (`resource`, `field`, `code`, `message`).

    Source: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
    """

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[dict[str, Any] | str] | None = None,
        headers: dict[str, str] | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.message = message
        self.errors = errors
        self.url = url

    def body(self) -> dict[str, Any]:
        """GitHub's error object."""
        out: dict[str, Any] = {"message": self.message, "documentation_url": DOCS, "status": str(self.status_code)}
        if self.errors is not None:
            out["errors"] = self.errors
        if self.url is not None:
            out["url"] = self.url
        return out


def not_found() -> Refused:
    """404: there is no such thing, or it is not shown to whoever asks."""
    return Refused(404, "Not Found")


def not_integration() -> Refused:
    """403: the token lacks the permission or the repository."""
    return Refused(403, "Resource not accessible by integration")


def bad_credentials() -> Refused:
    """401: the token is unknown or has expired."""
    return Refused(401, "Bad credentials")


def no_jwt() -> Refused:
    """401: the endpoint wants an App's JSON web token."""
    return Refused(401, "A JSON web token could not be decoded")


def invalid(resource: str, field: str, message: str, code: str = "unprocessable") -> Refused:
    """422 with one entry."""
    entry = {"resource": resource, "code": code, "field": field, "message": message}
    return Refused(422, "Validation Failed", [entry])


def malformed(message: str) -> Refused:
    """422 without entries: the request's body lacks a key or has the wrong type."""
    return Refused(422, f"Invalid request.\n\n{message}")
