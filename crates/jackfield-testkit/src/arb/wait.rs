//! Waits and deliveries.

use std::sync::Arc;

use jackfield_domain::caller::Repeats;
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, ClientResult, Delivery, DeliveryBody, ElicitationAnswer,
    JobHandle, Question, UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::call::{call_id, tool_result};
use super::fact::{tool_attempt, turn_id, wall_time};
use super::text::{id, json, json_object, text};
use super::tool::{digest, schema};

/// A job handle.
pub fn job_handle() -> impl Strategy<Value = JobHandle> + Clone {
    json().prop_map(|json| JobHandle(Arc::new(json)))
}

/// A tool's question.
pub fn question() -> impl Strategy<Value = Question> + Clone {
    let sampling = option::weighted(0.2, json());
    let url = option::weighted(0.2, text());
    (text(), sampling, option::of(schema()), url)
        .prop_map(|(message, sampling, schema, url)| Question {
            message,
            sampling: sampling.map(Arc::new),
            schema: schema.map(Arc::new),
            url,
        })
        .boxed()
}

/// An open question of any kind.
pub fn wait() -> impl Strategy<Value = Wait> + Clone {
    let kind = prop_oneof![
        option::of(digest()).prop_map(|subject| WaitKind::Approval { subject }),
        text().prop_map(|message| WaitKind::Budget { message }),
        Just(WaitKind::ClientResult),
        Just(WaitKind::UnknownOutcome),
        (job_handle(), question())
            .prop_map(|(handle, question)| WaitKind::Elicitation { handle, question }),
    ];
    (call_id(), wall_time(), wait_id(), kind)
        .prop_map(|(call, deadline, id, kind)| Wait {
            call,
            deadline,
            id,
            kind,
        })
        .boxed()
}

/// An answer to a wait of any kind.
pub fn answer() -> impl Strategy<Value = Answer> + Clone {
    prop_oneof![
        text().prop_map(|reason| Answer::Approval(Approval::Denied { reason })),
        (option::of(json_object()), any::<bool>()).prop_map(|(edited, for_session)| {
            Answer::Approval(Approval::Granted {
                edited: edited.map(Arc::new),
                for_session,
            })
        }),
        client_result().prop_map(Answer::ClientResult),
        json().prop_map(|json| Answer::Elicitation(ElicitationAnswer::Accepted(Arc::new(json)))),
        Just(Answer::Elicitation(ElicitationAnswer::Declined)),
        Just(Answer::Elicitation(ElicitationAnswer::Dismissed)),
        tool_result().prop_map(|result| Answer::UnknownOutcome(UnknownAnswer::Landed(result))),
        Just(Answer::UnknownOutcome(UnknownAnswer::Report)),
        Just(Answer::UnknownOutcome(UnknownAnswer::Retry)),
    ]
    .boxed()
}

fn client_result() -> impl Strategy<Value = ClientResult> + Clone {
    let repeats = (text(), text()).prop_map(|(echo, model)| Arc::new(Repeats { echo, model }));
    (option::of(repeats), tool_result())
        .prop_map(|(repeats, result)| ClientResult { repeats, result })
        .boxed()
}

/// The contents of a delivery.
pub fn delivery_body() -> impl Strategy<Value = DeliveryBody> + Clone {
    prop_oneof![
        4 => (answer(), wait_id()).prop_map(|(answer, wait)| DeliveryBody::Answer { answer, wait }),
        1 => (cancel_cause(), turn_id()).prop_map(|(cause, turn)| DeliveryBody::Cancel { cause, turn }),
        1 => (tool_attempt(), any::<bool>(), 0..4096_usize, text()).prop_map(
            |(attempt, is_error, size, text)| DeliveryBody::Late { attempt, is_error, size, text }
        ),
        1 => turn_id().prop_map(|turn| DeliveryBody::Withdrawn { turn }),
        1 => (0..4_u32, turn_id()).prop_map(|(segment, turn)| DeliveryBody::Written { segment, turn }),
    ]
    .boxed()
}

/// A delivery.
pub fn delivery() -> impl Strategy<Value = Delivery> + Clone {
    (wall_time(), delivery_body(), text(), delivery_id())
        .prop_map(|(at, body, by, id)| Delivery { at, body, by, id })
        .boxed()
}

/// The end of a wait.
pub fn wait_end() -> impl Strategy<Value = WaitEnd> + Clone {
    prop_oneof![
        3 => (answer(), text(), delivery_id())
            .prop_map(|(answer, by, delivery)| WaitEnd::Answered { answer, by, delivery }),
        1 => Just(WaitEnd::Cancelled),
        1 => Just(WaitEnd::Expired),
        1 => Just(WaitEnd::Superseded),
    ]
    .boxed()
}

pub(super) fn cancel_cause() -> impl Strategy<Value = CancelCause> + Clone {
    select(&[CancelCause::Asked, CancelCause::Superseded][..])
}

pub(super) fn wait_id() -> impl Strategy<Value = WaitId> + Clone {
    id(WaitId::MAX).prop_map(|text| match WaitId::parse(&text) {
        Ok(id) => id,
        Err(invalid) => unreachable!("{invalid}"),
    })
}

fn delivery_id() -> impl Strategy<Value = DeliveryId> + Clone {
    id(DeliveryId::MAX).prop_map(|text| match DeliveryId::parse(&text) {
        Ok(id) => id,
        Err(invalid) => unreachable!("{invalid}"),
    })
}
