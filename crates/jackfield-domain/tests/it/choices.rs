//! Choices by example: which tools may be called, which have to be, and in which rounds.

use jackfield_domain::ids::ToolName;
use jackfield_domain::limits::Limits;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::setup::Setup;
use jackfield_domain::tool::ToolChoice;

use crate::scene::{calls, check, finishes, reply, says, text};
use crate::world::setup;

#[test]
fn only_the_first_round_has_tools_where_the_setting_says_so() {
    let one_round = Setup {
        tools_after_first_round: false,
        ..setup(Limits::default())
    };
    let scene = check(
        one_round.clone(),
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "a"),
                &["read Ran: a", "model 2.1 Forbidden"],
            ),
            (says("it is a"), &["end Answered(Stop)"]),
        ],
    );
    assert_eq!(scene.request.expect("a request").tools.len(), 8);
    check(
        one_round,
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "a"),
                &["read Ran: a", "model 2.1 Forbidden"],
            ),
            (
                calls(&["read"]),
                &[
                    "read NotRun error: The call was not run: only the first round of a turn \
                     may use tools.",
                    "end Answered(ToolCalls)",
                ],
            ),
        ],
    );
}

#[test]
fn what_had_to_be_called_has_to_be_called_only_once() {
    let required = Setup {
        choice: ToolChoice::Required,
        ..setup(Limits::default())
    };
    check(
        required,
        &["model 1.1 Required"],
        vec![
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
        ],
    );
}

#[test]
fn a_tool_that_the_caller_did_not_allow_is_not_run_even_if_the_server_ignores_that() {
    let choosing = |choice| Setup {
        choice,
        ..setup(Limits::default())
    };
    check(
        choosing(ToolChoice::Forbidden),
        &["model 1.1 Forbidden"],
        vec![(
            calls(&["read"]),
            &[
                "read NotRun error: The call was not run: this turn may not use tools.",
                "model 2.1 Forbidden",
            ],
        )],
    );
    let only = ToolChoice::Only {
        required: false,
        tools: vec![ToolName::parse("read").expect("a valid name")],
    };
    check(
        choosing(only),
        &["model 1.1 Only { required: false, tools: [read] }"],
        vec![(
            calls(&["write", "read"]),
            &[
                "write NotRun error: The call was not run: this turn may not use `write`.",
                "run read",
            ],
        )],
    );
}

#[test]
fn a_paused_reply_goes_back_even_where_only_the_first_round_has_tools() {
    let one_round = Setup {
        tools_after_first_round: false,
        ..setup(Limits::default())
    };
    check(
        one_round,
        &["model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (
                finishes("read", "a"),
                &["read Ran: a", "model 2.1 Forbidden"],
            ),
            (
                reply(vec![text("hold on")], FinishReason::Paused),
                &["model 3.1 Forbidden"],
            ),
            (says("it is a"), &["end Answered(Stop)"]),
        ],
    );
}
