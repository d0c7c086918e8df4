//! Wire types of turns: answer, calls, waits and usage.

use jackfield_domain::fact::{CachedCall, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::note::Note;
use jackfield_domain::price::Cost;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::Wait;
use jackfield_export::values;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::approval::{own_question, question_text};
use super::blocks::{MessageView, ResultView};

/// A turn: everything from one message to its answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Turn)]
pub(crate) struct TurnView {
    /// Its id.
    pub(crate) id: String,
    /// The session.
    pub(crate) session: String,
    /// Its place in the session, from 1.
    pub(crate) number: u32,
    /// Its state: `running`, `waiting` (for an answer from outside), or `ended`.
    pub(crate) status: String,
    /// How it ended, once it has.
    pub(crate) end: Option<EndView>,
    /// The text of the answer, as far as there is one.
    pub(crate) answer: String,
    /// The model, as `provider/model`.
    pub(crate) model: String,
    /// When it began.
    pub(crate) began: String,
    /// When it ended.
    pub(crate) ended: Option<String>,
    /// How many rounds it took so far.
    pub(crate) rounds: u32,
    /// How often it was taken up after the process that drove it had gone.
    pub(crate) resumed: u32,
    /// What was said, beginning with what the turn began with.
    pub(crate) messages: Vec<MessageView>,
    /// Its tool calls, in the order in which the model made them.
    pub(crate) calls: Vec<CallView>,
    /// What it waits for.
    pub(crate) waits: Vec<WaitView>,
    /// What it used so far.
    pub(crate) usage: UsageView,
    /// What that cost, if the model has a price.
    pub(crate) cost: Option<CostView>,
    /// What was lost or changed on the way to the provider.
    pub(crate) notes: Vec<NoteView>,
}

/// How a turn ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = TurnEnd)]
pub(crate) struct EndView {
    /// `answered`, `cancelled`, `client_expired` (a client sent no result in time), `failed`,
    /// `interrupted` (the reply broke off; the text so far is kept) or `limited`.
    pub(crate) kind: String,
    /// Why it was cancelled: `asked` (on request) or `superseded` (by a new message).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    /// Why the answer ended, if there is one: `stop`, `length`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<String>,
    /// What went wrong with the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<FailureView>,
    /// Which limit was met: `rounds`, `tokens`, `cost`, `active_time` or `no_progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<String>,
}

/// A model call that failed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct FailureView {
    /// What happened, in a word, such as `rate_limited`.
    pub(crate) kind: String,
    /// The same in a sentence.
    pub(crate) message: String,
}

/// A tool call and its result.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Call)]
pub(crate) struct CallView {
    /// Its id.
    pub(crate) id: String,
    /// The tool, by the name that the model used.
    pub(crate) name: String,
    /// Where the tool comes from.
    pub(crate) source: OriginView,
    /// The round that it was made in, from 1.
    pub(crate) round: u32,
    /// The arguments that the model wrote: an object, or the text that is none.
    pub(crate) arguments: Value,
    /// The arguments that it ran with, if a person edited them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edited_arguments: Option<Value>,
    /// Its state: `queued`, `waiting` (for an answer), `running`, and then `done`, `failed`,
    /// `denied`, `not_run`, `cancelled` or `unknown` (it may have taken effect).
    pub(crate) status: String,
    /// Whether it ran and did not fail; null until it has its outcome.
    pub(crate) success: Option<bool>,
    /// How often it was started.
    pub(crate) attempts: u32,
    /// The equal call that the result was copied from, if the tool was not run for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cached: Option<CachedCallView>,
    /// The time from its last start to its outcome, if one process saw both.
    pub(crate) duration_ms: Option<u64>,
    /// Its result.
    pub(crate) result: Option<ResultView>,
}

/// A call whose result was used again.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = CachedCall)]
pub(crate) struct CachedCallView {
    /// Its id.
    pub(crate) call: String,
    /// Its session.
    pub(crate) session: String,
    /// Its turn.
    pub(crate) turn: String,
}

