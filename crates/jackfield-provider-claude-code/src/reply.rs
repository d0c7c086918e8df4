//! One round with a process: its lines become the deltas of a reply, until it calls our tools or has an answer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, Phase};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::Money;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::usage::Usage;
use jackfield_ports::delta_sink::DeltaSink;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::config::ClaudeCodeConfig;
use crate::failure;
use crate::messages::{MessageEnd, Messages};
use crate::permission::{NO_MORE, Question};
use crate::program::{Broken, Program};
use crate::setup::ProgramSetup;
use crate::wire::{self, Line, TurnResult, TurnUsage};
use crate::wording::Wording;

/// A process, and what is known of its turn.
pub(crate) struct Live {
    /// The results of MCP for calls that it has not made yet, by the ids of the calls.
    pub(crate) answers: HashMap<String, Value>,
    /// The question that the last reply passed on.
    pub(crate) asked: Option<Question>,
    /// The ids of the calls of its own tools without a result.
    pub(crate) builtin_calls: HashSet<String>,
    /// Whether it has said anything.
    pub(crate) heard: bool,
    /// The id of the last line of its model.
    pub(crate) line: Option<String>,
    /// The calls that it waits for.
    pub(crate) open: Vec<OpenCall>,
    pub(crate) program: Program,
    /// The questions that no reply has passed on yet.
    pub(crate) questions: VecDeque<Question>,
    pub(crate) wording: Wording,
    /// The usage that was reported with earlier replies.
    pub(crate) reported: Usage,
    pub(crate) session: String,
}

/// A `tools/call` without an answer.
pub(crate) struct OpenCall {
    /// The id of the call, as the model's message has it.
    call: String,
    control: String,
    rpc: Value,
}

pub(crate) enum RoundEnd {
    /// With calls; the process waits for their results.
    Calls(ReplyEnd, Vec<String>),
    /// With an answer; the process has nothing more to do.
    Finished(ReplyEnd),
}

/// Why a round has no end.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(ModelFailure),
    /// The session to be resumed does not exist, so nothing was done.
    NoSession,
}

pub(crate) struct ProgramRound<'a> {
    pub(crate) config: &'a ClaudeCodeConfig,
    pub(crate) live: &'a mut Live,
    pub(crate) may_call: bool,
    pub(crate) messages: Messages<'a>,
    /// The outcomes of calls that passed questions on, by their ids.
    pub(crate) outcomes: HashMap<String, ToolResult>,
    pub(crate) pushed: bool,
    pub(crate) setup: &'a ProgramSetup,
    pub(crate) sink: &'a mut dyn DeltaSink,
}

