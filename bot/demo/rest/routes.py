"""Which endpoint answers which method and path: the paths of GitHub's REST description."""

from __future__ import annotations

import re
from urllib.parse import unquote

from bot.demo.rest import (
    apps,
    assignees,
    check_runs,
    graph,
    jobs,
    marks,
    pulls,
    repositories,
    review_comments,
    reviews,
    threads,
)
from bot.demo.rest.call import Endpoint

_REPO = "/repos/{owner}/{repo}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_REMARK = f"{_REPO}/pulls/comments/{{comment_id}}"

#: first words of REST paths, for clients that leave out `/api/v3`
FIRST_WORDS = frozenset({"app", "graphql", "installation", "rate_limit", "repos", "repositories", "users"})

_ISSUE_REACTIONS, _COMMENT_REACTIONS = marks.issue_subject, marks.comment_subject

ROUTES: tuple[tuple[str, str, Endpoint], ...] = (
    ("GET", "/app", apps.get_app),
    ("GET", "/app/installations", apps.list_installations),
    ("GET", "/app/installations/{installation_id}", apps.get_installation),
    ("POST", "/app/installations/{installation_id}/access_tokens", apps.create_token),
    ("GET", "/app/hook/deliveries", apps.list_deliveries),
    ("GET", "/app/hook/deliveries/{delivery_id}", apps.get_delivery),
    ("POST", "/app/hook/deliveries/{delivery_id}/attempts", apps.redeliver),
    ("GET", "/installation/repositories", apps.list_repositories),
    ("GET", "/users/{username}", repositories.get_user),
    ("GET", _REPO, repositories.get_repository),
    ("GET", f"{_REPO}/installation", apps.get_repository_installation),
    ("GET", f"{_REPO}/collaborators/{{username}}/permission", repositories.get_permission),
    ("GET", f"{_REPO}/commits", repositories.list_commits),
    ("POST", f"{_REPO}/check-runs", check_runs.create),
    ("GET", f"{_REPO}/check-runs/{{check_run_id}}", check_runs.get),
    ("PATCH", f"{_REPO}/check-runs/{{check_run_id}}", check_runs.update),
    ("GET", f"{_REPO}/check-runs/{{check_run_id}}/annotations", check_runs.list_annotations),
    ("GET", f"{_REPO}/commits/{{ref:path}}/check-runs", check_runs.list_of_commit),
    ("GET", f"{_REPO}/commits/{{ref:path}}", repositories.get_commit),
    ("GET", f"{_REPO}/git/trees/{{tree_sha}}", repositories.get_tree),
    ("GET", f"{_REPO}/git/blobs/{{file_sha}}", repositories.get_blob),
    ("GET", f"{_REPO}/contents", repositories.get_contents),
    ("GET", f"{_REPO}/contents/{{path:path}}", repositories.get_contents),
    ("GET", f"{_REPO}/git/ref/{{ref:path}}", pulls.get_ref),
    ("GET", f"{_REPO}/branches/{{branch:path}}", pulls.get_branch),
    ("GET", f"{_REPO}/compare/{{basehead:path}}", pulls.compare),
    ("GET", f"{_REPO}/pulls", pulls.list_pulls),
    ("POST", f"{_REPO}/pulls", pulls.create_pull),
    ("GET", _PULL, pulls.get_pull),
    ("PATCH", _PULL, pulls.update_pull),
    ("GET", f"{_PULL}/files", pulls.list_files),
    ("GET", f"{_PULL}/reviews", reviews.list_of_pull),
    ("POST", f"{_PULL}/reviews", reviews.create),
    ("GET", f"{_PULL}/reviews/{{review_id}}", reviews.get),
    ("PUT", f"{_PULL}/reviews/{{review_id}}", reviews.update),
    ("PUT", f"{_PULL}/reviews/{{review_id}}/dismissals", reviews.dismiss),
    ("GET", f"{_PULL}/reviews/{{review_id}}/comments", reviews.list_comments),
    ("POST", f"{_PULL}/comments/{{comment_id}}/replies", review_comments.reply),
    ("GET", _REMARK, review_comments.get),
    ("PATCH", _REMARK, review_comments.update),
    ("DELETE", _REMARK, review_comments.delete),
    ("GET", f"{_REMARK}/reactions", marks.list_reactions(marks.review_comment_subject)),
    ("POST", f"{_REMARK}/reactions", marks.create_reaction(marks.review_comment_subject)),
    ("DELETE", f"{_REMARK}/reactions/{{reaction_id}}", marks.delete_reaction(marks.review_comment_subject)),
    ("GET", f"{_PULL}/comments", review_comments.list_of_pull),
    ("GET", f"{_REPO}/actions/runs/{{run_id}}/jobs", jobs.list_jobs),
    ("GET", f"{_REPO}/actions/jobs/{{job_id}}/logs", jobs.get_log),
    ("GET", f"{_REPO}/issues", threads.list_issues),
    ("POST", f"{_REPO}/issues", threads.create_issue),
    ("GET", f"{_REPO}/issues/comments", threads.list_repository_comments),
    ("GET", _COMMENT, threads.get_comment),
    ("PATCH", _COMMENT, threads.update_comment),
    ("DELETE", _COMMENT, threads.delete_comment),
    ("PUT", f"{_COMMENT}/pin", threads.pin_comment),
    ("DELETE", f"{_COMMENT}/pin", threads.unpin_comment),
    ("GET", f"{_COMMENT}/reactions", marks.list_reactions(_COMMENT_REACTIONS)),
    ("POST", f"{_COMMENT}/reactions", marks.create_reaction(_COMMENT_REACTIONS)),
    ("DELETE", f"{_COMMENT}/reactions/{{reaction_id}}", marks.delete_reaction(_COMMENT_REACTIONS)),
    ("GET", _ISSUE, threads.get_issue),
    ("PATCH", _ISSUE, threads.update_issue),
    ("PUT", f"{_ISSUE}/lock", threads.lock),
    ("DELETE", f"{_ISSUE}/lock", threads.unlock),
    ("POST", f"{_ISSUE}/assignees", assignees.add),
    ("DELETE", f"{_ISSUE}/assignees", assignees.remove),
    ("GET", f"{_ISSUE}/comments", threads.list_comments),
    ("POST", f"{_ISSUE}/comments", threads.create_comment),
    ("GET", f"{_ISSUE}/labels", marks.list_labels),
    ("POST", f"{_ISSUE}/labels", marks.add_labels),
    ("PUT", f"{_ISSUE}/labels", marks.replace_labels),
    ("DELETE", f"{_ISSUE}/labels", marks.remove_labels),
    ("DELETE", f"{_ISSUE}/labels/{{name}}", marks.remove_label),
    ("GET", f"{_ISSUE}/reactions", marks.list_reactions(_ISSUE_REACTIONS)),
    ("POST", f"{_ISSUE}/reactions", marks.create_reaction(_ISSUE_REACTIONS)),
    ("DELETE", f"{_ISSUE}/reactions/{{reaction_id}}", marks.delete_reaction(_ISSUE_REACTIONS)),
)


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)(:path)?\}", lambda m: f"(?P<{m[1]}>{'.+' if m[2] else '[^/]+'})", template))


#: not of the REST description
_GRAPHQL: tuple[str, str, Endpoint] = ("POST", "/graphql", graph.answer)
_COMPILED = tuple((method, _pattern(template), endpoint) for method, template, endpoint in (*ROUTES, _GRAPHQL))


def find(method: str, raw_path: str) -> tuple[Endpoint, dict[str, str]] | None:
    """The endpoint with the path's parameters; GitHub answers 404 to a wrong method too, so None covers both."""
    for known, pattern, endpoint in _COMPILED:
        if known == method and (match := pattern.fullmatch(raw_path)):
            return endpoint, {name: unquote(value) for name, value in match.groupdict().items()}
    return None
