//! Wire types of events: one for each session event, with its cursor.

use jackfield_engine::RunningCall;
use serde::Serialize;
use utoipa::ToSchema;

use super::blocks::{BlockView, MessageView};
use super::given::GivenView;
use super::session::{ForkedView, ImportedView};
use super::turn::{CallView, CostView, FailureView, NoteView, TurnView, UsageView, WaitView};

/// One event. Its kind is the name of the server-sent event, too, and the id of that is the cursor behind
/// it: a client that reconnects with it gets every later event once.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum EventView {
    /// A block of a reply is whole.
    BlockEnded(BlockEnded),
    /// A block of a reply begins; its text follows, if it has any.
    BlockStarted(BlockStarted),
    /// A call goes on elsewhere: its tool has accepted it.
    CallAccepted(CallMoved),
    /// A call has its outcome.
    CallEnded(CallEnded),
    /// A try at a call ended without an outcome.
    CallLost(CallLost),
    /// How far a running call is, as its tool says. It has no cursor: a client that comes back gets the newest.
    CallProgress(CallProgressView),
    /// A call runs.
    CallStarted(CallMoved),
    /// A summary has replaced the beginning of the conversation, or the attempt at that failed.
    Compacted(CompactedView),
    /// The session began as a fork of another one.
    Forked(Forked),
    /// The session began with a conversation of another program.
    Imported(Imported),
    /// A reply is complete: its whole content once more.
    Reply(ReplyTold),
    /// A reply broke off and is not retried. Its text so far holds.
    ReplyFailed(ReplyBroken),
    /// A model is asked.
    RoundStarted(RoundStarted),
    /// A reply came to no end: nothing holds of what was told of this round and attempt, and it is asked
    /// for again.
    Superseded(ReplyBroken),
    /// More of a reply.
    Text(TextTold),
    /// The turn is over.
    TurnEnded(TurnEnded),
    /// A process took up a turn that another one had left.
    TurnResumed(TurnResumed),
    /// A turn begins.
    TurnStarted(TurnStarted),
    /// A question was answered or closed.
    WaitEnded(WaitEnded),
    /// A question waits for an answer.
    WaitStarted(WaitView),
}

/// See the event `block_ended`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlockEnded {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// The block's place in the reply.
    pub(crate) block: u32,
}

/// See the event `block_started`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlockStarted {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// The block's place in the reply.
    pub(crate) block: u32,
    /// What begins: `text`, `thinking`, `refusal`, `tool_call` or `whole`.
    pub(crate) kind: String,
    /// The call, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
    /// The tool, if it is a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The block, if it comes whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) whole: Option<BlockView>,
}

/// See the events `call_accepted` and `call_started`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallMoved {
    /// The call.
    pub(crate) call: String,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
}

/// See the event `call_ended`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallEnded {
    /// The call with its result.
    pub(crate) call: CallView,
}

/// See the event `call_lost`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CallLost {
    /// The call.
    pub(crate) call: String,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// What happened, in a word, such as `timeout`.
    pub(crate) kind: String,
    /// The same in a sentence.
    pub(crate) message: String,
    /// What is known of its effects: `not_sent`, `landed` or `unknown`.
    pub(crate) disposition: String,
    /// What is done about it: `ask` (a person), `repeat`, or `report` (to the model).
    pub(crate) then: String,
}

/// See the event `call_progress`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CallProgress)]
pub(crate) struct CallProgressView {
    /// The call.
    pub(crate) call: String,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// The amount done.
    pub(crate) done: f64,
    /// The total amount, if known.
    pub(crate) total: Option<f64>,
    /// A message about it.
    pub(crate) message: Option<String>,
}

/// See the event `compacted`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Compacted)]
pub(crate) struct CompactedView {
    /// The round that follows, from 1.
    pub(crate) round: u32,
    /// How many messages were replaced; 0 if there is no summary.
    pub(crate) replaced: u64,
    /// The messages in their place: the summary, and the user's message if it was among them.
    pub(crate) messages: Vec<MessageView>,
    /// Why there is no summary, if there is none: `cancelled`, `failed` or `lost`.
    pub(crate) why_not: Option<String>,
    /// What went wrong.
    pub(crate) failure: Option<FailureView>,
    /// What the summary used.
    pub(crate) usage: Option<UsageView>,
    /// What the summary cost, if its price is known.
    pub(crate) cost: Option<CostView>,
}

/// See the event `forked`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Forked {
    /// The other session, and the place in it.
    #[serde(flatten)]
    pub(crate) from: ForkedView,
    /// The messages of the other session up to there.
    pub(crate) messages: Vec<MessageView>,
}

/// See the event `imported`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Imported {
    /// The other program.
    #[serde(flatten)]
    pub(crate) from: ImportedView,
    /// The messages of the conversation.
    pub(crate) messages: Vec<MessageView>,
}

/// See the event `reply`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplyTold {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// What was said.
    pub(crate) message: MessageView,
    /// What it used.
    pub(crate) usage: Option<UsageView>,
    /// What was lost or changed on the way to the provider.
    pub(crate) notes: Vec<NoteView>,
}

