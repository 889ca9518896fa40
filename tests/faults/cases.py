"""What the promises are held against, each with the tests that hold it: doors, commands, processes, posting.

What is read and what is written is in `text_cases`; who may command and what strangers try have their own list
(`tests/stories/test_cases.py`).
"""

from __future__ import annotations

FRONT_DOOR = {
    "an empty secret": (
        "webhook/test_router::test_no_secret_no_route",
        "webhook/test_signature::test_an_empty_secret_verifies_nothing",
        "webhook/test_signature::test_an_empty_secret_prevents_the_start",
    ),
    "a signature by SHA-1 alone": ("webhook/test_router::test_sha1_beside_a_missing_sha256_is_401",),
    "a signature that is empty, truncated, not ASCII, or there twice": (
        "webhook/test_router::test_a_wrong_signature_is_401",
        "webhook/test_router::test_two_signatures_are_401",
        "webhook/test_signature::test_anything_else_does_not_verify",
    ),
    "a chunked body without a length, over 25 MB": (
        "webhook/test_body::test_an_endless_body_is_given_up_at_the_limit",
        "webhook/test_serving::test_chunked_without_length_is_413_and_memory_is_flat",
        "webhook/test_flood::test_fifty_large_bodies_at_once",
    ),
    "bodies and headers that never end": (
        "webhook/test_body::test_a_client_that_stalls_is_gone",
        "webhook/test_body::test_who_waits_gives_way_to_who_sends",
        "webhook/test_flood::test_bodies_and_headers_that_never_end",
    ),
    "the same body under another GUID, or another event": (
        "webhook/test_router::test_the_same_body_under_another_guid_or_event_is_taken_once",
        "faults/test_kill::test_the_same_delivery_after_a_restart_and_under_a_new_guid",
    ),
    "the same GUID 50 times at once, and after a restart": (
        "webhook/test_router::test_the_same_guid_50_times_at_once_is_taken_once",
        "faults/test_kill::test_the_same_delivery_after_a_restart_and_under_a_new_guid",
    ),
    "a form": (
        "webhook/test_router::test_a_form_is_taken_as_github_sends_it",
        "webhook/test_router::test_a_form_without_one_good_payload_is_400",
    ),
    "invalid UTF-8, and deep JSON": ("webhook/test_router::test_what_is_not_a_json_object_is_400",),
    "an unknown action or event": ("webhook/test_router::test_what_means_nothing_is_202_ignored",),
    "every published example payload": (
        "webhook/test_router::test_every_example_payload_is_answered",
        "contract/test_webhook_examples::test_payloads_have_githubs_keys",
    ),
}

EXEC_INPUTS = {
    "an exit code that is not 0": (
        "context/test_inputs::test_required_fails",
        "stories/test_inputs::test_a_required_input_that_fails_ends_the_step_without_a_model_call",
    ),
    "a time-out with a grandchild that holds the pipe, and a `setsid` child": (
        "workspace/test_sandbox::test_time_out_kills_grandchildren",
        "stories/test_inputs::test_a_required_input_that_times_out_leaves_no_process_behind",
    ),
    "1 GB of output": ("workspace/test_sandbox::test_a_gigabyte_of_output_in_flat_memory",),
    "binary output": (
        "workspace/test_sandbox::test_binary_output",
        "context/test_inputs::test_binary_and_invisible_output",
    ),
    "a missing program": ("workspace/test_sandbox::test_missing_program", "context/test_inputs::test_reasons"),
    "empty output": ("context/test_inputs::test_empty_output",),
    "a secret that is printed": ("context/test_inputs::test_secrets_are_redacted",),
    "output that forges a block": (
        "context/test_blocks::test_text_comes_back",
        "stories/test_inputs::test_output_that_forges_a_block_stays_in_its_own",
    ),
    "optional against required": (
        "context/test_inputs::test_optional_shows_stderr_only_on_failure",
        "stories/test_inputs::test_an_optional_input_that_fails_is_told_to_the_model",
    ),
    "called once an attempt": (
        "context/test_inputs::test_in_order_once",
        "stories/test_inputs::test_an_input_is_computed_once_an_attempt",
    ),
    "not called where the step is skipped": ("stories/test_inputs::test_a_step_that_is_skipped_computes_nothing",),
}

