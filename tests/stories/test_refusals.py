"""Every command and every refusal has a test of its words in a thread, by name; and those that no other story tells."""

from __future__ import annotations

from pathlib import Path

from bot.dispatch.builtins import BUILTINS
from tests.stage import Stage
from tests.stories.refusals import names_below, refusals
from tests.stories.test_context import link
from tests.stories.test_gates import asking, question, ticks

#: the story in which each built-in is given and answered
COMMANDS = {
    "help": "stories/test_builtins::test_help_lists_the_roster_and_the_builtins",
    "status": "stories/test_builtins::test_status_of_a_quiet_thread",
    "cancel": "stories/test_builtins::test_cancel_ends_the_running_one_and_the_waiting_one",
    "retry": "stories/test_commands::test_retry_makes_the_newest_ended_run_once_more",
    "stop": "stories/test_commands::test_stop_ends_everything_and_keeps_the_thread_quiet_until_resume",
    "resume": "stories/test_commands::test_stop_ends_everything_and_keeps_the_thread_quiet_until_resume",
    "approve": "stories/test_gates::test_a_command",
    "reject": "stories/test_gates::test_a_no_with_its_reason",
    "answer": "stories/test_gates::test_free_text",
    "pin": "stories/test_builtins::test_pin_unpin_and_pins",
    "unpin": "stories/test_builtins::test_pin_unpin_and_pins",
    "pins": "stories/test_builtins::test_pin_unpin_and_pins",
    "steer": "stories/test_steer::test_it_stands_in_the_next_request_and_once",
    "try": "stories/test_try::test_a_branch_is_tried",
    "why": "stories/test_builtins::test_why_shows_the_manifest",
    "config": "stories/test_commands::test_config_names_every_limit_and_ceiling",
}

