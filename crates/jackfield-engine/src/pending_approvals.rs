//! Requests to the approver: each runs in a task beside the turn, and its decision goes into the inbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_domain::ids::DeliveryId;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::tool_loop::{Action, ToolLoop};
use jackfield_domain::wait::{Answer, Approval, DeliveryBody, Wait, WaitKind};
use jackfield_ports::journal::Journal as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::approver::{ApprovalRequest, Approver, Decision};
use crate::error::chain;
use crate::events::{TaskEvent, ToolNotice};
use crate::state::EngineState;

/// The approvals that the approver is deciding. Dropping this aborts them; recovery asks again.
pub(crate) struct PendingApprovals {
    open: Arc<AtomicUsize>,
    tasks: JoinSet<()>,
}

impl PendingApprovals {
    pub(crate) fn new() -> Self {
        Self {
            open: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    /// Whether the approver may still decide.
    pub(crate) fn has_open(&self) -> bool {
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Asks the approver about the approvals that these actions open.
    pub(crate) fn request(
        &mut self,
        shared: &Arc<EngineState>,
        sender: &mpsc::Sender<TaskEvent>,
        turn: &ToolLoop,
        actions: &[Action],
    ) {
        let Some(approver) = &shared.approver else {
            return;
        };
        while self.tasks.try_join_next().is_some() {}
        for action in actions {
            if let Action::OpenWait(wait) = action
                && let Some(request) = approval_request(turn, wait)
            {
                self.open.fetch_add(1, Ordering::SeqCst);
                let (approver, shared) = (Arc::clone(approver), Arc::clone(shared));
                let (open, sender) = (Arc::clone(&self.open), sender.clone());
                self.tasks.spawn(async move {
                    let decision = decide(&approver, &request).await;
                    let left_to_person =
                        deliver(&shared, approver.name(), &request, decision).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                    if left_to_person {
                        // The driver is gone only when the result is no longer needed.
                        let _gone = sender
                            .send(TaskEvent::Notice(ToolNotice::Undecided(request.wait)))
                            .await;
                    }
                });
            }
        }
    }
}

/// The approver's decision; a panic counts as a denial.
async fn decide(approver: &Arc<dyn Approver>, request: &ApprovalRequest) -> Decision {
    let mut task = JoinSet::new();
    let (asks, question) = (Arc::clone(approver), request.clone());
    let ApprovalRequest {
        call,
        session,
        turn,
        ..
    } = request;
    let span = tracing::warn_span!("approver", %session, %turn, %call);
    task.spawn(async move { asks.decide(&question).await }.instrument(span.clone()));
    let joined = task.join_next().await;
    let _within = span.entered();
    let decision = match joined {
        Some(Ok(decision)) => decision,
        Some(Err(_)) | None => Decision::failed(approver.name(), "it crashed"),
    };
    match (&decision, &request.input) {
        // Arguments that are equal to the original are not an edit.
        (Decision::Allow(Some(edited)), ToolInput::Json(input)) if input.object() == Ok(edited) => {
            Decision::Allow(None)
        }
        (Decision::Allow(Some(_)), ToolInput::Text(_)) => Decision::failed(
            approver.name(),
            "the call has no JSON arguments that could be changed",
        ),
        (Decision::Allow(_) | Decision::Ask | Decision::Deny(_), _) => decision,
    }
}

/// Delivers the decision to the inbox. Returns whether the approval is left to a person.
async fn deliver(
    shared: &EngineState,
    approver_name: &str,
    request: &ApprovalRequest,
    decision: Decision,
) -> bool {
    let approval = match decision {
        Decision::Allow(edited) => Approval::Granted {
            edited,
            for_session: false,
        },
        Decision::Ask => return true,
        Decision::Deny(reason) => Approval::Denied { reason },
    };
    let body = DeliveryBody::Answer {
        answer: Answer::Approval(approval),
        wait: request.wait.clone(),
    };
    let Ok(id) = DeliveryId::parse(&format!("approver-{}", request.wait)) else {
        return true;
    };
    let by = format!("the approver {approver_name}").into();
    // The first answer wins; later ones get its outcome.
    if let Err(error) = shared.journal.deliver(&request.session, id, by, body).await {
        let (error, ApprovalRequest { session, turn, .. }) = (chain(&error), request);
        tracing::warn!(%session, %turn, %error, "the answer of an approver cannot be delivered; the question stays open");
        // The approval would otherwise stay unanswered, so a person is asked. If the delivery did succeed, the
        // person learns that the approval is closed.
        return true;
    }
    false
}

/// The request to the approver for an approval that is open.
fn approval_request(turn: &ToolLoop, wait: &Wait) -> Option<ApprovalRequest> {
    let WaitKind::Approval { subject } = &wait.kind else {
        return None;
    };
    let (tool, input) = turn.turn().call_for_wait(wait)?;
    Some(ApprovalRequest {
        call: wait.call.clone(),
        deadline: wait.deadline,
        input: input.clone(),
        session: turn.session().clone(),
        subject: *subject,
        tool: tool.origin.clone(),
        turn: turn.turn().id().clone(),
        wait: wait.id.clone(),
    })
}
