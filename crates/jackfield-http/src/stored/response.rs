//! A stored response, rebuilt from its journal.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{About, ServeError};
use jackfield_dialect_openai::responses::serve as dialect;
use jackfield_dialect_openai::responses::stream::Standing;
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

use crate::failures::of_end;
use crate::flow::previous;
use crate::gateway::Gateway;

/// A stored response.
pub(super) struct KeptResponse {
    pub(super) about: About,
    /// The messages of its request.
    pub(super) asked: Vec<Message>,
    /// Its principal, with the end user.
    pub(super) principal: Option<Arc<str>>,
    pub(super) segment: u32,
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    /// The end of the segment, if it has ended.
    end: Option<SegmentEnd>,
    pieces: Vec<(Delta, Option<ToolCallId>)>,
}

/// Loads the response of this id, without its prefix, for the client that received it.
///
/// # Errors
///
/// [`NoSuchReply`](jackfield_dialect_kit::serve::ServeErrorKind): it does not exist, or belongs to another
/// client.
pub(super) async fn find(
    gateway: &Gateway,
    principal: &str,
    id: &str,
) -> Result<KeptResponse, ServeError> {
    let found = previous::find(gateway.engine(), principal, id).await?;
    let reading = ResponseFold::of(found.loaded.steps, &found.turn, found.segment);
    let about = about(gateway, &reading, found.echo, &found.model);
    let about = about.ok_or_else(|| previous::none(id))?;
    Ok(KeptResponse {
        about,
        asked: reading.asked,
        end: reading.end,
        pieces: reading.pieces,
        principal: reading.principal,
        segment: found.segment,
        session: found.session,
        turn: found.turn,
    })
}

impl KeptResponse {
    /// The body of its current state.
    pub(super) fn body(&self) -> Vec<u8> {
        let pieces = self.pieces.iter();
        let pieces = pieces.map(|(delta, call)| (delta, call.as_ref()));
        let standing = match &self.end {
            Some(SegmentEnd::Whole(end)) => return dialect::whole(&self.about, pieces, end),
            Some(SegmentEnd::Failed(TurnEnd::Cancelled(_))) => Standing::Cancelled,
            Some(SegmentEnd::Failed(end)) => Standing::Failed(dialect::failed(&of_end(end))),
            None => Standing::InProgress,
        };
        dialect::standing(&self.about, pieces, &standing)
    }

    /// Whether it is a background response.
    pub(super) fn is_in_background(&self) -> bool {
        self.about.echo.get("background") == Some(&Value::Bool(true))
    }

    /// Whether it is finished.
    pub(super) const fn is_over(&self) -> bool {
        self.end.is_some()
    }
}

fn opened_with(opening: &Opening) -> Vec<Message> {
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
    reading: &ResponseFold,
    mut echo: Map<String, Value>,
    model: &str,
) -> Option<About> {
    let begun = u64::try_from(reading.begun?).unwrap_or_default();
    let created = echo.remove(previous::CREATED);
    let setup = reading.segments.as_ref()?.turn().setup();
    let owner = gateway
        .engine()
        .state_owner(&setup.model.provider, &setup.model.model);
    Some(About {
        // The turn's time in the journal can be a second later than that of its request.
        created: created
            .and_then(|created| created.as_u64())
            .unwrap_or(begun),
        dialect: owner.map(|owner| owner.dialect),
        echo,
        id: format!("{}_{}", reading.turn, reading.segment),
        model: model.to_owned(),
    })
}

/// Folds the steps of a session into a response.
struct ResponseFold {
    asked: Vec<Message>,
    /// The time of its request, in seconds since 1970.
    begun: Option<i64>,
    end: Option<SegmentEnd>,
    pieces: Vec<(Delta, Option<ToolCallId>)>,
    principal: Option<Arc<str>>,
    segment: u32,
    segments: Option<Segments>,
    turn: TurnId,
}

impl ResponseFold {
    /// Reads one segment of a turn.
    fn of(steps: Vec<Envelope>, turn: &TurnId, segment: u32) -> Self {
        let mut reading = Self {
            asked: Vec::new(),
            begun: None,
            end: None,
            pieces: Vec::new(),
            principal: None,
            segment,
            segments: None,
            turn: turn.clone(),
        };
        let Some(before) = facts_before(&steps, turn) else {
            return reading;
        };
        let mut teller = EventStream::new(Cursor::behind_facts(before));
        for step in steps {
            teller.feed(step);
        }
        let mut viewer = ClientView::new(turn.clone(), segment);
        while let Some((_, told)) = teller.next() {
            reading.see(&told);
            for shown in viewer.see(&told) {
                match shown {
                    ClientEvent::AskedAgain(_) => {}
                    ClientEvent::Piece { call, delta } => reading.pieces.push((delta, call)),
                    ClientEvent::End(end) => {
                        reading.end = Some(end);
                        return reading;
                    }
                }
            }
        }
        reading
    }

    fn see(&mut self, told: &SessionEvent) {
        let (fact, is_last, now) = match told {
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
                    self.begun = Some(now);
                    self.asked = opened_with(opening);
                }
            }
            return;
        };
        // A later segment begins with client results.
        if let Fact::WaitClosed { end, wait, .. } = &**fact
            && let WaitEnd::Answered { answer, .. } = end
            && let Answer::ClientResult(given) = answer
            && self.segment > 0
            && segments.now() == self.segment
        {
            self.begun.get_or_insert(now);
            let mut waits = segments.turn().waits();
            if let Some(open) = waits.find(|open| open.id == *wait) {
                let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
                    call: open.call.clone(),
                    opaque: Vec::new(),
                    result: given.result.clone(),
                }));
                let message = Message::new(Role::Tool, vec![outcome.into()]);
                self.asked.push(message);
            }
        }
        segments.apply(fact, is_last);
    }
}
