//! Looks through steps and deliveries for the kinds of everything in them.

use jackfield_domain::block::{Block, CachePoint, Content, OpaqueBlock, Text, ToolCall};
use jackfield_domain::caller::Caller;
use jackfield_domain::fact::{Envelope, Fact, Late, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::media::{Audio, Document, Image};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::wait::{
    Answer, ClientResult, Delivery, DeliveryBody, UnknownAnswer, Wait, WaitEnd, WaitKind,
};

use super::kinds::{Kind, Kinds};

/// The kinds that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Seen(pub(crate) Kinds);

impl Seen {
    /// A step, with everything in it.
    pub(crate) fn step(&mut self, step: &Envelope) {
        self.kind(&step.input);
        for fact in &step.facts {
            self.fact(fact);
        }
    }

    /// A delivery, with everything in it.
    pub(crate) fn delivery(&mut self, delivery: &Delivery) {
        self.kind(&delivery.body);
        match &delivery.body {
            DeliveryBody::Answer { answer, wait: _ } => self.answer(answer),
            DeliveryBody::Cancel { cause, turn: _ } => self.kind(cause),
            DeliveryBody::Late { .. }
            | DeliveryBody::Withdrawn { .. }
            | DeliveryBody::Written { .. } => {}
        }
    }

    /// A spending record.
    pub(crate) fn spending(&mut self) {
        self.field("record.spending", true);
    }

    pub(crate) fn fact(&mut self, fact: &Fact) {
        self.kind(fact);
        match fact {
            Fact::BackendSession { .. } | Fact::CallAccepted { .. } => {}
            Fact::Compacted(compaction) => {
                self.field("field.failure", compaction.failure.is_some());
            }
            Fact::CallClosed {
                call: _,
                end,
                result,
                shown,
                cached,
                revealed,
            } => {
                self.field("field.cached", cached.is_some());
                self.field("field.revealed", revealed.is_some());
                self.kind(end);
                self.result(result);
                self.field("field.shown", shown.is_some());
            }
            Fact::CallLost {
                attempt: _,
                disposition,
                kind,
                message: _,
                then,
            } => {
                self.kind(disposition);
                self.kind(kind);
                self.kind(then);
            }
            Fact::CallStarted {
                approval,
                attempt: _,
                edited,
                may_repeat: _,
                repeat_until,
                time_limit: _,
            } => {
                self.field("field.repeat_until", repeat_until.is_some());
                self.field("field.approval", approval.is_some());
                self.field("field.edited", edited.is_some());
            }
            Fact::Late(late) => {
                self.kind(late);
                match late {
                    Late::Outcome { .. } | Late::Usage { .. } => {}
                }
            }
            Fact::ModelCallEnded {
                attempt: _,
                partial,
                retry_at,
                usage,
                why,
                at_once,
                first_token,
                settled,
                withdrawn,
            } => {
                self.field("field.at_once", *at_once);
                self.field("field.first_token", first_token.is_some());
                self.field("field.settled", !settled.is_empty());
                self.field("field.withdrawn", *withdrawn);
                self.field("field.partial", partial.is_some());
                self.field("field.retry_at", retry_at.is_some());
                self.field("field.usage", usage.is_some());
                partial.iter().for_each(|partial| self.message(partial));
                self.kind(why);
                match why {
                    ModelCallEnd::Failed(failure) => self.failure(failure),
                    ModelCallEnd::Cancelled | ModelCallEnd::Lost => {}
                }
            }
            Fact::ModelCallStarted {
                active: _,
                attempt: _,
                tools,
                choice,
                reserved,
                target,
            } => {
                self.field("field.choice", choice.is_some());
                self.field("field.reserved", !reserved.is_empty());
                self.field("field.target", *target > 0);
                self.kind(tools);
                match tools {
                    ToolUse::LastRound(limit) => self.kind(limit),
                    ToolUse::Allowed | ToolUse::FirstRoundOnly => {}
                }
            }
            Fact::ReplyReceived {
                attempt: _, reply, ..
            } => self.reply(reply),
            Fact::SessionForked {
                at: _,
                from: _,
                messages,
                revealed,
            } => {
                self.field("field.revealed_before", !revealed.is_empty());
                messages.iter().for_each(|message| self.message(message));
            }
            Fact::SessionImported {
                created,
                messages,
                source: _,
                title,
            } => {
                self.field("field.created", created.is_some());
                self.field("field.title", title.is_some());
                messages.iter().for_each(|message| self.message(message));
            }
            Fact::TurnEnded { end, view } => {
                self.field("field.view", view.is_some());
                self.turn_end(end);
            }
            Fact::TurnOpened {
                opening,
                ordinal: _,
                setup,
                turn: _,
            } => {
                self.opening(opening);
                self.setup(setup);
            }
            Fact::TurnResumed {
                nth: _,
                restrictions,
            } => {
                let tools = restrictions.iter().flat_map(|all| all.tools.values());
                tools.for_each(|restriction| self.kind(restriction));
            }
            Fact::WaitClosed {
                end,
                subject,
                wait: _,
            } => {
                self.kind(end);
                self.field("field.subject", subject.is_some());
                match end {
                    WaitEnd::Answered { answer, .. } => self.answer(answer),
                    WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => {}
                }
            }
            Fact::WaitOpened { wait } => self.wait(wait),
        }
    }

    fn kind(&mut self, of: &impl Kind) {
        self.0.insert(of.label());
    }

    fn field(&mut self, name: &'static str, is_there: bool) {
        if is_there {
            self.0.insert(name);
        }
    }

    fn turn_end(&mut self, end: &TurnEnd) {
        self.kind(end);
        match end {
            TurnEnd::Answered(finish) => self.kind(finish),
            TurnEnd::Cancelled(cause) => self.kind(cause),
            TurnEnd::ClientExpired => {}
            TurnEnd::Failed(failure) | TurnEnd::Interrupted(failure) => self.failure(failure),
            TurnEnd::Limited { is_error: _, limit } => self.kind(limit),
        }
    }

    fn failure(&mut self, failure: &ModelFailure) {
        self.kind(&failure.kind);
        self.kind(&failure.phase);
        self.kind(&failure.advice);
    }

    fn wait(&mut self, wait: &Wait) {
        self.kind(&wait.kind);
        match &wait.kind {
            WaitKind::Approval { .. }
            | WaitKind::Budget { .. }
            | WaitKind::ClientResult
            | WaitKind::Elicitation { .. }
            | WaitKind::UnknownOutcome => {}
        }
    }

    fn answer(&mut self, answer: &Answer) {
        self.kind(answer);
        match answer {
            Answer::Approval(approval) => self.kind(approval),
            Answer::ClientResult(ClientResult { repeats: _, result }) => self.result(result),
            Answer::Elicitation(answer) => self.kind(answer),
            Answer::UnknownOutcome(answer) => {
                self.kind(answer);
                match answer {
                    UnknownAnswer::Landed(result) => self.result(result),
                    UnknownAnswer::Report | UnknownAnswer::Retry => {}
                }
            }
        }
    }

    fn opening(&mut self, opening: &Opening) {
        self.kind(opening);
        match opening {
            Opening::ClientResults(outcomes) => {
                for outcome in outcomes {
                    self.result(&outcome.result);
                    self.opaque(&outcome.opaque);
                }
            }
            Opening::Transcript(transcript) => {
                let messages = transcript.messages().iter();
                messages.for_each(|message| self.message(message));
            }
            Opening::UserMessage(message) => self.message(message),
        }
    }

    fn setup(&mut self, setup: &Setup) {
        let Setup {
            allowance: _,
            budgets,
            caller,
            given: _,
            tags: _,
            own_keys: _,
            pauses: _,
            can_supersede: _,
            catalog,
            choice,
            limits,
            model: _,
            price,
            settings,
            strict,
            system,
            tools_after_first_round: _,
            whole,
            assistant,
            affinity,
            fallbacks,
            first_byte,
            route,
            trace,
            compaction,
            window,
        } = setup;
        self.field("field.assistant", assistant.is_some());
        self.field("field.budgets", !budgets.is_empty());
        self.field("field.affinity", affinity.is_some());
        self.field("field.fallbacks", !fallbacks.is_empty());
        self.field("field.first_byte", first_byte.is_some());
        self.field("field.compaction", compaction.is_some());
        self.field("field.route", route.is_some());
        self.field("field.trace", trace.is_some());
        self.field("field.window", window.is_some());
        self.kind(choice);
        self.kind(&limits.on_limit);
        self.field("field.price", price.is_some());
        self.field("field.strict", strict.is_some());
        self.field("field.whole", whole.is_some());
        self.field("field.caller", caller.is_some());
        if let Some(Caller {
            body: _,
            dialect: _,
            display: _,
            echo: _,
            key: _,
            model: _,
            principal: _,
            view: _,
        }) = caller.as_deref()
        {}
        for tool in catalog.iter() {
            self.field("field.discovery", tool.discovery.is_some());
            self.kind(&tool.definition.input);
            self.kind(&tool.permission);
            self.kind(&tool.ran_by);
            self.kind(&tool.safety);
            self.kind(&tool.when_unknown);
        }
        for part in &system.parts {
            self.kind(&part.origin);
        }
        let Settings {
            effort,
            response_format,
            thinking,
            verbosity,
            ..
        } = settings.as_ref();
        effort.iter().for_each(|effort| self.kind(effort));
        self.kind(response_format);
        thinking.iter().for_each(|thinking| self.kind(thinking));
        verbosity.iter().for_each(|verbosity| self.kind(verbosity));
    }

    fn reply(&mut self, reply: &Reply) {
        let Reply { end, message } = reply;
        self.message(message);
        let ReplyEnd {
            finish,
            model: _,
            notes,
            opaque,
            upstream: _,
            usage: _,
        } = end;
        self.kind(finish);
        for note in notes {
            self.kind(&note.kind);
            self.kind(&note.effect);
        }
        self.opaque(opaque);
    }

    fn message(&mut self, message: &Message) {
        let Message {
            blocks,
            opaque,
            role,
        } = message;
        self.kind(role);
        self.field("field.opaque_of_message", !opaque.is_empty());
        self.opaque(opaque);
        blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        let Block {
            cache,
            content,
            opaque,
        } = block;
        if let Some(CachePoint { seconds: _ }) = cache {
            self.field("field.cache_point", true);
        }
        self.opaque(opaque);
        self.kind(content);
        match content {
            Content::Audio(audio) => self.audio(audio),
            Content::Document(document) => self.document(document),
            Content::Image(image) => self.image(image),
            Content::Opaque(OpaqueBlock { .. }) | Content::Refusal(_) | Content::Thinking(_) => {}
            Content::Text(Text {
                annotations,
                text: _,
            }) => self.field("field.annotation", !annotations.is_empty()),
            Content::ToolCall(call) => {
                let ToolCall {
                    id: _,
                    input,
                    name: _,
                    ran_by,
                    upstream: _,
                } = call.as_ref();
                self.kind(input);
                self.kind(ran_by);
            }
            Content::ToolOutcome(outcome) => {
                self.result(&outcome.result);
                self.opaque(&outcome.opaque);
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let ToolResult {
            content,
            is_error: _,
            structured,
        } = result;
        self.field("field.structured", structured.is_some());
        for part in content {
            self.kind(part);
            match part {
                OutcomePart::Audio(audio) => self.audio(audio),
                OutcomePart::Document(document) => self.document(document),
                OutcomePart::Image(image) => self.image(image),
                OutcomePart::Text(_) => {}
            }
        }
    }

    fn audio(&mut self, audio: &Audio) {
        self.kind(&audio.source);
    }

    fn document(&mut self, document: &Document) {
        self.kind(&document.source);
    }

    fn image(&mut self, image: &Image) {
        self.kind(&image.source);
        image.detail.iter().for_each(|detail| self.kind(detail));
    }

    fn opaque(&mut self, opaque: &[OpaqueState]) {
        opaque.iter().for_each(|state| self.kind(&state.scope));
    }
}