impl From<&CachedCall> for CachedCallView {
    fn from(from: &CachedCall) -> Self {
        Self {
            call: from.call.to_string(),
            session: from.session.to_string(),
            turn: from.turn.to_string(),
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Origin)]
pub(crate) struct OriginView {
    /// Who runs it: `engine`, `client` or `provider`.
    pub(crate) ran_by: String,
    /// Its server, such as the id of an MCP server; null if there is no such tool.
    pub(crate) server: Option<String>,
    /// Its own name there.
    pub(crate) tool: Option<String>,
}

/// A question that waits for an answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Wait)]
pub(crate) struct WaitView {
    /// Its id.
    pub(crate) id: String,
    /// The call that it is about; of `budget`, an id that no call has.
    pub(crate) call: String,
    /// What is asked: `approval`, `budget` (the turn waits for room in a budget), `client_result`, `elicitation` (a
    /// tool's own question) or `unknown_outcome` (the call may have taken effect).
    pub(crate) kind: String,
    /// When it ends unanswered.
    pub(crate) expires: String,
    /// A tool's own question, in words; of `budget`, what is used up and what was spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The JSON Schema of the answer to it, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) schema: Option<Value>,
    /// The page that the person has to open, if it is answered there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

/// Tokens. The sums include estimates, which are named.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageView {
    /// All input.
    pub(crate) input_tokens: u64,
    /// All output.
    pub(crate) output_tokens: u64,
    /// Input that was read from a cache; part of the input.
    pub(crate) cache_read_tokens: u64,
    /// Input that was written to a cache; part of the input.
    pub(crate) cache_write_tokens: u64,
    /// Output that was reasoning; part of the output.
    pub(crate) reasoning_tokens: u64,
    /// How much of the input is an estimate.
    pub(crate) estimated_input_tokens: u64,
    /// How much of the output is an estimate.
    pub(crate) estimated_output_tokens: u64,
}

/// What something cost: exact decimal numbers, as texts.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Cost)]
pub(crate) struct CostView {
    /// The currency, such as `USD`.
    pub(crate) currency: String,
    /// How much, the estimate included.
    pub(crate) amount: String,
    /// How much of it is an estimate.
    pub(crate) estimated: String,
    /// What it would be by the prices of the models, where a provider itself says what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listed: Option<String>,
}

/// Something that could not be said to the provider as it was.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Note)]
pub(crate) struct NoteView {
    /// What, in a word that does not change.
    pub(crate) code: String,
    /// What was done: `approximated`, `carried`, `dropped` or `refused`.
    pub(crate) kind: String,
    /// What suffers by it: `cosmetic`, `cost`, `quality` or `meaning`.
    pub(crate) effect: String,
    /// Where.
    pub(crate) path: String,
}

impl EndView {
    /// Converts the end of a turn.
    pub(crate) fn from_end(end: &TurnEnd) -> Self {
        let bare = Self {
            kind: end.as_str().to_owned(),
            cause: None,
            finish: None,
            failure: None,
            limit: None,
        };
        match end {
            TurnEnd::Answered(reason) => Self {
                finish: Some(values::finish(reason).to_owned()),
                ..bare
            },
            TurnEnd::Cancelled(cause) => Self {
                cause: Some(cause.as_str().to_owned()),
                ..bare
            },
            TurnEnd::ClientExpired => bare,
            TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure) => Self {
                failure: Some(FailureView::from_failure(failure)),
                ..bare
            },
            TurnEnd::Limited { limit, .. } => Self {
                limit: Some(limit.as_str().to_owned()),
                ..bare
            },
        }
    }
}

impl FailureView {
    /// The failure that ended a model call, if one did.
    pub(crate) fn of(why: &ModelCallEnd) -> Option<Self> {
        match why {
            ModelCallEnd::Failed(failure) => Some(Self::from_failure(failure)),
            ModelCallEnd::Cancelled | ModelCallEnd::Lost => None,
        }
    }

    pub(crate) fn from_failure(failure: &ModelFailure) -> Self {
        Self {
            kind: values::failure_kind(failure.kind).to_owned(),
            message: failure.message.clone(),
        }
    }
}

impl WaitView {
    pub(crate) fn from_wait(wait: &Wait) -> Self {
        let question = own_question(&wait.kind);
        Self {
            id: wait.id.to_string(),
            call: wait.call.to_string(),
            kind: values::wait_kind(&wait.kind).to_owned(),
            expires: wait.deadline.to_rfc3339(),
            question: question_text(&wait.kind),
            schema: question.and_then(|question| question.schema.as_deref().cloned()),
            url: question.and_then(|question| question.url.as_deref().map(str::to_owned)),
        }
    }
}

impl From<&Usage> for UsageView {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            reasoning_tokens: usage.reasoning,
            estimated_input_tokens: usage.estimated_input,
            estimated_output_tokens: usage.estimated_output,
        }
    }
}

impl From<&Cost> for CostView {
    fn from(cost: &Cost) -> Self {
        Self {
            currency: cost.currency.to_string(),
            amount: cost.amount.to_string(),
            estimated: cost.estimated.to_string(),
            listed: cost.listed.map(|listed| listed.to_string()),
        }
    }
}

impl From<&Note> for NoteView {
    fn from(note: &Note) -> Self {
        Self {
            code: note.code.to_string(),
            kind: note.kind.as_str().to_owned(),
            effect: note.effect.as_str().to_owned(),
            path: note.path.clone(),
        }
    }
}
