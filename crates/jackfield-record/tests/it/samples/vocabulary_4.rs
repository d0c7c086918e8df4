//! The kinds and fields since vocabulary 4.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::fact::{
    CachedCall, CallEnd, Compaction, Envelope, Fact, InputKind, ModelCallEnd, ToolUse,
};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::price::Money;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::PassedHeader;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::{BreakerSnapshot, Reservation, Target, TargetChoice, TargetReason};
use jackfield_domain::time::WallTime;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::{JobHandle, Question, Wait, WaitKind};
use serde_json::json;

use super::conversation::{reply_received, tool_result, user};
use super::{MODEL_ATTEMPT, call, failure, id, step, turn_opened_priced, usage, wait_id};

fn model() -> ModelRef {
    ModelRef {
        model: "model-2".into(),
        provider: "other".into(),
    }
}

fn reservations() -> Vec<Reservation> {
    vec![
        Reservation {
            budget: "team/day".into(),
            cost: Some(Money::from_picos(20_000_000_000)),
            tokens: None,
        },
        Reservation {
            budget: "key/month".into(),
            cost: None,
            tokens: Some(4_346),
        },
    ]
}

fn trace() -> Arc<TraceContext> {
    Arc::new(TraceContext {
        parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        state: Some("vendor=1".into()),
    })
}

pub(crate) fn backend_session() -> Envelope {
    let attempt = MODEL_ATTEMPT;
    let id = "5b3f0b3c-7d0e-4c1a-9a51-3f4f5f8f0c11".into();
    step(
        InputKind::ReplyDelta,
        vec![Fact::BackendSession { attempt, id }],
    )
}

pub(crate) fn compacted() -> Envelope {
    let compaction = |model, used| {
        Fact::Compacted(Arc::new(Compaction {
            attempt: ModelAttempt {
                round: 3,
                attempt: 0,
            },
            messages: vec![Arc::new(user())],
            failure: None,
            model,
            replaced: 40,
            usage: used,
        }))
    };
    step(
        InputKind::Woke,
        vec![
            compaction(Some(model()), Some(usage())),
            compaction(None, None),
        ],
    )
}

/// Attempts at a summary that failed, and that was cancelled.
pub(crate) fn compacted_failed() -> Envelope {
    let message = "the summary is empty";
    let failure = ModelFailure::new(ModelFailureKind::UnusableReply, Phase::MidReply, message);
    let compaction = |why, used| {
        Fact::Compacted(Arc::new(Compaction {
            attempt: ModelAttempt::compaction(2),
            failure: Some(why),
            messages: Vec::new(),
            model: Some(model()),
            replaced: 0,
            usage: used,
        }))
    };
    step(
        InputKind::ReplyEnded,
        vec![
            compaction(ModelCallEnd::Failed(failure), Some(usage())),
            compaction(ModelCallEnd::Cancelled, None),
        ],
    )
}

/// A turn that compacts its conversation, with a fallback.
pub(crate) fn turn_opened_compacting() -> Envelope {
    let mut envelope = turn_opened_priced();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            let setup = Arc::make_mut(setup);
            setup.compaction = Some(CompactionPolicy { at_percent: 80 });
            setup.window = Some(200_000);
            setup.fallbacks = vec![Target {
                content_filter: false,
                first_byte: None,
                model: model(),
                price: None,
                window: Some(1_000_000),
            }];
        }
    }
    envelope
}

/// An outcome that was copied from another call, and one that revealed tools.
pub(crate) fn call_closed_cached() -> Envelope {
    let opened = turn_opened_priced();
    let catalog = opened.facts.iter().find_map(|fact| {
        let Fact::TurnOpened { setup, .. } = fact else {
            return None;
        };
        Some(Arc::clone(&setup.catalog))
    });
    let closed = |cached, end, revealed| Fact::CallClosed {
        cached,
        call: call(),
        end,
        result: Arc::new(tool_result()),
        revealed,
        shown: None,
    };
    let from = CachedCall {
        call: call(),
        session: id(SessionId::parse("chat-1")),
        turn: id(TurnId::parse("turn_1")),
    };
    step(
        InputKind::ToolFinished,
        vec![
            closed(Some(Arc::new(from)), CallEnd::Cached, None),
            closed(None, CallEnd::Ran, catalog),
        ],
    )
}

/// A failure that is followed at once, and a reply that the client has to discard.
pub(crate) fn model_call_ended_at_once() -> Envelope {
    let ended = |at_once, withdrawn: bool, kind, advice| Fact::ModelCallEnded {
        at_once,
        attempt: MODEL_ATTEMPT,
        first_token: withdrawn.then_some(Duration::from_millis(350)),
        partial: None,
        retry_at: Some(WallTime::from_millis(1_790_000_000_123)),
        settled: reservations(),
        usage: None,
        why: ModelCallEnd::Failed(failure(kind, advice, Phase::BeforeFirstDelta)),
        withdrawn,
    };
    step(
        InputKind::ReplyFailed,
        vec![
            ended(
                true,
                false,
                ModelFailureKind::ToolsUnsupported,
                RetryAdvice::AtOnce,
            ),
            ended(
                true,
                false,
                ModelFailureKind::ContentFilter,
                RetryAdvice::Never,
            ),
            ended(
                false,
                true,
                ModelFailureKind::Interrupted,
                RetryAdvice::Backoff,
            ),
        ],
    )
}