_PINS = "stories/test_refusals::test_what_cannot_be_pinned"
_UNPINS = "stories/test_refusals::test_what_cannot_be_taken_off"
_TRIALS = "stories/test_try::test_what_cannot_be_tried"
_ANSWERS = "stories/test_refusals::test_what_is_no_answer"
#: the test that hears each refusal: a story, or where only a race or a database of yesterday leads to it, its room's
HEARD = {
    ("breaker", "…"): "stories/test_limits::test_more_than_twenty_requests_an_hour_trip_the_breaker",
    ("operator_day", "…"): "stories/test_limits::test_the_operators_ceiling_refuses_at_acceptance_too",
    ("paused", "…"): "stories/test_commands::test_stop_ends_everything_and_keeps_the_thread_quiet_until_resume",
    # of a day's limit, whose key is the code
    ("…", "…"): "stories/test_limits::test_a_limit_of_a_day",
    ("retry_refused", "what … came to before `…` is kept no longer"): (
        "stories/test_purge::test_what_a_run_made_of_a_deleted_comment_goes_with_it"
    ),
    ("retry_refused", "what was asked for in … is kept no longer"): (
        "stories/test_purge::test_after_its_time_a_run_says_that_it_is_gone"
    ),
    (
        "why_none",
        "What … saw is kept no longer.",
    ): "stories/test_purge::test_what_a_run_made_of_a_deleted_comment_goes_with_it",
    ("why_none", "What the runs of this thread saw is kept no longer."): (
        "stories/test_purge::test_after_its_time_a_run_says_that_it_is_gone"
    ),
    ("answers", "…"): "dispatch/test_answers::test_a_person_gets_sixty_and_can_always_stop",
    ("gate_doubt", "that ends with a question mark, so … still waits"): "stories/test_gates::test_what_does_not_answer",
    ("gate_moved", "`…` asks something else now"): "web/test_gates::test_about_what_was_read",
    ("gate_unshown", "…"): "dispatch/test_shown::test_approved_before_the_new_head_stood_there",
    ("why_none", "No run of this thread has asked a model yet."): "dispatch/test_reports::test_why_before_any_run",
    ("why_none", "There is no … in this thread."): "dispatch/test_reports::test_why_shows_the_newest_prompt",
    (
        "why_none",
        "… has asked no model, so there is nothing to show.",
    ): "dispatch/test_reports::test_why_shows_the_newest_prompt",
    ("gate_answer", "`…` is no option"): _ANSWERS,
    ("gate_answer", "the text has more than … characters"): _ANSWERS,
    ("gate_answer", "there is no answer"): _ANSWERS,
    ("gate_answer", "this gate asks no questions"): "web/test_gates::test_what_is_no_answer",
    ("gate_answer", "…"): "stories/test_gates::test_a_form",
    ("gate_answer", "… is no option"): "stories/test_gates::test_a_gate_without_that_option",
    ("gate_moved", "…"): "stories/test_gates::test_pushed_before_the_answer",
    ("gate_none", "nothing waits for an answer here"): "stories/test_gates::test_words_where_nobody_is_asked",
    ("gate_none", "there is no question … here"): _ANSWERS,
    ("gate_settled", "`…` is out of time"): "web/test_gates::test_not_after_its_time",
    ("gate_settled", "…"): _ANSWERS,
    ("gate_several", "several questions wait for an answer here"): "stories/test_gates::test_several_gates",
    ("gate_unread", "the head cannot be read, and an answer is bound to it"): (
        "dispatch/test_ticks::test_a_head_that_cannot_be_read"
    ),
    ("not_allowed", "…"): "stories/test_gates::test_a_tick_of_somebody_who_may_not",
    ("not_allowed", "… is no person, and only people answer"): "dispatch/test_gate_matrix::test_who_answers",
    ("pin_refused", "that comment stands in another thread"): _PINS,
    (
        "pin_refused",
        "that is no link to a comment",
    ): "dispatch/test_pinning::test_a_link_to_a_comment_of_this_thread",
    (
        "pin_refused",
        "that review has no text of its own",
    ): "dispatch/test_reviews::test_pins_of_review_comments_and_reviews",
    ("pin_refused", "the issue's own text is always shown to agents"): _PINS,
    ("pin_refused", "there is no comment before yours"): _PINS,
    ("pin_refused", "there is no such comment any more"): _PINS,
    ("retry_refused", "another run has ended meanwhile"): "dispatch/test_retries::test_another_run_has_ended_meanwhile",
    ("retry_refused", "r… is trying … again already"): (
        "stories/test_commands::test_retry_is_refused_while_it_is_under_way"
    ),
    ("retry_refused", "the comment that asked for … was deleted"): (
        "stories/test_commands::test_retry_of_a_deleted_request"
    ),
    ("retry_refused", "the configuration of … cannot be read any more"): (
        "dispatch/test_retries::test_a_configuration_that_is_none_any_more"
    ),
    ("retry_refused", "the defaults of its inputs are others than when … ran"): (
        "stories/test_refusals::test_a_retry_with_other_defaults"
    ),
    ("retry_refused", "…"): "stories/test_commands::test_retry_when_nothing_has_ended",
    ("retry_refused", "… is not in the configuration any more"): (
        "stories/test_commands::test_retry_where_the_workflow_is_gone_or_has_changed"
    ),
    ("retry_refused", "… is still under way"): "stories/test_commands::test_retry_is_refused_while_it_is_under_way",
    ("retry_refused", "… was a trial"): "stories/test_try::test_a_trial_is_not_tried_again_by_retry",
    ("steer_none", "nothing is under way here"): "stories/test_steer::test_nothing_under_way",
    ("steer_none", "there is no … under way here"): "stories/test_steer::test_nothing_under_way",
    (
        "steer_refused",
        "another run has begun meanwhile",
    ): "dispatch/test_steering::test_another_run_has_begun_meanwhile",
    ("steer_several", "several are under way here (…)"): "stories/test_steer::test_several_under_way",
    ("try_branch", "this repository has no branch …"): _TRIALS,
    ("try_branch", "…"): _TRIALS,
    ("try_branch", "… is no name that a branch can have"): _TRIALS,
    ("try_builtin", "…"): _TRIALS,
    ("try_refused", "… takes the role …, as the default branch says"): "stories/test_try::test_a_workflow_s_own_role",
    ("try_unknown", "… has no agent or workflow of that name"): _TRIALS,
    ("unpin_refused", "that comment is not pinned here"): _UNPINS,
    ("unpin_refused", "that comment is pinned by GitHub's own *Pin comment*"): _UNPINS,
    ("unpin_refused", "there is no pin … here"): _UNPINS,
}


