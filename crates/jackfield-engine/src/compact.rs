//! Compacts a session at a person's request: a fork of it begins with a summary. Turns compact by themselves, as
//! the loop decides.

use std::sync::Arc;

use jackfield_domain::compaction::{CompactionPlan, CompactionRoom, summary_of};
use jackfield_domain::estimate;
use jackfield_domain::fact::{Compaction, Fact};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::fork;
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::Messages;
use jackfield_domain::price::{self, Cost};
use jackfield_domain::session::Session;
use jackfield_ports::call_context::CallContext;

use crate::error::EngineError;
use crate::options::TurnOptions;
use crate::side_call::SideCall;
use crate::state::Engine;

/// A session to be compacted into a fork.
#[derive(Clone, Debug)]
pub struct CompactSession {
    /// The session; it is not changed.
    pub from: SessionId,
    /// The model that writes the summary, its settings, limits, price and tags.
    pub options: TurnOptions,
    /// The principal that the usage is recorded under.
    pub principal: Arc<str>,
    /// The fork; it must be new.
    pub to: SessionId,
}

/// A fork that begins with a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactedSession {
    /// What was replaced, and by which messages.
    pub compaction: Arc<Compaction>,
    /// The cost, if the price of the model is known.
    pub cost: Option<Cost>,
}

impl Engine {
    /// Begins a fork of a session in which a summary replaces the beginning of the conversation. The session itself
    /// is not changed. The usage of the summary is stored as a spending record.
    ///
    /// Dropping the future aborts the model call; the input is then recorded as an estimate.
    ///
    /// # Errors
    ///
    /// [`EngineError::NothingToCompact`] if the conversation is too short, [`EngineError::NotCompacted`] if the model
    /// wrote no summary, and those of [`Engine::fork`].
    pub async fn compact(&self, request: CompactSession) -> Result<CompactedSession, EngineError> {
        let CompactSession {
            from,
            options,
            principal,
            to,
        } = request;
        let loaded = self.load(&from).await?;
        let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
        let folded = Session::fold(from.clone(), facts());
        if let Some(turn) = folded.open_turn() {
            let turn = turn.id().clone();
            return Err(EngineError::Busy {
                session: from,
                turn,
            });
        }
        let nothing = || EngineError::NothingToCompact {
            session: from.clone(),
        };
        let last = fork::places(from.clone(), facts()).pop();
        // A fork without turns has only the history of the session that it was forked from.
        let forked = folded.forked().map(|(from, at)| (from.clone(), at.clone()));
        let place = last.map(|at| (from.clone(), at)).or(forked);
        let (origin, at) = place.ok_or_else(nothing)?;
        let history = folded.messages();
        let messages = Messages::with_history(Arc::clone(&history));
        let plan = CompactionPlan::new(&messages, false).ok_or_else(nothing)?;
        let sizes = history.iter().map(|message| estimate::message(message));
        let size = sizes.fold(0, u64::saturating_add);
        let window = options.windows.get(&options.model);
        let room = window.map_or(size, |window| window.saturating_mul(4) / 5);
        let request = plan.request(
            &options.model,
            &options.settings,
            CompactionRoom { room, size },
            options.whole_reply_limit.is_some(),
        );
        let attempt = ModelAttempt::compaction(0);
        let now = self.shared.clock.now();
        let price = options.prices.get(&options.model);
        let call = SideCall {
            budgets: options.budgets,
            context: CallContext::default(),
            endpoint: ENDPOINT,
            // A fork that is deleted and begun again has the same name, and not the same time.
            id: format!("compact-{to}-{}", now.wall.as_millis()).into(),
            idle: options
                .whole_reply_limit
                .unwrap_or(options.limits.model_idle),
            owner: (TurnId::derive(&to, 0), attempt),
            price: price.clone(),
            principal,
            request,
            tags: options.tags,
        };
        let reply = call.make(self).await;
        let reply = reply.map_err(|failure| EngineError::NotCompacted { failure })?;
        let usage = reply.end.usage;
        let summary = summary_of(&reply).ok_or_else(|| {
            let message = "the summary is empty, refused or not complete";
            let failure =
                ModelFailure::new(ModelFailureKind::UnusableReply, Phase::MidReply, message);
            EngineError::NotCompacted { failure }
        })?;
        let compaction = Arc::new(Compaction {
            attempt,
            failure: None,
            messages: plan.replacement(&summary),
            model: Some(options.model),
            replaced: plan.replaced,
            usage,
        });
        let forked = Fact::SessionForked {
            at,
            from: origin,
            messages: history,
            revealed: folded.revealed().to_vec(),
        };
        let facts = vec![forked, Fact::Compacted(Arc::clone(&compaction))];
        self.begin_fork(&from, &to, facts).await?;
        let cost = usage.and_then(|usage| price::cost_of(&usage, price.as_ref()));
        Ok(CompactedSession { compaction, cost })
    }
}

/// The endpoint of the spending record of a summary.
const ENDPOINT: &str = "compact";