PROCESS = {
    "the engine's variables": (
        "workspace/test_sandbox::test_no_engine_variable_reaches_the_child",
        "stories/test_inputs::test_a_child_sees_nothing_of_the_engine",
    ),
    "the environment of the parent, in /proc": (
        "workspace/test_bubblewrap::test_other_processes_are_out_of_reach",
        "stories/test_inputs::test_a_child_sees_nothing_of_the_engine",
    ),
    "hooks, `fsmonitor`, filters, `insteadOf`, another `.git`": (
        "workspace/test_clones::test_a_hostile_git_folder_runs_nothing_and_is_made_anew",
        "workspace/test_git::test_hooks_filters_and_monitors_of_a_repository_do_not_run",
    ),
    "links that lead out": (
        "workspace/test_clones::test_a_folder_turned_into_a_link_returns",
        "workspace/test_files::test_a_way_out_is_refused",
        "workspace/test_bubblewrap::test_a_link_is_not_followed_out",
    ),
    "the token in arguments, configuration and logs, in base64 too": (
        "workspace/test_git::test_the_token_is_in_no_command_line",
        "workspace/test_git::test_tokens_are_scrubbed_in_every_form",
        "workspace/test_clones::test_a_clone_has_no_way_back",
    ),
    # nothing pushes yet: a clone has no remote, and git's own tokens may only read
    "a push": (
        "workspace/test_clones::test_a_clone_has_no_way_back",
        "github/test_tokens::test_no_purpose_may_do_more_than_its_name_says",
    ),
}

POSTING = {
    "a comment that was made, and the answer lost": (
        "publish/test_sender::test_an_answer_that_is_lost_doubles_nothing",
        "faults/test_kill::test_after_github_did_it_and_the_reply_was_lost",
    ),
    "a listing that lags": ("publish/test_sender::test_a_listing_that_lags_is_waited_for",),
    "a secondary limit without a header": (
        "github/test_retry::test_limits_by_words",
        "publish/test_sender::test_a_secondary_limit_without_a_time",
    ),
    "`Retry-After` of an hour, as a date, in the past": (
        "github/test_retry::test_limits_by_header",
        "publish/test_sender::test_retry_after_is_obeyed",
        "publish/test_sender::test_a_date_in_the_past_is_no_wait",
    ),
    "81 a minute": (
        "publish/test_day::test_eighty_one_in_a_minute",
        "publish/test_pace::test_eighty_contents_a_minute",
    ),
    "a token that ends in the middle": (
        "github/test_tokens::test_renewed_before_it_ends",
        "github/test_tokens::test_a_token_refused_in_use_is_minted_anew_once",
    ),
    "a clock five minutes off, and one that is set": (
        "github/test_tokens::test_a_clock_that_is_off",
        "faults/test_clock::test_five_minutes_off",
        "faults/test_clock::test_set_while_it_works",
        "faults/test_clock::test_what_a_clock_from_next_year_put_off",
    ),
    "a locked issue": ("publish/test_ends::test_unlocked_again",),
    "a deleted comment": ("publish/test_sender::test_a_deleted_comment_is_not_edited_for_ever",),
    "a full disk": (
        "faults/test_disk::test_a_full_disk",
        "faults/test_disk::test_the_disk_of_workspaces_is_full",
        "publish/test_sender::test_a_full_disk_doubles_nothing",
    ),
    "a database that somebody else holds": (
        "faults/test_disk::test_a_database_that_somebody_else_holds",
        "publish/test_sender::test_a_database_that_refuses_ends_no_sending",
        "dispatch/test_intake::test_a_database_that_refuses_for_a_while_loses_nothing",
        "engine/test_worker::test_a_database_that_refuses_costs_no_outcome_and_no_worker",
    ),
    "SIGTERM with 20 runs, and a deployment with runs in flight": (
        "faults/test_cluster::test_a_graceful_stop",
        "engine/test_worker::test_a_stop_hands_back_what_is_held",
        "cli/test_serve::test_serve_from_comment_to_comment_until_sigterm",
    ),
    "SIGKILL at every commit point": (
        "faults/test_storm::test_kills",
        "faults/test_storm::test_what_matters_most_is_among_the_boundaries",
        "faults/test_kill::test_right_after_the_answer_to_the_delivery",
        "faults/test_kill::test_while_a_step_runs",
        "faults/test_kill_actions::test_killed_while_it_is_done",
        "faults/test_kill_tools::test_an_approval_survives_a_kill",
    ),
    "power loss": (
        "faults/test_power::test_nothing_acknowledged_is_lost",
        "faults/test_power::test_a_disk_that_does_not_sync_is_found_out",
        "faults/test_power::test_a_bot_goes_on_after_a_power_loss",
    ),
    "what ends the process that touches it": ("faults/test_poison::test_set_aside_after_three",),
    "several workers": (
        "faults/test_cluster::test_a_killed_worker",
        "faults/test_cluster::test_a_worker_that_sleeps",
        "faults/test_cluster::test_one_delivery_at_two_doors",
    ),
}
