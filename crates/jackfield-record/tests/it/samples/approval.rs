//! What approvals have besides since they were first stored: what they are bound to, and grants for a session.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::setup::Setup;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::{Catalog, Permission};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::{Answer, Approval, Delivery, DeliveryBody, Wait, WaitEnd, WaitKind};
use serde_json::json;

use super::{call, delivery, fields, id, step, tool_attempt, turn_opened, wait_id};

fn subject() -> Digest {
    Digest::of(b"subject")
}

fn granted() -> Answer {
    Answer::Approval(Approval::Granted {
        edited: Some(Arc::new(fields(&json!({ "path": "/etc/hosts" })))),
        for_session: true,
    })
}

pub(crate) fn call_started_approved() -> Envelope {
    let edited = ToolInput::Json(JsonInput::from(fields(&json!({ "path": "/etc/hosts" }))));
    let started = Fact::CallStarted {
        approval: Some(wait_id()),
        attempt: tool_attempt(),
        edited: Some(Arc::new(edited)),
        may_repeat: false,
        repeat_until: None,
        time_limit: Duration::from_secs(30),
    };
    step(InputKind::Delivered, vec![started])
}

pub(crate) fn call_started_until() -> Envelope {
    let started = Fact::CallStarted {
        approval: None,
        attempt: tool_attempt(),
        edited: None,
        may_repeat: true,
        repeat_until: Some(WallTime::from_millis(1_790_086_400_123)),
        time_limit: Duration::from_secs(30),
    };
    step(InputKind::ReplyEnded, vec![started])
}

pub(crate) fn delivered_grant() -> Delivery {
    delivery(DeliveryBody::Answer {
        answer: granted(),
        wait: wait_id(),
    })
}

pub(crate) fn turn_opened_granted() -> Envelope {
    let mut envelope = turn_opened();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            let mut tools: Vec<_> = setup.catalog.iter().cloned().collect();
            for tool in &mut tools {
                if tool.permission == Permission::Ask {
                    tool.permission = Permission::Granted {
                        by: "cli: мария".into(),
                        wait: wait_id(),
                    };
                }
            }
            *setup = Arc::new(Setup {
                catalog: Arc::new(Catalog::from_iter(tools)),
                ..Setup::clone(setup)
            });
        }
    }
    envelope
}

pub(crate) fn wait_closed_granted() -> Envelope {
    let closed = Fact::WaitClosed {
        end: WaitEnd::Answered {
            answer: granted(),
            by: "cli: мария".into(),
            delivery: id(DeliveryId::parse("delivery-1")),
        },
        subject: Some(subject()),
        wait: wait_id(),
    };
    step(InputKind::Delivered, vec![closed])
}

pub(crate) fn wait_opened_approval() -> Envelope {
    let wait = Wait {
        call: call(),
        deadline: WallTime::from_millis(1_790_086_400_123),
        id: wait_id(),
        kind: WaitKind::Approval {
            subject: Some(subject()),
        },
    };
    step(InputKind::ReplyEnded, vec![Fact::WaitOpened { wait }])
}
