//! The model of a remote client gets no remark about denied tools: those are for the operator.

use std::sync::Arc;

use jackfield_domain::fact::{CallEnd, Fact};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::tool::Safety;
use jackfield_engine::{ResumeSession, TurnOptions};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{Log, OneTool, engine, message, options, session};
use crate::resuming::{crash_with, facts, model};
use crate::toolbox_sources::caller;

fn denied() -> Policy {
    Policy {
        can_ask: false,
        rules: vec![PolicyRule {
            pattern: "box/*".into(),
            verdict: RuleVerdict::Deny,
        }],
    }
}

fn remote() -> TurnOptions {
    TurnOptions {
        caller: Some(Arc::new(caller("somebody"))),
        ..options()
    }
}

/// The outcomes of all calls, none of which ran.
async fn outcomes(journal: &Arc<MemoryJournal>) -> String {
    let mut outcomes = String::new();
    for fact in facts(journal).await {
        if let Fact::CallClosed { end, .. } = &fact {
            assert_ne!(*end, CallEnd::Ran);
            outcomes += &format!("{fact:?}");
        }
    }
    outcomes
}

#[tokio::test]
async fn a_tool_that_is_denied_is_offered_to_the_operators_own_model_alone() {
    for (options, offered, advice) in [(options(), 1, true), (remote(), 0, false)] {
        let journal = Arc::new(MemoryJournal::default());
        let log = Log::default();
        let tool = OneTool::new(&log, |_| async { ToolResult::text("done") });
        let engine = engine(model(&log), tool, Arc::clone(&journal) as Arc<dyn Journal>);
        let options = TurnOptions {
            policy: denied(),
            ..options
        };
        engine
            .send(message(options), &mut ())
            .await
            .expect("an end");
        let facts = facts(&journal).await;
        let setup = facts.iter().find_map(|fact| match fact {
            Fact::TurnOpened { setup, .. } => Some(setup),
            _ => None,
        });
        let setup = setup.expect("a turn");
        assert_eq!(setup.catalog.iter().len(), offered);
        assert_eq!(outcomes(&journal).await.contains("[policy.tools]"), advice);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_came_since_is_named_to_the_operators_own_model_alone() {
    for (options, advice) in [(options(), true), (remote(), false)] {
        let journal = Arc::new(MemoryJournal::default());
        crash_with(&journal, Safety::ReadOnly, options).await;
        let log = Log::default();
        let mut tool = OneTool::new(&log, |_| async { ToolResult::text("done") });
        tool.spec.safety = Safety::ReadOnly;
        let engine = engine(model(&log), tool, Arc::clone(&journal) as Arc<dyn Journal>);
        let resume = ResumeSession::new(session(), denied());
        engine.resume(resume, &mut ()).await.expect("an end");
        let told = outcomes(&journal).await;
        assert_eq!(told.contains("[policy.tools]"), advice, "{told}");
        assert_eq!(
            told.contains("the policy does not allow it"),
            !advice,
            "{told}"
        );
    }
}