impl ProgramRound<'_> {
    /// Follows the process until the reply is complete.
    pub(crate) async fn follow(mut self) -> Result<RoundEnd, Stop> {
        for open in std::mem::take(&mut self.live.open) {
            self.answer_call(open);
        }
        if let Some(asked) = self.live.asked.take() {
            let answer = asked.answer(&self.outcomes);
            self.live
                .program
                .send(&wire::answer(&asked.control, &answer));
        }
        let mut last: Option<ReplyEnd> = None;
        let mut error = None;
        let mut counted = 0;
        loop {
            // A message comes to its end first, so that all of its calls are known.
            if !self.messages.is_reading()
                && let Some(question) = self.live.questions.pop_front()
            {
                return Ok(self.ask(question, last).await);
            }
            let line = self.next_line().await.map_err(Stop::Failed)?;
            match line {
                Line::Answer(Err(why)) => {
                    let why = format!("it refused to begin: {why}");
                    return Err(Stop::Failed(failure::ended(&why, self.phase())));
                }
                Line::Assistant { error: why, id } => {
                    error = why.or(error);
                    self.live.line = id.or_else(|| self.live.line.take());
                }
                Line::Cancelled(id) => {
                    self.live.questions.retain(|other| other.control != id);
                }
                Line::Control { id, request } => self.control(id, request),
                Line::Event(event) => {
                    let (deltas, end) = match self.messages.push(event) {
                        Ok(read) => read,
                        Err(broken) => {
                            let mut failure = broken.failure();
                            failure.phase = self.phase();
                            return Err(Stop::Failed(failure));
                        }
                    };
                    if deltas.is_empty() {
                        self.sink.alive().await;
                    }
                    self.push(deltas).await;
                    if let Some(MessageEnd { calls, mut end }) = end {
                        if self.may_call
                            && !calls.is_empty()
                            && end.finish == FinishReason::ToolCalls
                        {
                            end.usage = self.messages.usage();
                            return Ok(RoundEnd::Calls(end, calls));
                        }
                        // Claude Code would call what is complete in a reply that was cut off, and wait.
                        if self.may_call && !calls.is_empty() {
                            end.usage = self.messages.usage();
                            return Ok(RoundEnd::Finished(end));
                        }
                        last = Some(end);
                    }
                    if let Some(usage) = self.messages.usage()
                        && usage.total() != counted
                    {
                        counted = usage.total();
                        self.sink.count(usage).await;
                    }
                }
                Line::Init { version } => {
                    let version = version.unwrap_or_default();
                    if failure::is_too_old(&version) {
                        return Err(Stop::Failed(failure::too_old(&version)));
                    }
                }
                Line::Result(result) => return self.finish(&result, error.as_deref(), last).await,
                Line::ToolResults(blocks) => {
                    let deltas = self.messages.results(blocks);
                    self.push(deltas).await;
                }
                Line::Answer(Ok(_)) | Line::Other => self.sink.alive().await,
            }
        }
    }

    async fn next_line(&mut self) -> Result<Line, ModelFailure> {
        let limit = if self.live.heard {
            self.config.silence
        } else {
            self.config.start_limit
        };
        let line = timeout(limit, self.live.program.next()).await;
        let phase = self.phase();
        match line {
            Ok(Ok(line)) => {
                self.live.heard = true;
                Ok(line)
            }
            Ok(Err(Broken::Ended)) => {
                let last_words = self.live.program.last_words().await;
                Err(failure::ended(&last_words, phase))
            }
            Ok(Err(Broken::NotTheProtocol)) => {
                Err(failure::not_the_protocol(&self.config.command, phase))
            }
            Err(_) => Err(failure::silent(whole_seconds(limit), phase)),
        }
    }

    async fn finish(
        mut self,
        result: &TurnResult,
        error: Option<&str>,
        last: Option<ReplyEnd>,
    ) -> Result<RoundEnd, Stop> {
        let is_missing = |text: &String| MISSING.iter().any(|start| text.starts_with(start));
        if result.errors.iter().any(is_missing) {
            return Err(Stop::NoSession);
        }
        let used = self.used(result);
        if result.is_error || result.subtype.starts_with("error") {
            // What a failed turn used and cost counts, too.
            if let Some(used) = used {
                self.sink.count(used).await;
            }
            return Err(Stop::Failed(failure::of_result(
                result,
                error,
                self.phase(),
            )));
        }
        let mut end = match last {
            Some(mut end) if self.messages.is_structured() => {
                let answer = result.structured_output.as_ref().map(Value::to_string);
                let text = answer.or_else(|| result.result.clone()).unwrap_or_default();
                self.push(whole_text(&text)).await;
                end.finish = FinishReason::Stop;
                end
            }
            Some(end) => end,
            // Words that came without a stream.
            None => {
                let text = result.result.clone().unwrap_or_default();
                self.push(whole_text(&text)).await;
                ReplyEnd::new(FinishReason::Stop)
            }
        };
        end.usage = used;
        Ok(RoundEnd::Finished(end))
    }

    /// The usage of the last reply, with the cost of all replies of the process.
    fn used(&self, result: &TurnResult) -> Option<Usage> {
        let used = match result.usage {
            Some(total) => rest(total, self.live.reported, self.messages.usage()),
            None => self.messages.usage(),
        };
        let billed = result.total_cost_usd.and_then(Money::from_number);
        used.map(|used| Usage { billed, ..used })
    }

    /// The end of a reply that passes a question on.
    async fn ask(mut self, question: Question, last: Option<ReplyEnd>) -> RoundEnd {
        let mut end = last.unwrap_or_else(|| ReplyEnd::new(FinishReason::ToolCalls));
        end.finish = FinishReason::ToolCalls;
        // Where no message came, the reply used nothing and cost nothing.
        let nothing = Usage {
            billed: Some(Money::ZERO),
            ..Usage::default()
        };
        end.usage = Some(self.messages.usage().unwrap_or(nothing));
        let (provider, owner) = self.messages.asked_of();
        let deltas = question.deltas(provider, owner);
        self.push(deltas).await;
        let id = question.id();
        self.live.asked = Some(question);
        RoundEnd::Calls(end, vec![id])
    }

    async fn push(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            self.live.wording.add(&delta);
            self.pushed = true;
            self.sink.push(delta).await;
        }
    }

    const fn phase(&self) -> Phase {
        if self.pushed {
            Phase::MidReply
        } else {
            Phase::BeforeFirstDelta
        }
    }

    /// Answers a question of Claude Code.
    fn control(&mut self, id: String, mut request: Map<String, Value>) {
        let subtype = wire::take_text(&mut request, "subtype").unwrap_or_default();
        let response = match &*subtype {
            "can_use_tool" => {
                match Question::read(id.clone(), request, self.config, self.may_call) {
                    Ok(question) => {
                        self.live.questions.push_back(question);
                        return;
                    }
                    Err(answer) => answer,
                }
            }
            "mcp_message" => match request.remove("message") {
                Some(Value::Object(message)) => match self.rpc(&id, message) {
                    Some(response) => json!({ "mcp_response": response }),
                    None => return,
                },
                Some(_) | None => json!({}),
            },
            _ => {
                tracing::debug!(%subtype, "claude code asks something that we do not know");
                let why = format!("this client does not know the request `{subtype}`");
                self.live.program.send(&wire::refusal(&id, &why));
                return;
            }
        };
        self.live.program.send(&wire::answer(&id, &response));
    }

    /// Answers a message to the MCP server that has our tools; `None` if the answer comes later.
    fn rpc(&mut self, control: &str, mut message: Map<String, Value>) -> Option<Value> {
        let method = wire::take_text(&mut message, "method").unwrap_or_default();
        let Some(rpc) = message.remove("id") else {
            // A notification; the answer ends its control request.
            return Some(json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
        };
        let params = message.remove("params").unwrap_or_default();
        let result = match &*method {
            "initialize" => json!({
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "jackfield", "version": env!("CARGO_PKG_VERSION") },
            }),
            "ping" => json!({}),
            "tools/call" => {
                let call = params.pointer("/_meta/claudecode~1toolUseId");
                let call = call.and_then(Value::as_str).unwrap_or_default().to_owned();
                let control = control.to_owned();
                self.answer_call(OpenCall { call, control, rpc });
                return None;
            }
            "tools/list" => json!({ "tools": self.setup.tools }),
            _ => {
                let error = json!({ "code": -32601, "message": "there is no such method" });
                return Some(json!({ "jsonrpc": "2.0", "id": rpc, "error": error }));
            }
        };
        Some(json!({ "jsonrpc": "2.0", "id": rpc, "result": result }))
    }

    /// Answers a call if its result is known, and keeps it open otherwise.
    fn answer_call(&mut self, open: OpenCall) {
        let result = if let Some(result) = self.live.answers.remove(&open.call) {
            result
        } else if self.may_call && self.messages.has_call(&open.call) {
            self.live.open.push(open);
            return;
        } else {
            let text = if self.may_call {
                "This call is unknown."
            } else {
                NO_MORE
            };
            json!({ "content": [{ "type": "text", "text": text }], "isError": true })
        };
        let response = json!({ "jsonrpc": "2.0", "id": open.rpc, "result": result });
        let response = json!({ "mcp_response": response });
        self.live
            .program
            .send(&wire::answer(&open.control, &response));
    }
}

