"""What is read and what is written, case by case, each with the tests that hold it: threads, configuration, output."""

from __future__ import annotations

CONTEXT = {
    "threads of 0, 1, 5, 100, 101 and 2,000 comments: the newest are there": (
        "context/test_thread::test_no_comments",
        "context/test_thread::test_newest_are_there",
        "stories/test_context::test_the_newest_five_an_old_pin_and_the_input_and_none_of_the_others",
    ),
    "the calls do not grow": (
        "context/test_thread::test_reads_do_not_grow",
        "context/test_reviews::test_calls_do_not_grow",
        "stories/test_context::test_reading_costs_the_same_for_ten_and_for_ten_thousand_comments",
    ),
    "a pin older than the window": (
        "context/test_thread::test_pins_from_every_source",
        "stories/test_context::test_both_sorts_of_pin_are_seen_from_far",
    ),
    "a pin inside the window": (
        "context/test_thread::test_pins_from_every_source",
        "context/test_thread::test_pins_take_no_place",
    ),
    "a pin that was deleted": ("context/test_thread::test_pin_of_a_deleted_comment",),
    "two pins, GitHub's and the bot's": ("context/test_thread::test_pins_from_every_source",),
    "edited in the same second": ("context/test_thread::test_edited_in_the_same_second",),
    "a null author": (
        "github/test_parse::test_comment_by_nobody",
        "context/test_thread::test_what_is_not_mentionable",
        "context/test_window::test_ghost_has_no_role",
    ),
    "CRLF": (
        "context/test_sanitise::test_characters",
        "context/test_sanitise::test_always_clean",
        "dispatch/test_mentions::test_a_mention_and_its_text",
    ),
    "CJK, emoji joiners, combining marks": (
        "context/test_sanitise::test_stays",
        "context/test_sanitise::test_characters",
        "context/test_thread::test_snapshot_survives_the_store",
    ),
    "a comment of 200 KB": (
        "context/test_thread::test_200_kilobytes",
        "context/test_sanitise::test_large_text_takes_linear_time",
    ),
    "fences that forge our blocks": (
        "context/test_prompt::test_forged_blocks_stay_text",
        "context/test_blocks::test_text_comes_back",
    ),
    "hidden text": (
        "context/test_thread::test_hidden_text_everywhere",
        "context/test_sanitise::test_comments",
        "context/test_sanitise::test_links_and_attributes",
        "context/test_sanitise::test_characters",
    ),
    "minimised comments": (
        "github/test_parse::test_comment_pin_and_minimized",
        "context/test_thread::test_what_is_not_mentionable",
        "context/test_reviews::test_rules_are_those_of_comments",
    ),
    "the bot's own status comments": (
        "context/test_thread::test_what_is_not_mentionable",
        "context/test_thread::test_many_status_comments_reach_further_back",
        "engine/test_reading::test_our_own_comments_are_known_by_author_and_marker",
        "stories/test_context::test_the_bots_own_machinery_is_not_seen_its_answers_are",
    ),
    "deleted comments": (
        "context/test_thread::test_deleted_since",
        "context/test_reviews::test_a_deleted_review_comment",
        "stories/test_context::test_a_deleted_and_an_edited_comment",
    ),
    "a transferred issue": (
        "context/test_thread::test_order_is_by_time_then_id",
        "stories/test_context::test_a_transferred_issue_is_read_in_its_new_place",
        "stories/test_lives::test_a_transferred_issue_ends_what_is_under_way_and_nothing_is_said_elsewhere",
    ),
}

