"""Effective repository roles, in order.

Source: https://docs.github.com/en/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles/repository-roles-for-an-organization
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What somebody may do in a repository, least first. Compare with `at_least`."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def at_least(self, other: Role) -> bool:
        """Whether this role includes `other`."""
        order = list(Role)
        return order.index(self) >= order.index(other)


def strictest(*roles: Role) -> Role:
    """The one of these roles that includes all the others."""
    return max(roles, key=list(Role).index)