/// See the events `reply_failed` and `superseded`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplyBroken {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// `cancelled`, `failed`, or `lost` (with the process that waited for it).
    pub(crate) why: String,
    /// What went wrong.
    pub(crate) failure: Option<FailureView>,
    /// How long it takes until it is asked for again.
    pub(crate) after_ms: Option<u64>,
    /// What is kept of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partial: Option<MessageView>,
}

/// See the event `round_started`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RoundStarted {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// Whether tools may be used in it.
    pub(crate) tools_allowed: bool,
    /// Why not, if not: `first_round_only`, or the limit that was met.
    pub(crate) why_not: Option<String>,
}

/// See the event `text`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TextTold {
    /// The round, from 1.
    pub(crate) round: u32,
    /// The try at it, from 1.
    pub(crate) attempt: u32,
    /// The block's place in the reply.
    pub(crate) block: u32,
    /// What the text is: `text`, `thinking`, `refusal`, or the raw `arguments` of a call.
    pub(crate) kind: String,
    /// The text, which follows what came before.
    pub(crate) text: String,
    /// How it looks so far, with `html=true`; not after each piece, and not from the middle of a text on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<GrownView>,
}

/// HTML of a text that is written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GrownHtml)]
pub(crate) struct GrownView {
    /// The blocks that have become complete; they follow those from before.
    pub(crate) complete: String,
    /// What stands behind all complete blocks, in place of what stood there before. Plain text follows it.
    pub(crate) rest: String,
}

/// See the event `turn_ended`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TurnEnded {
    /// The turn, as it is from now on.
    pub(crate) turn: TurnView,
}

/// See the event `turn_resumed`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TurnResumed {
    /// How often that has happened to it.
    pub(crate) times: u32,
}

/// See the event `turn_started`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TurnStarted {
    /// The turn.
    pub(crate) turn: String,
    /// Its place in the session, from 1.
    pub(crate) number: u32,
    /// The model, as `provider/model`.
    pub(crate) model: String,
    /// The tools that it is offered.
    pub(crate) tools: Vec<String>,
    /// What its request said in place of what is configured; null if it said nothing.
    pub(crate) given: Option<GivenView>,
    /// What it begins with.
    pub(crate) messages: Vec<MessageView>,
}

/// See the event `wait_ended`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WaitEnded {
    /// The question.
    pub(crate) id: String,
    /// How it ended: `answered`, `cancelled`, `expired` or `superseded`.
    pub(crate) how: String,
    /// Who answered, if answered.
    pub(crate) by: Option<String>,
    /// When it ended.
    pub(crate) at: String,
    /// What was answered, in a word, if answered: such as `granted` or `denied`.
    pub(crate) answer: Option<String>,
}

impl From<&RunningCall> for CallProgressView {
    fn from(progress: &RunningCall) -> Self {
        Self {
            call: progress.attempt.call.to_string(),
            attempt: progress.attempt.attempt,
            done: progress.done,
            total: progress.total,
            message: progress.message.as_deref().map(str::to_owned),
        }
    }
}

impl From<jackfield_web::GrownHtml> for GrownView {
    fn from(grown: jackfield_web::GrownHtml) -> Self {
        Self {
            complete: grown.complete,
            rest: grown.rest,
        }
    }
}

impl EventView {
    /// Adds the HTML of the texts of models.
    pub(crate) fn add_html(&mut self) {
        match self {
            Self::Compacted(compacted) => {
                compacted
                    .messages
                    .iter_mut()
                    .for_each(MessageView::add_html);
            }
            Self::Forked(forked) => forked.messages.iter_mut().for_each(MessageView::add_html),
            Self::Imported(imported) => {
                imported.messages.iter_mut().for_each(MessageView::add_html);
            }
            Self::Reply(reply) => reply.message.add_html(),
            Self::ReplyFailed(broken) => broken.partial.iter_mut().for_each(MessageView::add_html),
            Self::BlockEnded(_)
            | Self::BlockStarted(_)
            | Self::CallAccepted(_)
            | Self::CallEnded(_)
            | Self::CallLost(_)
            | Self::CallProgress(_)
            | Self::CallStarted(_)
            | Self::RoundStarted(_)
            | Self::Superseded(_)
            | Self::Text(_)
            | Self::TurnEnded(_)
            | Self::TurnResumed(_)
            | Self::TurnStarted(_)
            | Self::WaitEnded(_)
            | Self::WaitStarted(_) => {}
        }
    }

    /// Its kind, which is also the name of the server-sent event.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::BlockEnded(_) => "block_ended",
            Self::BlockStarted(_) => "block_started",
            Self::CallAccepted(_) => "call_accepted",
            Self::CallEnded(_) => "call_ended",
            Self::CallLost(_) => "call_lost",
            Self::CallProgress(_) => "call_progress",
            Self::CallStarted(_) => "call_started",
            Self::Compacted(_) => "compacted",
            Self::Forked(_) => "forked",
            Self::Imported(_) => "imported",
            Self::Reply(_) => "reply",
            Self::ReplyFailed(_) => "reply_failed",
            Self::RoundStarted(_) => "round_started",
            Self::Superseded(_) => "superseded",
            Self::Text(_) => "text",
            Self::TurnEnded(_) => "turn_ended",
            Self::TurnResumed(_) => "turn_resumed",
            Self::TurnStarted(_) => "turn_started",
            Self::WaitEnded(_) => "wait_ended",
            Self::WaitStarted(_) => "wait_started",
        }
    }
}
