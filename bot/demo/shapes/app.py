"""Apps, installations, tokens and the delivery log (schemas `integration`, `installation`, `installation-token`, …)."""

from __future__ import annotations

from bot.demo.access import Token
from bot.demo.deliveries import Attempt
from bot.demo.records import App, Installation, Repository
from bot.demo.shapes.account import user, user_or_none
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp, stamp_or_none
from bot.demo.shapes.repository import repository
from bot.model.role import Role


def integration(at: Addresses, app: App, installations: int | None = None) -> JSON:
    """Schema `integration`; the number of installations is told to the App alone."""
    out: JSON = {
        "id": app.id,
        "client_id": app.client_id,
        "slug": app.slug,
        "node_id": node_id("Integration", app.id),
        "owner": user(at, app.owner),
        "name": app.name,
        "description": None,
        "external_url": at.site,
        "html_url": f"{at.site}/apps/{app.slug}",
        "created_at": stamp(app.created_at),
        "updated_at": stamp(app.created_at),
        "permissions": dict(app.permissions),
        "events": list(app.events),
    }
    if installations is not None:
        out["installations_count"] = installations
    return out


def installation(at: Addresses, row: Installation) -> JSON:
    """Schema `installation`."""
    return {
        "id": row.id,
        "client_id": row.app.client_id,
        "account": user(at, row.account),
        "repository_selection": "all" if row.repository_ids is None else "selected",
        "access_tokens_url": f"{at.api}/app/installations/{row.id}/access_tokens",
        "repositories_url": f"{at.api}/installation/repositories",
        "html_url": f"{at.site}/settings/installations/{row.id}",
        "app_id": row.app.id,
        "app_slug": row.app.slug,
        "target_id": row.account.id,
        "target_type": row.account.type,
        "permissions": dict(row.permissions),
        "events": list(row.app.events),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": user_or_none(at, row.suspended_by),
        "suspended_at": stamp_or_none(row.suspended_at),
    }


def token(at: Addresses, row: Token, repositories: list[Repository] | None) -> JSON:
    """Schema `installation-token`; `repositories` where the token was narrowed to some."""
    assert row.expires_at is not None
    assert row.installation is not None
    chosen = row.repository_ids is not None or row.installation.repository_ids is not None
    out: JSON = {
        "token": row.value,
        "expires_at": stamp(row.expires_at),
        "permissions": dict(row.permissions),
        "repository_selection": "selected" if chosen else "all",
    }
    if repositories is not None:
        out["repositories"] = [repository(at, repo, Role.READ) for repo in repositories]
    return out


def delivery(attempt: Attempt) -> JSON:
    """Schema `hook-delivery-item`."""
    made = attempt.delivery
    return {
        "id": attempt.id,
        "guid": made.guid,
        "delivered_at": stamp(attempt.at),
        "redelivery": attempt.redelivery,
        "duration": round(attempt.duration, 2),
        "status": attempt.status,
        "status_code": attempt.status_code,
        "event": made.event,
        "action": made.action,
        "installation_id": made.installation_id,
        "repository_id": made.repository_id,
        "throttled_at": None,
    }


def full_delivery(attempt: Attempt, url: str) -> JSON:
    """Schema `hook-delivery`: with request and response."""
    return {
        **delivery(attempt),
        "url": url,
        "request": {"headers": dict(attempt.headers), "payload": attempt.delivery.payload()},
        "response": {"headers": dict(attempt.response_headers), "payload": attempt.response},
    }
