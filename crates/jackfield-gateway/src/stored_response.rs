//! A stored response, rebuilt from its journal.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ReplyInfo, ServeError};
use jackfield_dialect_openai::responses::serve as dialect;
use jackfield_dialect_openai::responses::stream::IncompleteStatus;
use jackfield_domain::block::Content;
use jackfield_domain::client_view::{ClientEvent, ClientView, SegmentEnd, Segments, facts_before};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::{Envelope, Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::session_events::{EventStream, SessionEvent};
use jackfield_domain::setup::Opening;
use jackfield_domain::wait::{Answer, WaitEnd};
use serde_json::{Map, Value};

use crate::failures::from_turn_end;
use crate::gateway::Gateway;
use crate::previous;

/// A stored response.
#[derive(Debug)]
pub struct StoredResponse {
    /// The metadata of the response.
    pub about: ReplyInfo,
    /// The messages of its request.
    pub input: Vec<Message>,
    /// Its principal, with the end user.
    pub principal: Option<Arc<str>>,
    /// Its segment of the turn.
    pub segment: u32,
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: TurnId,
    /// The end of the segment, if it has ended.
    end: Option<SegmentEnd>,
    pieces: Vec<(Delta, Option<ToolCallId>)>,
}

impl StoredResponse {
    /// Loads the response of this id, without its prefix, for the client that received it.
    ///
    /// # Errors
    ///
    /// [`NoSuchReply`](jackfield_dialect_kit::serve::ServeErrorKind): it does not exist, or belongs to another
    /// client.
    pub async fn find(gateway: &Gateway, principal: &str, id: &str) -> Result<Self, ServeError> {
        let found = previous::find(gateway.engine(), principal, id).await?;
        let folded = ResponseFold::fold(found.loaded.steps, &found.turn, found.segment);
        let about = about(gateway, &folded, found.echo, &found.model);
        let about = about.ok_or_else(|| previous::not_found(id))?;
        Ok(Self {
            about,
            input: folded.input,
            end: folded.end,
            pieces: folded.pieces,
            principal: folded.principal,
            segment: found.segment,
            session: found.session,
            turn: found.turn,
        })
    }

    /// The body of its current state.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let pieces = self.pieces.iter();
        let pieces = pieces.map(|(delta, call)| (delta, call.as_ref()));
        let standing = match &self.end {
            Some(SegmentEnd::Whole(end)) => {
                return dialect::complete_body(&self.about, pieces, end);
            }
            Some(SegmentEnd::Failed(TurnEnd::Cancelled(_))) => IncompleteStatus::Cancelled,
            Some(SegmentEnd::Failed(end)) => {
                IncompleteStatus::Failed(dialect::to_response_error(&from_turn_end(end)))
            }
            Some(SegmentEnd::BrokenOff(_)) | None => IncompleteStatus::InProgress,
        };
        dialect::incomplete_body(&self.about, pieces, &standing)
    }

    /// Whether it is a background response.
    #[must_use]
    pub fn is_in_background(&self) -> bool {
        self.about.echo.get("background") == Some(&Value::Bool(true))
    }

    /// Whether it is finished.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.end.is_some()
    }
}

fn input_messages(opening: &Opening) -> Vec<Message> {
    match opening {
        Opening::ClientResults(results) => {
            let results = results.iter().cloned();
            let blocks = results.map(|outcome| Content::ToolOutcome(outcome).into());
            vec![Message::new(Role::Tool, blocks.collect())]
        }
        Opening::Transcript(transcript) => {
            let messages = transcript.messages().iter();
            messages.map(|message| Message::clone(message)).collect()
        }
        Opening::UserMessage(message) => vec![Message::clone(message)],
    }
}

/// The metadata of a response; `None` if the turn has no such segment.
fn about(
    gateway: &Gateway,
    folded: &ResponseFold,
    mut echo: Map<String, Value>,
    model: &str,
) -> Option<ReplyInfo> {
    let begun = u64::try_from(folded.created?).unwrap_or_default();
    let created = echo.remove(previous::CREATED);
    let setup = folded.segments.as_ref()?.turn().setup();
    let owner = gateway
        .engine()
        .state_owner(&setup.model.provider, &setup.model.model);
    Some(ReplyInfo {
        // The turn's time in the journal can be a second later than that of its request.
        created: created
            .and_then(|created| created.as_u64())
            .unwrap_or(begun),
        dialect: owner.map(|owner| owner.dialect),
        echo,
        id: format!("{}_{}", folded.turn, folded.segment),
        model: model.to_owned(),
    })
}

/// Folds the steps of a session into a response.
struct ResponseFold {
    input: Vec<Message>,
    /// The time of its request, in seconds since 1970.
    created: Option<i64>,
    end: Option<SegmentEnd>,
    pieces: Vec<(Delta, Option<ToolCallId>)>,
    principal: Option<Arc<str>>,
    segment: u32,
    segments: Option<Segments>,
    turn: TurnId,
}

impl ResponseFold {
    /// Reads one segment of a turn.
    fn fold(steps: Vec<Envelope>, turn: &TurnId, segment: u32) -> Self {
        let mut folded = Self {
            input: Vec::new(),
            created: None,
            end: None,
            pieces: Vec::new(),
            principal: None,
            segment,
            segments: None,
            turn: turn.clone(),
        };
        let Some(before) = facts_before(&steps, turn) else {
            return folded;
        };
        let mut events = EventStream::new(Cursor::after_facts(before));
        for step in steps {
            events.feed(step);
        }
        let mut view = ClientView::new(turn.clone(), segment);
        while let Some((_, event)) = events.next() {
            folded.apply(&event);
            for client_event in view.apply(&event) {
                match client_event {
                    ClientEvent::Retried(_) => {}
                    ClientEvent::Piece { call, delta } => folded.pieces.push((delta, call)),
                    ClientEvent::End(end) => {
                        folded.end = Some(end);
                        return folded;
                    }
                }
            }
        }
        folded
    }

    fn apply(&mut self, event: &SessionEvent) {
        let (fact, is_last, now) = match event {
            SessionEvent::Fact { fact, is_last, now } => (fact, *is_last, now),
            SessionEvent::Superseded { fact, now, .. } => (fact, false, now),
            SessionEvent::Text { .. } => return,
        };
        let now = now.wall.as_millis().div_euclid(1000);
        let Some(segments) = &mut self.segments else {
            if let Fact::TurnOpened {
                opening,
                setup,
                turn,
                ..
            } = &**fact
                && *turn == self.turn
            {
                self.segments = Segments::open(fact);
                let caller = setup.caller.as_ref();
                self.principal = caller.map(|caller| Arc::clone(&caller.principal));
                if self.segment == 0 {
                    self.created = Some(now);
                    self.input = input_messages(opening);
                }
            }
            return;
        };
        // A later segment begins with client results.
        if let Fact::WaitClosed { end, wait, .. } = &**fact
            && let WaitEnd::Answered { answer, .. } = end
            && let Answer::ClientResult(client_result) = answer
            && self.segment > 0
            && segments.current() == self.segment
        {
            self.created.get_or_insert(now);
            let mut waits = segments.turn().waits();
            if let Some(open) = waits.find(|open| open.id == *wait) {
                let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
                    call: open.call.clone(),
                    opaque: Vec::new(),
                    result: client_result.result.clone(),
                }));
                let message = Message::new(Role::Tool, vec![outcome.into()]);
                self.input.push(message);
            }
        }
        segments.apply(fact, is_last);
    }
}