/// Another target than the first, with the reason.
pub(crate) fn model_call_started_target() -> Envelope {
    let breaker = |retry_at, target| BreakerSnapshot { retry_at, target };
    let reasons = [
        TargetReason::Affinity,
        TargetReason::ContentFilter,
        TargetReason::ContextTooLong,
        TargetReason::Fallback,
        TargetReason::LastLeft,
        TargetReason::Strategy,
    ];
    let started = reasons.map(|reason| Fact::ModelCallStarted {
        active: Duration::from_micros(1_500),
        attempt: MODEL_ATTEMPT,
        choice: Some(Arc::new(TargetChoice {
            breakers: vec![
                breaker(Some(WallTime::from_millis(1_790_000_030_000)), 0),
                breaker(None, 1),
            ],
            reason,
        })),
        reserved: reservations(),
        target: 2,
        tools: ToolUse::Allowed,
    });
    step(InputKind::Woke, started.to_vec())
}

/// A reply with the time of its first token.
pub(crate) fn reply_received_timed() -> Envelope {
    let mut envelope = reply_received();
    for fact in &mut envelope.facts {
        if let Fact::ReplyReceived {
            first_token,
            settled,
            ..
        } = fact
        {
            *first_token = Some(Duration::from_micros(412_500));
            *settled = reservations();
        }
    }
    envelope
}

/// A turn of an assistant, over a route, with a trace and headers that are passed along.
pub(crate) fn turn_opened_routed() -> Envelope {
    let mut envelope = turn_opened_priced();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            let setup = Arc::make_mut(setup);
            setup.assistant = Some("support".into());
            setup.fallbacks = vec![
                Target {
                    content_filter: false,
                    first_byte: Some(Duration::from_secs(5)),
                    model: model(),
                    price: setup.price.clone(),
                    window: None,
                },
                Target {
                    content_filter: true,
                    first_byte: None,
                    model: model(),
                    price: None,
                    window: None,
                },
            ];
            setup.affinity = Some(1);
            setup.first_byte = Some(Duration::from_millis(2_500));
            setup.route = Some("fast".into());
            setup.trace = Some(trace());
            Arc::make_mut(&mut setup.settings).headers = vec![PassedHeader {
                dialect: "claude".into(),
                name: "anthropic-beta".into(),
                value: "context-1m-2025-08-07".into(),
            }];
        }
    }
    envelope
}

/// Questions of MCP servers that are answered at an address, or by a model.
pub(crate) fn wait_opened_question() -> Envelope {
    let opened = |sampling, url: Option<&str>| Fact::WaitOpened {
        wait: Wait {
            call: call(),
            deadline: WallTime::from_millis(1_790_000_086_400),
            id: wait_id(),
            kind: WaitKind::Elicitation {
                handle: JobHandle(Arc::new(json!({ "task": 1 }))),
                question: Question {
                    message: "Sign in".into(),
                    sampling,
                    schema: None,
                    url: url.map(Into::into),
                },
            },
        },
    };
    let request = json!({ "maxTokens": 100, "messages": [] });
    step(
        InputKind::ToolAsked,
        vec![
            opened(None, Some("https://login.example/start")),
            opened(Some(Arc::new(request)), None),
        ],
    )
}

/// A turn that waits for room in a budget, if there is none.
pub(crate) fn wait_opened_budget() -> Envelope {
    let mut envelope = turn_opened_priced();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            Arc::make_mut(setup).pauses = true;
        }
    }
    envelope.facts.push(Fact::WaitOpened {
        wait: Wait {
            call: call(),
            deadline: WallTime::from_millis(1_790_000_086_400),
            id: wait_id(),
            kind: WaitKind::Budget {
                message: "the budget of the user `ann`, 5 USD per day, is used up".into(),
            },
        },
    });
    envelope
}

/// A request that was passed through.
pub(crate) fn spending() -> SpendingRecord {
    SpendingRecord {
        at: WallTime::from_millis(1_790_000_000_123),
        endpoint: "/v1/messages".into(),
        first_token: Some(Duration::from_millis(350)),
        id: "pass-1".into(),
        model: model(),
        price: None,
        principal: "ci/мария".into(),
        own_key: false,
        repeats_facts: false,
        request_id: Some("req_011CSHoEeqs5C35K2UUqR7Fy".into()),
        route: Some("fast".into()),
        settled: reservations(),
        status: Some(200),
        tags: Vec::new(),
        took: Duration::from_millis(2_500),
        trace: Some(trace()),
        usage: usage(),
    }
}