fn whole_text(text: &str) -> Vec<Delta> {
    if text.is_empty() {
        return Vec::new();
    }
    let start = BlockStart::Text;
    vec![
        Delta::BlockStarted { index: 0, start },
        Delta::TextAppended {
            index: 0,
            text: text.into(),
        },
        Delta::BlockEnded { index: 0 },
    ]
}

/// The usage of the last reply: what the result counts, without that of earlier replies. A count that is smaller than
/// that of the stream is not used; nothing at all is no count.
fn rest(total: TurnUsage, reported: Usage, streamed: Option<Usage>) -> Option<Usage> {
    let cache_read = total.cache_read_input_tokens.unwrap_or_default();
    let cache_write = total.cache_creation_input_tokens.unwrap_or_default();
    let input = total.input_tokens.unwrap_or_default();
    let input = input.saturating_add(cache_read).saturating_add(cache_write);
    let output = total.output_tokens.unwrap_or_default();
    if streamed.is_none() && input == 0 && output == 0 {
        return None;
    }
    let streamed = streamed.unwrap_or_default();
    let of =
        |total: u64, reported: u64, streamed: u64| total.saturating_sub(reported).max(streamed);
    Some(Usage {
        cache_read: of(cache_read, reported.cache_read, streamed.cache_read),
        cache_write: of(cache_write, reported.cache_write, streamed.cache_write),
        input: of(input, reported.input, streamed.input),
        output: of(output, reported.output, streamed.output),
        ..streamed
    })
}

fn whole_seconds(limit: Duration) -> u64 {
    limit.as_secs().max(1)
}

/// How Claude Code says that it does not have the session, or the line.
const MISSING: [&str; 2] = ["No conversation found", "No message found"];