CONFIGURATION = {
    "an alias bomb": (
        "workflows/test_loader::test_an_alias_bomb_is_refused_quickly",
        "workflows/test_loader::test_aliases_expand_to_at_most_ten_thousand_nodes",
    ),
    "an alias of itself": ("workflows/test_loader::test_refusals_name_the_place",),
    "deep nesting": (
        "workflows/test_loader::test_refusals_name_the_place",
        "workflows/test_loader::test_deep_nesting_ends_early",
        "workflows/test_loader::test_aliases_cannot_nest_deeper_than_text",
    ),
    "a duplicate key": ("workflows/test_loader::test_refusals_name_the_place",),
    "`on:`": (
        "workflows/test_loader::test_scalars_mean_what_yaml_1_2_says",
        "acceptance/test_pipeline::test_on_and_yes_and_no_stay_text",
        "workflows/test_triggers::test_faults",
    ),
    "tabs": (
        "workflows/test_loader::test_refusals_name_the_place",
        "workflows/test_loader::test_the_hint_for_a_tab_says_what_to_do",
    ),
    "an unknown key": (
        "workflows/test_configuration::test_faults_of_the_file",
        "workflows/test_configuration::test_hints_name_what_was_meant",
    ),
    "a wrong type": (
        "workflows/test_configuration::test_faults_of_the_file",
        "workflows/test_configuration::test_faults_of_an_agent",
        "workflows/test_configuration::test_faults_of_a_step",
    ),
    "a missing file": (
        "workflows/test_configuration::test_faults_of_an_agent",
        "workflows/test_configuration::test_hints_name_what_was_meant",
        "stories/test_configuration::test_without_any_file_the_ask_agent_serves",
    ),
    "a path outside": (
        "workflows/test_configuration::test_faults_of_an_agent",
        "context/test_reads::test_file_that_cannot_be_had",
    ),
    "a symlink": (
        "github/test_configuration::test_links_are_refused",
        "github/test_configuration::test_linked_folders_are_refused",
        "dispatch/test_configuration::test_what_is_refused_unread_has_findings_too",
        "cli/test_validate::test_a_link_is_refused_as_the_bot_refuses_it",
    ),
    "changed on a branch": ("stories/test_configuration::test_a_branch_changes_nothing_until_it_is_merged",),
    "changed on a fork": ("stories/test_strangers::test_a_forks_pull_request_configures_nothing_and_runs_nothing",),
    "changed during a run": ("stories/test_configuration::test_a_change_during_a_run_is_for_the_next_one",),
    "each with file, line, column and a hint": (
        "workflows/test_configuration::test_any_data_gives_a_configuration_or_findings",
        "workflows/test_extends::test_findings_name_the_right_file",
        "stories/test_configuration::test_a_broken_file_is_told_with_file_line_column_and_hint",
    ),
}

OUTPUT = {
    "each form of a secret in each sink": (
        "publish/test_sinks::test_no_form_of_a_secret_in_any_sink",
        "publish/test_sinks::test_no_form_of_a_secret_in_any_action",
        "publish/test_sinks::test_no_form_of_a_secret_in_what_is_said",
        "./test_log::test_no_form_of_a_secret_reaches_a_line",
        "./test_log::test_no_secret_reaches_a_traceback",
        "engine/test_redaction::test_secrets_are_taken_out",
        "engine/test_projection::test_secrets_are_taken_out_of_every_text",
        "stories/test_resources::test_a_secret_reaches_one_process_and_no_text",
    ),
    "a secret across the borders of chunks, and at a cut": (
        "publish/test_redact::test_across_chunk_borders",
        "publish/test_remnants::test_what_a_cut_leaves_of_each_form",
        "publish/test_compose::test_no_secret_is_cut_in_two",
        "publish/test_excerpt::test_no_cut_goes_through_a_secret",
    ),
    "`@user`, `@org/team`": (
        "publish/test_policy::test_mentions",
        "publish/test_policy_reading::test_nothing_acts",
        "publish/test_sinks::test_every_text_of_an_action_passes_the_policy",
    ),
    "`fixes #1`": (
        "publish/test_policy::test_closing_keywords",
        "publish/test_policy::test_titles_and_commits",
        "publish/test_policy_reading::test_nothing_acts",
    ),
    "foreign images, inline, by reference and in HTML": (
        "publish/test_policy::test_images",
        "publish/test_policy_reading::test_nothing_acts",
    ),
    "a body over the limit with nested fences": (
        "publish/test_split::test_a_fence_within_a_fence_over_github_s_limit",
        "publish/test_split::test_parts_stand_alone_fit_and_are_the_text",
    ),
    "ANSI": (
        "publish/test_clean::test_what_nobody_sees_goes",
        "publish/test_policy::test_hidden_text",
        "publish/test_policy_reading::test_nothing_acts",
    ),
    "lone surrogates": (
        "publish/test_clean::test_what_nobody_sees_goes",
        "publish/test_clean::test_idempotent_and_encodable",
        "publish/test_policy::test_any_text_in_any_sink",
        "engine/test_desk::test_half_a_character_in_a_result",
    ),
}
