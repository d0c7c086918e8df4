//! One step per kind of fact, with every field that the kind may have.

mod approval;
mod billing;
mod caller;
mod conversation;
mod directory;
mod tool_search;
mod turn;
mod vocabulary_4;

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{
    AfterLoss, CallEnd, Envelope, Fact, InputKind, Late, ModelCallEnd, ToolUse, TurnEnd,
};
use jackfield_domain::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, RetryAdvice, ToolFailureKind,
};
use jackfield_domain::ids::{
    DeliveryId, ForkPlace, ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId,
};
use jackfield_domain::limits::LimitKind;
use jackfield_domain::naming::bare_tool_name;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::restrictions::{Restriction, Restrictions};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, Delivery, DeliveryBody, ElicitationAnswer, JobHandle, Question,
    UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use serde_json::{Map, Value, json};

pub(crate) use self::approval::{
    call_started_approved, call_started_until, delivered_grant, turn_opened_granted,
    wait_closed_granted, wait_opened_approval,
};
pub(crate) use self::billing::{late_detailed, turn_opened_tiered};
pub(crate) use self::caller::{
    delivered_late, delivered_result, delivered_withdrawn, delivered_written, turn_ended_viewed,
    turn_opened_called, turn_opened_streamed, wait_closed_brought,
};
pub(crate) use self::conversation::{reply_received, tool_result};
pub(crate) use self::directory::directory_changes;
pub(crate) use self::tool_search::tool_search;
pub(crate) use self::turn::{
    tags, turn_opened, turn_opened_priced, turn_opened_strict, turn_opened_tagged,
};
pub(crate) use self::vocabulary_4::{
    backend_session, call_closed_cached, compacted, compacted_failed, model_call_ended_at_once,
    model_call_started_target, reply_received_timed, spending, turn_opened_compacting,
    turn_opened_routed, wait_opened_budget, wait_opened_question,
};

fn step(input: InputKind, facts: Vec<Fact>) -> Envelope {
    Envelope {
        facts,
        input,
        now: Now {
            wall: WallTime::from_millis(1_790_000_000_123),
            mono: MonoTime::from_start(Duration::from_millis(12_345)),
        },
        step: 7,
        version: 1,
    }
}

fn id<T, E: std::fmt::Display>(parsed: Result<T, E>) -> T {
    parsed.unwrap_or_else(|invalid| panic!("{invalid}"))
}

fn turn_id() -> TurnId {
    TurnId::derive(&id(SessionId::parse("chat-1")), 2)
}

fn call() -> ToolCallId {
    id(ToolCallId::parse("call_1"))
}

fn wait_id() -> WaitId {
    id(WaitId::parse("wait_1"))
}

const MODEL_ATTEMPT: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 2,
};

fn tool_attempt() -> ToolAttempt {
    ToolAttempt {
        call: call(),
        attempt: 1,
    }
}

fn fields(json: &Value) -> Map<String, Value> {
    json.as_object().cloned().unwrap_or_default()
}

fn failure(kind: ModelFailureKind, advice: RetryAdvice, phase: Phase) -> ModelFailure {
    ModelFailure {
        advice,
        kind,
        message: "the provider said so".to_owned(),
        phase,
        request_id: None,
    }
}

pub(crate) fn call_accepted() -> Envelope {
    let handle = JobHandle(Arc::new(json!({ "task": "t-1", "also": null })));
    let attempt = tool_attempt();
    step(
        InputKind::ToolAccepted,
        vec![Fact::CallAccepted { attempt, handle }],
    )
}

pub(crate) fn call_closed() -> Envelope {
    let closed = |end, shown| Fact::CallClosed {
        call: call(),
        end,
        result: Arc::new(tool_result()),
        shown,
        cached: None,
        revealed: None,
    };
    let empty = Fact::CallClosed {
        call: call(),
        end: CallEnd::Denied,
        result: Arc::default(),
        shown: None,
        cached: None,
        revealed: None,
    };
    step(
        InputKind::ToolFinished,
        vec![closed(CallEnd::Ran, Some(262_144)), empty],
    )
}

pub(crate) fn call_lost() -> Envelope {
    let lost = Fact::CallLost {
        attempt: tool_attempt(),
        disposition: Disposition::NotSent,
        kind: ToolFailureKind::InvalidArguments,
        message: "`n` is missing".into(),
        then: AfterLoss::Report,
    };
    step(InputKind::ToolFailed, vec![lost])
}

pub(crate) fn call_started() -> Envelope {
    let started = |edited: Option<ToolInput>| Fact::CallStarted {
        attempt: tool_attempt(),
        approval: None,
        edited: edited.map(Arc::new),
        may_repeat: true,
        repeat_until: None,
        time_limit: Duration::from_millis(30_500),
    };
    let edited = ToolInput::Json(JsonInput::from(fields(&json!({ "b": 1, "a": 0.1 }))));
    step(
        InputKind::ReplyEnded,
        vec![
            started(None),
            started(Some(edited)),
            started(Some(ToolInput::Text("SELECT 1".into()))),
        ],
    )
}

