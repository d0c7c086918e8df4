//! Scripts of generated turns: what the model says, what its tools do, what becomes of each append.

use std::time::Duration;

use jackfield_domain::failure::{
    ModelFailure, ModelFailureKind, Phase, ToolFailure, ToolFailureKind,
};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::tool::Safety;
use jackfield_domain::usage::Usage;
use jackfield_ports::journal::AppendRefusal;
use jackfield_testkit::fakes::{
    AppendFault, FaultyJournal, Gate, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// A turn, and what disturbs it. Times are milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// When an open question is answered, counted from its opening.
    pub(crate) answer: Option<u64>,
    pub(crate) appends: Vec<Written>,
    pub(crate) cancel: Option<u64>,
    /// When the tool that waits for it goes on.
    pub(crate) later: u64,
    pub(crate) replies: Vec<Said>,
}

/// What the model says.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Calls(Vec<&'static str>),
    Overloaded,
}

/// What becomes of an append.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    AndForgotten,
    AndLost,
    ByAnother,
    In(u64),
    Never,
    NotAtFirst,
    Refused,
    Well,
}

/// The tools, and whether they may run again.
pub(crate) const TOOLS: [(&str, Safety); 11] = [
    ("again", Safety::ReadOnly),
    ("approved", Safety::Unknown),
    ("asks", Safety::Unknown),
    ("crashes", Safety::Unknown),
    ("fails", Safety::Unknown),
    ("hangs", Safety::ReadOnly),
    ("job", Safety::Unknown),
    ("later", Safety::Unknown),
    ("lost", Safety::Unknown),
    ("progresses", Safety::ReadOnly),
    ("quick", Safety::Unknown),
];

pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let time = || {
        select(vec![
            0, 1, 5, 20, 100, 1_000, 29_999, 30_000, 59_999, 60_000,
        ])
    };
    let tool = prop_oneof![
        3 => select(TOOLS.map(|(name, _)| name).to_vec()),
        1 => Just("approved"),
    ];
    let calls = vec(tool, 1..5);
    let said = prop_oneof![6 => calls.prop_map(Said::Calls), 1 => Just(Said::Overloaded)];
    let written = prop_oneof![
        30 => Just(Written::Well),
        3 => Just(Written::AndLost),
        3 => Just(Written::NotAtFirst),
        3 => Just(Written::AndForgotten),
        2 => Just(Written::Never),
        2 => Just(Written::Refused),
        1 => Just(Written::ByAnother),
        16 => time().prop_map(Written::In),
    ];
    let disturbed = (vec(written, 0..12), option::of(time()));
    (vec(said, 0..4), disturbed, option::of(time()), time()).prop_map(
        |(replies, (appends, cancel), answer, later)| Script {
            answer,
            appends,
            cancel: cancel.filter(|_| !replies.is_empty()),
            later,
            replies,
        },
    )
}

pub(crate) fn arrange(journal: &FaultyJournal, how: Written) {
    let never = |journal: &FaultyJournal, times| {
        for _ in 0..times {
            journal.push_fault(AppendFault::Lose);
        }
    };
    match how {
        Written::AndForgotten => {
            journal.push_fault(AppendFault::CommitAndLose);
            never(journal, 5);
        }
        Written::AndLost => {
            journal.push_fault(AppendFault::CommitAndLose);
        }
        Written::ByAnother => {
            journal.push_fault(AppendFault::ChangeHands);
        }
        Written::In(millis) => {
            let gate = Gate::new();
            journal.push_fault(AppendFault::Hold(gate.clone()));
            tokio::spawn(async move {
                gate.reached().await;
                tokio::time::sleep(Duration::from_millis(millis)).await;
                gate.open();
            });
        }
        Written::Never => never(journal, 6),
        Written::NotAtFirst => never(journal, 1),
        Written::Refused => {
            journal.push_fault(AppendFault::Refuse(AppendRefusal::Unwritable {
                why: "the disk is full".into(),
            }));
        }
        Written::Well => {
            journal.push_successes(1);
        }
    }
}

pub(crate) fn said(script: &Script) -> ScriptedModel {
    let used = Usage {
        input: 10,
        output: 1,
        ..Usage::default()
    };
    let model = ScriptedModel::new();
    for said in &script.replies {
        let kind = ModelFailureKind::Overloaded;
        model.push_reply(match said {
            Said::Calls(tools) => {
                let names: Vec<String> = tools.iter().map(|tool| format!("box__{tool}")).collect();
                ScriptedReply::calls(names.iter().map(|name| (name.as_str(), "{}")))
                    .with_usage(used)
            }
            Said::Overloaded => {
                ScriptedReply::failure(ModelFailure::new(kind, Phase::BeforeFirstDelta, "busy"))
            }
        });
    }
    // A reply that gets lost is asked for again.
    for _ in 0..20 {
        model.push_reply(ScriptedReply::text("done").with_usage(used));
    }
    model
}

pub(crate) fn tools(script: &Script) -> ScriptedToolbox {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    let (never, later) = (Gate::new(), Gate::new());
    let (opening, wait) = (later.clone(), Duration::from_millis(script.later));
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        opening.open();
    });
    for (name, safety) in TOOLS {
        let text = ScriptedCall::text(name);
        toolbox.tool(name, safety).set_default_call(
            name,
            match name {
                "asks" => ScriptedCall::question("which?", json!({ "job": name })),
                "crashes" => ScriptedCall::panicking(),
                "fails" => {
                    let kind = ToolFailureKind::Unavailable;
                    ScriptedCall::failure(ToolFailure::not_sent(kind, "nobody is there"))
                }
                "hangs" => text.held_at(&never),
                "job" => text.accepted(json!({ "job": name })),
                "later" => text.held_at(&later),
                "lost" => {
                    let kind = ToolFailureKind::Unavailable;
                    ScriptedCall::failure(ToolFailure::unknown(kind, "nobody knows"))
                }
                "progresses" => text.progressed(1.0, Some(2.0), Some("half")),
                _ => text,
            },
        );
    }
    for _ in 0..50 {
        toolbox.push_resume(ScriptedCall::text("taken up"));
    }
    toolbox
}
