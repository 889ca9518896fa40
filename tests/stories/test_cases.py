"""What people and strangers try, each with the tests that hold it: a case without one, or a test that went, fails."""

from __future__ import annotations

import pytest

from tests.stories.refusals import names_below

WHO = {
    "a read-only collaborator": (
        "stories/test_mention::test_someone_below_the_trigger_role_gets_nothing",
        "dispatch/test_who_matrix::test_every_actor_with_every_command",
    ),
    "an organisation's admin who is shown as NONE": (
        "stories/test_people::test_an_admin_whose_association_says_nothing",
        "dispatch/test_intake::test_the_role_counts_not_the_association",
    ),
    "GitHub does not tell the role": (
        "dispatch/test_role_faults::test_it_is_a_no_in_the_end",
        "dispatch/test_role_faults::test_a_yes_that_comes_late_takes_its_place_then",
    ),
    "someone edits another's comment": (
        "stories/test_mention::test_who_edits_decides_not_who_wrote",
        "dispatch/test_who_matrix::test_every_actor_in_every_place",
    ),
    "a mention in a quote, a fence, inline code, an HTML comment, an address, an e-mail": (
        "stories/test_mention::test_what_is_no_mention_leads_to_nothing",
        "dispatch/test_mentions::test_no_mention",
    ),
    "another bot": (
        "stories/test_people::test_bots_do_not_talk_each_other_into_anything",
        "dispatch/test_authorise::test_who_is_no_person_is_never_asked_about",
    ),
    "the bot's own reply": (
        "stories/test_mention::test_the_bot_does_not_answer_itself",
        "dispatch/test_identity::test_whose_doing_it_is",
    ),
    "two bots that answer each other": ("stories/test_strangers::test_two_bots_that_answer_each_other",),
    "an error text that quotes the command": ("stories/test_strangers::test_an_error_text_that_quotes_the_command",),
    "a role that is taken away between the request and the run": (
        "stories/test_people::test_a_role_that_is_lowered_while_the_request_waits",
        "engine/test_desk::test_the_role_is_checked_again_at_the_start",
    ),
    "who asked approves": (
        "stories/test_gates::test_not_the_requester",
        "dispatch/test_gate_matrix::test_who_answers",
    ),
    "a plan that is edited, and approved": (
        "stories/test_gates::test_another_text",
        "stories/test_gates::test_approved_on_a_changed_text_is_void",
    ),
    "a push before and after the approval": (
        "stories/test_gates::test_pushed_before_the_answer",
        "stories/test_gates::test_pushed_after_the_answer",
    ),
    "a login that is another's by now": (
        "dispatch/test_role_faults::test_it_is_a_no_in_the_end",
        "engine/test_desk::test_the_role_is_checked_again_at_the_start",
    ),
    "an event that starts something by itself": (
        "dispatch/test_who_matrix::test_every_actor_and_what_starts_by_itself",
        "stories/test_triggers::test_a_stranger_hears_nothing",
    ),
    "a broken configuration that would let everybody in": (
        "dispatch/test_who_matrix::test_every_actor_under_a_broken_configuration",
    ),
}

STRANGERS = {
    "an App installed by an unknown owner": (
        "stories/test_strangers::test_an_app_installed_by_an_unknown_owner",
        "dispatch/test_intake::test_each_step_ends_what_it_refuses",
        "dispatch/test_schedules::test_a_scan_leaves_strangers_alone",
    ),
    "a file with `sandbox: off`": ("stories/test_strangers::test_a_file_that_would_loosen_what_the_operator_holds",),
    "a file that names a host": (
        "stories/test_acting::test_a_command_reaches_a_host_that_both_open",
        "stories/test_acting::test_a_host_that_is_not_open_gets_nothing",
    ),
    "a file that names the engine's variables": (
        "stories/test_strangers::test_a_file_that_names_the_engines_variables",
        "engine/test_desk::test_a_variable_that_is_not_open_fails_the_step",
    ),
    "a secret of another repository's name": (
        "stories/test_resources::test_missing_and_foreign_secrets_are_told_alike",
        "stories/test_strangers::test_a_repository_that_takes_an_old_name_gets_none_of_its_secrets",
    ),
    "a repository that takes an old name": (
        "stories/test_places::test_a_renamed_repository_and_another_that_takes_its_name",
        "dispatch/test_memory::test_another_repository_under_an_old_name_is_another_thread",
    ),
    "a fork's pull request that runs code": (
        "stories/test_strangers::test_a_forks_pull_request_configures_nothing_and_runs_nothing",
        "stories/test_resources::test_a_fork_s_head_gets_no_secrets",
        "stories/test_resources::test_a_fork_s_head_gets_nothing_of_the_engine",
    ),
    "a flood of mentions": (
        "dispatch/test_floods::test_one_comment_with_ten_thousand_mentions",
        "dispatch/test_floods::test_five_hundred_comments_of_a_stranger",
        "dispatch/test_floods::test_a_hundred_comments_of_a_writer",
        "stories/test_limits::test_more_than_twenty_requests_an_hour_trip_the_breaker",
    ),
    "an exhausted quota": ("stories/test_limits::test_an_exhausted_quota_is_told_and_not_tried_again",),
}


@pytest.mark.parametrize("case", [*WHO, *STRANGERS])
def test_every_case_has_its_tests(case: str) -> None:
    """By name."""
    assert set((WHO | STRANGERS)[case]) <= names_below("stories", "dispatch", "engine")