pub(crate) fn late() -> Envelope {
    let outcome = Late::Outcome {
        attempt: tool_attempt(),
        is_error: false,
        size: 4_096,
    };
    let used = Late::Usage {
        attempt: MODEL_ATTEMPT,
        usage: usage(),
    };
    step(
        InputKind::ReplyEnded,
        vec![Fact::Late(outcome), Fact::Late(used)],
    )
}

fn usage() -> Usage {
    Usage {
        cache_read: 100,
        cache_write: 20,
        input: 250,
        output: 60,
        reasoning: 40,
        ..Usage::default()
    }
}

pub(crate) fn model_call_ended() -> Envelope {
    let too_long = ModelFailureKind::ContextTooLong {
        limit: Some(200_000),
        requested: None,
    };
    let ended = |why, partial, retry_at| Fact::ModelCallEnded {
        attempt: MODEL_ATTEMPT,
        partial,
        retry_at,
        usage: None,
        why,
        at_once: false,
        first_token: None,
        settled: Vec::new(),
        withdrawn: false,
    };
    let busy = failure(
        ModelFailureKind::RateLimited,
        RetryAdvice::After(Duration::from_secs(20)),
        Phase::BeforeFirstDelta,
    );
    let again = Some(WallTime::from_millis(1_790_000_020_123));
    let long = failure(too_long, RetryAdvice::Never, Phase::BeforeSend);
    let partial = Some(Arc::new(conversation::partial()));
    step(
        InputKind::ReplyFailed,
        vec![
            ended(ModelCallEnd::Failed(busy), None, again),
            ended(ModelCallEnd::Failed(long), None, None),
            ended(ModelCallEnd::Cancelled, partial, None),
            ended(ModelCallEnd::Lost, None, None),
        ],
    )
}

/// What was not counted, as an estimate.
pub(crate) fn model_call_ended_estimated() -> Envelope {
    let mut envelope = model_call_ended();
    envelope.facts.drain(..2);
    for fact in &mut envelope.facts {
        if let Fact::ModelCallEnded { usage, .. } = fact {
            *usage = Some(Usage::estimate(250, 60));
        }
    }
    envelope
}

/// Kinds of failure since vocabulary 3, and the provider's id of the request.
pub(crate) fn model_call_ended_request() -> Envelope {
    let kinds = [
        (ModelFailureKind::ServerError, RetryAdvice::Backoff),
        (ModelFailureKind::TooLarge, RetryAdvice::Never),
        (ModelFailureKind::UnusableReply, RetryAdvice::Backoff),
    ];
    let facts = kinds.map(|(kind, advice)| Fact::ModelCallEnded {
        attempt: MODEL_ATTEMPT,
        partial: None,
        retry_at: None,
        usage: None,
        why: ModelCallEnd::Failed(ModelFailure {
            request_id: Some("req_011CSHoEeqs5C35K2UUqR7Fy".into()),
            ..failure(kind, advice, Phase::BeforeFirstDelta)
        }),
        at_once: false,
        first_token: None,
        settled: Vec::new(),
        withdrawn: false,
    });
    step(InputKind::ReplyFailed, facts.to_vec())
}

pub(crate) fn model_call_started() -> Envelope {
    let started = |tools| Fact::ModelCallStarted {
        active: Duration::from_micros(1_500),
        attempt: MODEL_ATTEMPT,
        tools,
        choice: None,
        reserved: Vec::new(),
        target: 0,
    };
    step(
        InputKind::Began,
        vec![
            started(ToolUse::Allowed),
            started(ToolUse::FirstRoundOnly),
            started(ToolUse::LastRound(LimitKind::NoProgress)),
        ],
    )
}

pub(crate) fn session_forked() -> Envelope {
    let at = |round| ForkPlace {
        ordinal: 2,
        round,
        turn: turn_id(),
    };
    let forked = |round| Fact::SessionForked {
        at: at(round),
        from: id(SessionId::parse("chat-1")),
        messages: Arc::new(vec![
            Arc::new(conversation::user()),
            Arc::new(conversation::partial()),
        ]),
        revealed: Vec::new(),
    };
    step(InputKind::Forked, vec![forked(Some(3)), forked(None)])
}

pub(crate) fn session_imported() -> Envelope {
    let imported = |created, title: Option<&str>| Fact::SessionImported {
        created,
        messages: Arc::new(vec![Arc::new(conversation::user())]),
        source: "ChatGPT".into(),
        title: title.map(Arc::from),
    };
    let created = Some(WallTime::from_millis(1_746_230_400_250));
    let facts = vec![imported(created, Some("Plans")), imported(None, None)];
    step(InputKind::Imported, facts)
}

