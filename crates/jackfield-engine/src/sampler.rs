//! Messages of the turn's model for servers of tools.

use std::sync::Arc;

use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::{ModelAttempt, ToolAttempt, ToolboxId, TurnId};
use jackfield_domain::message::Messages;
use jackfield_domain::reply::Reply;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::setup::Setup;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::sampling::SamplingRequest;

use crate::side_call::SideCall;
use crate::state::Engine;

/// Asks the model of a turn for messages that the servers of its tools want.
pub(crate) struct Sampler {
    /// The call that the messages are for.
    pub(crate) context: CallContext,
    pub(crate) engine: Engine,
    /// How many messages this attempt at a call has asked for.
    pub(crate) made: u32,
    pub(crate) server: ToolboxId,
    pub(crate) setup: Arc<Setup>,
    pub(crate) turn: TurnId,
}

impl Sampler {
    /// Asks for a message. The first target of the turn answers, whatever model the server prefers.
    ///
    /// # Errors
    ///
    /// Why there is no message.
    pub(crate) async fn sample(
        &mut self,
        during: &ToolAttempt,
        asked: SamplingRequest,
    ) -> Result<Reply, ModelFailure> {
        let SamplingRequest {
            messages,
            settings,
            system,
        } = asked;
        self.made += 1;
        let now = self.engine.shared.clock.now();
        // An attempt is resumed after each question, also by another process, so the time is part of the id.
        let ToolAttempt { call, attempt } = during;
        let (turn, made) = (&self.turn, self.made);
        let id = format!(
            "sampling-{turn}-{call}-{attempt}-{made}-{}",
            now.wall.as_millis()
        );
        let caller = self.setup.caller.as_ref();
        let parts = system.map(|text| SystemPart {
            origin: PartOrigin::Server(self.server.as_str().into()),
            text,
        });
        let call = SideCall {
            budgets: self.setup.budgets.clone(),
            context: self.context.clone(),
            endpoint: ENDPOINT,
            id: id.into(),
            idle: self.setup.model_idle(),
            owner: (self.turn.clone(), ModelAttempt::compaction(0)),
            price: self.setup.price.clone(),
            principal: caller.map_or_else(|| "".into(), |caller| Arc::clone(&caller.principal)),
            request: ModelRequest {
                choice: ToolChoice::Forbidden,
                messages: Messages::with_history(Arc::new(messages)),
                model: self.setup.model.clone(),
                turn: None,
                searchable: Arc::default(),
                settings: Arc::new(settings),
                strict: None,
                system: Arc::new(SystemPrompt {
                    parts: parts.into_iter().collect(),
                }),
                tools: Arc::default(),
                tools_as_text: false,
                whole: self.setup.whole.is_some(),
            },
            tags: self.setup.tags.clone(),
        };
        let mut reply = call.make(&self.engine).await?;
        let model = &self.setup.model.model;
        reply.end.model.get_or_insert_with(|| Arc::clone(model));
        Ok(reply)
    }
}

/// The endpoint of the spending records.
const ENDPOINT: &str = "sampling";
