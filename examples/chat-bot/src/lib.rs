//! A bot for a chat platform, over the engine and the gateway.
//!
//! Each person has a session of their own. A platform that is not told in time that a message arrived sends it again:
//! the id of the message is an idempotency key, so the answer is the same, also after a crash in between.

use std::error::Error;
use std::sync::Arc;

use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::Opening;
use jackfield_engine::{
    Disconnect, Durability, Keeper, KeeperOptions, SecondMessage, SendMessage, StartedTurn,
    TurnReport, reports,
};
use jackfield_gateway::{Gateway, RequestIdentity, RequestMatch, RequestMatcher};

/// A message of a person.
#[derive(Clone, Debug)]
pub struct ChatMessage {
    /// The platform's id of the message.
    pub id: String,
    /// The platform's id of its author: letters, digits, `-` and `_`.
    pub author: String,
    /// The text.
    pub text: String,
}

/// The bot.
#[derive(Debug)]
pub struct Bot {
    gateway: Gateway,
    /// Goes on with the turns that a crash interrupted.
    _keeper: Keeper,
    matcher: RequestMatcher,
}

impl Bot {
    /// A bot that answers with the models, tools and limits of this gateway. Requires a Tokio runtime.
    #[must_use]
    pub fn new(gateway: Gateway) -> Self {
        let options = KeeperOptions::new(gateway.policy().clone());
        Self {
            _keeper: gateway.engine().spawn_keeper(options, drop),
            matcher: RequestMatcher::new(gateway.engine().clone()),
            gateway,
        }
    }

    /// The answer to a message. Messages of one person are answered one after the other.
    ///
    /// # Errors
    ///
    /// The turn cannot begin, its events cannot be read, or it failed.
    pub async fn answer(&self, message: &ChatMessage) -> Result<String, Box<dyn Error>> {
        let session = SessionId::parse(&format!("chat-{}", message.author))?;
        let request = RequestIdentity {
            body: Digest::of(message.text.as_bytes()),
            disconnect: Disconnect::Finish,
            durability: Some(Durability::Durable),
            is_repeat: false,
            key: Some(message.id.as_str().into()),
            principal: message.author.as_str().into(),
            session: Some(session.clone()),
        };
        let mut started = match self.matcher.find(&request).await? {
            RequestMatch::Existing(started) => *started,
            RequestMatch::New { claim, .. } => {
                let mut message = self.turn(message, &request, session);
                message.options.held = Some(self.gateway.hold_turn(&request.principal)?);
                let begun = self.gateway.engine().begin_with_guard(message, claim);
                begun.await?
            }
        };
        let report = self.report(&mut started).await?;
        started.connection.mark_written();
        if let TurnEnd::Failed(failure) = report.end {
            return Err(failure.message.into());
        }
        Ok(report.answer())
    }

    fn turn(
        &self,
        message: &ChatMessage,
        request: &RequestIdentity,
        session: SessionId,
    ) -> SendMessage {
        let mut options = self.gateway.config().default_options.clone();
        options.if_busy = SecondMessage::Queue;
        options.caller = Some(Arc::new(Caller {
            body: Some(request.body),
            dialect: "chat-bot".into(),
            display: Display::default(),
            echo: None,
            key: request.key.clone(),
            model: Arc::clone(&options.model.model),
            principal: Arc::clone(&request.principal),
            view: None,
        }));
        SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user(message.text.as_str()))),
            options,
            session,
        }
    }

    /// Waits for the end of a turn.
    async fn report(&self, started: &mut StartedTurn) -> Result<TurnReport, Box<dyn Error>> {
        loop {
            let (_, event) = started.watcher.next().await?;
            if let SessionEvent::Fact { fact, .. } = event
                && matches!(*fact, Fact::TurnEnded { .. })
            {
                let loaded = self.gateway.engine().load(&started.session).await?;
                let mut turns = reports(&started.session, &loaded.steps).into_iter();
                let report = turns.find(|report| report.turn == started.turn);
                return report.ok_or_else(|| "the turn was deleted".into());
            }
        }
    }
}
