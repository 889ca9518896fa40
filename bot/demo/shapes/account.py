"""Users and their public profiles (schemas `simple-user`, `public-user`, `nullable-collaborator`)."""

from __future__ import annotations

from urllib.parse import quote

from bot.demo.records import User
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp
from bot.model.role import Role


def user(at: Addresses, who: User) -> JSON:
    """Schema `simple-user`."""
    api = f"{at.api}/users/{quote(who.login)}"
    page = who.login.removesuffix("[bot]")
    return {
        "login": who.login,
        "id": who.id,
        "node_id": node_id(who.type, who.id),
        "avatar_url": f"{at.site}/_demo/avatars/{who.id}.svg",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{at.site}/apps/{page}" if who.type == "Bot" else f"{at.site}/{page}",
        "followers_url": f"{api}/followers",
        "following_url": f"{api}/following{{/other_user}}",
        "gists_url": f"{api}/gists{{/gist_id}}",
        "starred_url": f"{api}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{api}/subscriptions",
        "organizations_url": f"{api}/orgs",
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events{{/privacy}}",
        "received_events_url": f"{api}/received_events",
        "type": who.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def user_or_none(at: Addresses, who: User | None) -> JSON | None:
    """Schema `nullable-simple-user`."""
    return None if who is None else user(at, who)


def profile(at: Addresses, who: User) -> JSON:
    """Schema `public-user`."""
    empty = ("company", "location", "email", "hireable", "bio", "twitter_username")
    counts = ("public_repos", "public_gists", "followers", "following")
    made = stamp(who.created_at)
    return {
        **user(at, who),
        "name": who.name,
        "blog": "",
        **dict.fromkeys(empty),
        **dict.fromkeys(counts, 0),
        "created_at": made,
        "updated_at": made,
    }


def organization(at: Addresses, who: User) -> JSON:
    """The `organization` of a webhook payload."""
    api = f"{at.api}/orgs/{who.login}"
    return {
        "login": who.login,
        "id": who.id,
        "node_id": node_id("Organization", who.id),
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "avatar_url": f"{at.site}/_demo/avatars/{who.id}.svg",
        "description": None,
    }


def permissions(role: Role) -> dict[str, bool]:
    """What a role may do, as the five flags."""
    return {
        "admin": role.at_least(Role.ADMIN),
        "maintain": role.at_least(Role.MAINTAIN),
        "push": role.at_least(Role.WRITE),
        "triage": role.at_least(Role.TRIAGE),
        "pull": role.at_least(Role.READ),
    }


def permission(at: Addresses, who: User, role: Role) -> JSON:
    """Schema `repository-collaborator-permission`: the legacy `permission` knows no maintain and no triage.

    Source: https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user
    """
    legacy = {Role.MAINTAIN: "write", Role.TRIAGE: "read"}.get(role, role.value)
    return {
        "permission": legacy,
        "role_name": role.value,
        "user": {**user(at, who), "permissions": permissions(role), "role_name": role.value},
    }
