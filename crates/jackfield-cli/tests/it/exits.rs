//! The exit codes: one for each way in which a run can end, documented in three places.

use jackfield_cli::exit::{self, Exit};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::CancelCause;

#[test]
fn every_way_in_which_a_turn_can_end_has_its_code() {
    let failure = |kind| ModelFailure::new(kind, Phase::BeforeSend, "x");
    for (end, code) in [
        (TurnEnd::Answered(FinishReason::Stop), 0),
        (TurnEnd::Answered(FinishReason::Length), 0),
        (
            TurnEnd::Limited {
                is_error: false,
                limit: LimitKind::Rounds,
            },
            0,
        ),
        (TurnEnd::ClientExpired, 1),
        (
            TurnEnd::Failed(failure(ModelFailureKind::Unauthenticated)),
            3,
        ),
        (TurnEnd::Failed(failure(ModelFailureKind::Forbidden)), 4),
        (TurnEnd::Failed(failure(ModelFailureKind::ModelNotFound)), 4),
        (
            TurnEnd::Limited {
                is_error: true,
                limit: LimitKind::Tokens,
            },
            5,
        ),
        (
            TurnEnd::Interrupted(failure(ModelFailureKind::Interrupted)),
            6,
        ),
        (TurnEnd::Cancelled(CancelCause::Asked), 130),
    ] {
        assert_eq!(Exit::of(&end).code(), code, "{end:?}");
    }
}

#[test]
fn every_code_is_in_the_help_and_in_the_documentation() {
    let page = include_str!("../../../../docs/cli.md");
    for exit in Exit::ALL {
        let code = exit.code();
        assert!(
            exit::HELP.contains(&format!("\n  {code:<4} ")),
            "--help does not say {code}"
        );
        assert!(
            page.contains(&format!("\n| {code} | ")),
            "docs/cli.md does not say {code}"
        );
    }
}