/// A turn whose money was used up.
pub(crate) fn turn_ended_cost() -> Envelope {
    let limit = LimitKind::Cost;
    let is_error = true;
    let end = TurnEnd::Limited { is_error, limit };
    let view = None;
    step(InputKind::ReplyEnded, vec![Fact::TurnEnded { end, view }])
}

pub(crate) fn turn_ended() -> Envelope {
    let broken = failure(
        ModelFailureKind::Interrupted,
        RetryAdvice::Backoff,
        Phase::MidReply,
    );
    let ends = [
        TurnEnd::Answered(FinishReason::Stop),
        TurnEnd::Answered(FinishReason::StopSequence("\nКонец".into())),
        TurnEnd::Cancelled(CancelCause::Asked),
        TurnEnd::ClientExpired,
        TurnEnd::Failed(broken.clone()),
        TurnEnd::Interrupted(broken),
        TurnEnd::Limited {
            is_error: false,
            limit: LimitKind::Rounds,
        },
    ];
    let facts = ends
        .into_iter()
        .map(|end| Fact::TurnEnded { end, view: None })
        .collect();
    step(InputKind::ReplyEnded, facts)
}

pub(crate) fn turn_resumed() -> Envelope {
    step(
        InputKind::Recovered,
        vec![Fact::TurnResumed {
            nth: 1,
            restrictions: None,
        }],
    )
}

pub(crate) fn turn_resumed_restricted() -> Envelope {
    let tools = [
        ("files__read", Restriction::Gone),
        (
            "files__write",
            Restriction::Denied("denied by a rule".into()),
        ),
        ("notes__add", Restriction::Changed),
    ];
    let tools = tools.map(|(tool, why)| (bare_tool_name(tool), why));
    let restrictions = Some(Arc::new(Restrictions {
        tools: tools.into_iter().collect(),
    }));
    let fact = Fact::TurnResumed {
        nth: 2,
        restrictions,
    };
    step(InputKind::Recovered, vec![fact])
}

fn answers() -> Vec<Answer> {
    let edited = Some(Arc::new(fields(&json!({ "path": "/tmp/ß" }))));
    vec![
        Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
        Answer::Approval(Approval::Granted {
            edited,
            for_session: false,
        }),
        Answer::Approval(Approval::Denied {
            reason: "不行".into(),
        }),
        Answer::ClientResult(tool_result().into()),
        Answer::Elicitation(ElicitationAnswer::Accepted(Arc::new(
            json!({ "city": "东京" }),
        ))),
        Answer::Elicitation(ElicitationAnswer::Declined),
        Answer::Elicitation(ElicitationAnswer::Dismissed),
        Answer::UnknownOutcome(UnknownAnswer::Landed(tool_result())),
        Answer::UnknownOutcome(UnknownAnswer::Report),
        Answer::UnknownOutcome(UnknownAnswer::Retry),
    ]
}

pub(crate) fn wait_closed() -> Envelope {
    let answered = answers().into_iter().map(|answer| WaitEnd::Answered {
        answer,
        by: "cli".into(),
        delivery: id(DeliveryId::parse("delivery-1")),
    });
    let ends = [WaitEnd::Cancelled, WaitEnd::Expired, WaitEnd::Superseded];
    let facts = answered.chain(ends).map(|end| Fact::WaitClosed {
        end,
        subject: None,
        wait: wait_id(),
    });
    step(InputKind::Delivered, facts.collect())
}

pub(crate) fn wait_opened() -> Envelope {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let elicitation = WaitKind::Elicitation {
        handle: JobHandle(Arc::new(json!("request-7"))),
        question: Question {
            message: "Which city?".into(),
            schema: Some(Arc::new(schema)),
            sampling: None,
            url: None,
        },
    };
    let kinds = [
        WaitKind::Approval { subject: None },
        WaitKind::ClientResult,
        elicitation,
        WaitKind::UnknownOutcome,
    ];
    let facts = kinds.into_iter().map(|kind| Fact::WaitOpened {
        wait: Wait {
            call: call(),
            deadline: WallTime::from_millis(1_790_086_400_123),
            id: wait_id(),
            kind,
        },
    });
    step(InputKind::ToolAsked, facts.collect())
}

pub(crate) fn delivered_answer() -> Delivery {
    delivery(DeliveryBody::Answer {
        answer: Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
        wait: wait_id(),
    })
}

pub(crate) fn delivered_cancel() -> Delivery {
    delivery(DeliveryBody::Cancel {
        cause: CancelCause::Superseded,
        turn: turn_id(),
    })
}

fn delivery(body: DeliveryBody) -> Delivery {
    Delivery {
        at: WallTime::from_millis(1_790_000_001_000),
        body,
        by: "http: мария".into(),
        id: id(DeliveryId::parse("delivery-1")),
    }
}