def test_every_command_has_a_story() -> None:
    """A new one has none until it is written down here."""
    assert set(COMMANDS) == {one.name for one in BUILTINS}
    assert set(COMMANDS.values()) <= names_below("stories")


def test_every_refusal_is_heard_in_a_test() -> None:
    """A new one, or new words of an old one, have no test until it is written down here."""
    assert set(HEARD) == refusals()
    assert set(HEARD.values()) <= names_below("stories", "dispatch", "web")


async def test_what_cannot_be_pinned(stage: Stage) -> None:
    """😕 and the reason, for each."""
    other = stage.world.open_issue(stage.repo, "sam", "another", "body")
    foreign = await stage.says("sam", "elsewhere", other.number)
    gone = await stage.says("sam", "soon gone")
    gone_link = link(stage, gone.id)
    stage.world.delete_comment(gone.id, "sam")
    wrong = f"{stage.world.site_url}/acme/widgets/issues/{other.number}#issuecomment-{foreign.id}"
    told = {
        "pin": "there is no comment before yours",
        f"pin {gone_link}": "there is no such comment any more",
        f"pin {wrong}": "that comment stands in another thread",
    }
    for words, reason in told.items():
        asked = await stage.says("meg", f"@bot {words}")
        assert reason in stage.replies()[-1], words
        assert stage.reactions(asked) == ["confused"]
    issue = stage.world.open_issue(stage.repo, "meg", "mine", "@bot pin Keep it small")
    await stage.settle()
    assert "the issue's own text is always shown to agents" in stage.replies(issue.number)[-1]


async def test_what_cannot_be_taken_off(stage: Stage) -> None:
    """What is not there, and what is pinned on GitHub's own page."""
    first = await stage.says("sam", "Keep it small")
    asked = await stage.says("meg", "@bot unpin 4")
    assert stage.replies()[-1] == "Not done: there is no pin 4 here (`pins` lists them)."
    assert stage.reactions(asked) == ["confused"]
    await stage.says("meg", f"@bot unpin {link(stage, first.id)}")
    assert "that comment is not pinned here" in stage.replies()[-1]
    stage.world.pin_comment(first.id, "meg")
    await stage.settle()
    await stage.says("meg", f"@bot unpin {link(stage, first.id)}")
    assert "that comment is pinned by GitHub's own *Pin comment*" in stage.replies()[-1]


async def test_what_is_no_answer(tmp_path: Path) -> None:
    """Another word, none, too many; a question that was never asked, and one that was answered."""
    async with asking(tmp_path) as stage:
        told = {
            "answer perhaps": "`perhaps` is no option",
            "answer": "There is no answer",
            f"reject {'x' * 20_000}": "`reject` is no option",
            f"approve {'x' * 20_000}": "The text has more than 16,384 characters",
            "approve r9.plan": "There is no question `r9.plan` here",
        }
        for words, reason in told.items():
            asked = await stage.says("meg", f"@bot {words}")
            assert reason in stage.replies()[-1], words[:40]
            assert stage.reactions(asked) == ["confused"]
        assert "- [ ] approve" in question(stage).body
        await ticks(stage, "meg", "approve")
        asked = await stage.says("meg", "@bot approve r1.approve")
        assert "`r1.approve` was answered by `meg`: `approve`" in stage.replies()[-1].lower()
        assert stage.reactions(asked) == ["confused"]


async def test_a_retry_with_other_defaults(stage: Stage) -> None:
    """What came before was made with the values of then, so it cannot be gone on from."""
    text = """\
version: 1
workflows:
  go:
    inputs: {when: {type: text, default: soon}}
    steps:
      - {id: one, run: 'echo "$WHEN"', env: {WHEN: "${{ inputs.when }}"}, workspace: none}
      - {id: two, run: "exit 3", workspace: none}
"""
    await stage.configures(text)
    await stage.says("ana", "@bot go")
    await stage.configures(text.replace("soon", "later"))
    asked = await stage.says("ana", "@bot retry r1 from two")
    assert "the defaults of its inputs are others than when r1 ran" in stage.replies()[-1]
    assert stage.reactions(asked) == ["confused"]
