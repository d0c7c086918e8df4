//! One `tools/call` request: its time limits, its progress and its result.

use std::fmt::Display;
use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::outcome::ToolResult;
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolError, ToolEvents};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ErrorData, GetExtensions as _,
};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use crate::abandoned::LateReply;
use crate::answer::{RequestError, RpcAnswer};
use crate::clock::after;
use crate::connection::ServerConnection;
use crate::held::HeldCall;
use crate::message::ServerQuestion;
use crate::questions::Questions;
use crate::request::{PendingRequest, RequestEvent};

/// The parameters of a tool call, reused for each request of the call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerCall {
    pub(crate) arguments: Map<String, Value>,
    pub(crate) key: IdempotencyKey,
    pub(crate) tool: String,
}

/// The time limits of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    /// The instant at which the call ends at the latest.
    pub(crate) deadline: Instant,
    /// The total time from the start of the call to its deadline.
    pub(crate) max_duration: Duration,
    /// The longest time without a progress notification.
    pub(crate) max_silence: Duration,
}

impl CallLimits {
    pub(crate) fn new(max_duration: Duration, max_silence: Duration) -> Self {
        Self {
            deadline: after(max_duration),
            max_duration,
            max_silence,
        }
    }
}

/// A server's answer to a call.
pub(crate) enum CallReply {
    /// The tool's result, or the server's refusal to run it.
    Finished(ToolResult),
    /// The server asks a person, and the call stays open.
    Held(Box<HeldCall>),
    /// A call that goes on: the `resultType`, and the whole answer.
    Other(String, Value),
    /// The server has not run the tool, as a person has to open pages first.
    PagesRequired {
        pages: Questions,
        /// The server's refusal, for a call that cannot be sent again.
        refusal: ToolResult,
    },
}

impl ServerCall {
    /// Sends the call once. Dropping the future cancels the request at the server.
    pub(crate) async fn send_once(
        &self,
        connection: &ServerConnection,
        input: Option<(Value, Option<String>)>,
        limits: CallLimits,
        max_bytes: usize,
        context: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<CallReply, ToolError> {
        let mut params = CallToolRequestParams::new(self.tool.clone());
        params.arguments = Some(self.arguments.clone());
        if let Some((responses, state)) = input {
            params.input_responses = serde_json::from_value(responses).ok();
            params.request_state = state;
        }
        let mut meta = connection.caller_meta(events.askable());
        meta.insert(IDEMPOTENCY_KEY.to_owned(), self.key.as_str().into());
        if let Some(level) = events.log_level() {
            connection
                .want_logs(level, limits.max_silence, &mut meta)
                .await;
        }
        // Unprefixed keys (MCP SEP-414, read 2026-11-25).
        if let Some(context) = events.trace() {
            meta.insert("traceparent".to_owned(), (*context.parent).into());
            if let Some(state) = &context.state {
                meta.insert("tracestate".to_owned(), (**state).into());
            }
        }
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mirrored = connection.mirrored(&self.tool, &self.arguments).await;
        request.extensions_mut().insert(mirrored);
        let late_reply = events
            .late_outcome()
            .map(|after| self.late_reply(after, max_bytes));
        let sent = connection
            .send(request, Some(meta), late_reply, context.clone())
            .await;
        let request = sent.map_err(|_| {
            let kind = ToolFailureKind::Unavailable;
            ToolFailure::not_sent(kind, "the server went away before the call was sent")
        })?;
        self.wait_for(request, connection, limits, max_bytes, events)
            .await
    }

    /// Waits for the answer to this request of the call. Dropping the future cancels it at the server.
    pub(crate) async fn wait_for(
        &self,
        mut request: PendingRequest,
        connection: &ServerConnection,
        limits: CallLimits,
        max_bytes: usize,
        events: &mut dyn ToolEvents,
    ) -> Result<CallReply, ToolError> {
        let ended = match wait(&mut request, limits, events).await {
            Ok(Waited::Question(question)) => {
                return Ok(CallReply::Held(Box::new(HeldCall { question, request })));
            }
            Ok(Waited::Answer(answer)) => Ok(answer),
            Err(reason) => Err(reason),
        };
        if let Err(NoReply::Request(RequestError::Refused(error))) = &ended
            && error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            && let Some(required) = error.data.as_ref().and_then(|data| data.get(REQUIRED))
        {
            events.on_missing_capabilities(required);
        }
        let is_late = matches!(ended, Err(NoReply::Silent | NoReply::TooLong));
        let original = events.original();
        let reply = self.read_end(ended, &request, connection, limits, max_bytes, original);
        let reply = reply.await;
        if let Some(observed) = &mut request.observed {
            if is_late {
                observed.fail("timeout");
            }
            match &reply {
                Ok(CallReply::Finished(result)) if result.is_error => observed.fail("tool_error"),
                Ok(_) | Err(_) => {}
            }
            events.on_request(observed.request());
        }
        reply
    }

    /// Reads the answer to a request, or the reason why there is none.
    async fn read_end(
        &self,
        ended: Result<RpcAnswer, NoReply>,
        request: &PendingRequest,
        connection: &ServerConnection,
        limits: CallLimits,
        max_bytes: usize,
        original: Option<&mut Vec<Value>>,
    ) -> Result<CallReply, ToolError> {
        let failed = |kind, message: String| {
            let failure = if request.withdraw() {
                ToolFailure::not_sent(kind, message)
            } else {
                ToolFailure::unknown(kind, message)
            };
            ToolError::from(failure)
        };
        match ended {
            Ok(answer) => self.read_answer(&answer, max_bytes, original),
            Err(_) if request.has_passed() => Err(LeasePassed.into()),
            Err(NoReply::Silent) => Err(failed(
                ToolFailureKind::Timeout,
                format!(
                    "`{}` said nothing for {} s",
                    self.tool,
                    limits.max_silence.as_secs_f64()
                ),
            )),
            Err(NoReply::TooLong) => Err(failed(
                ToolFailureKind::Timeout,
                format!(
                    "`{}` took longer than {} s",
                    self.tool,
                    limits.max_duration.as_secs_f64()
                ),
            )),
            Err(NoReply::Request(RequestError::Refused(error)))
                if error.code.0 == HEADER_MISMATCH && connection.mirrors_arguments() =>
            {
                connection.forget_list().await;
                let message = format!(
                    "the server of `{}` does not take its headers: {}",
                    self.tool,
                    shortened(&error.message)
                );
                Err(ToolFailure::not_sent(ToolFailureKind::ProtocolViolation, message).into())
            }
            Err(NoReply::Request(RequestError::Refused(error))) => {
                let refusal = self.refusal_result(&error, max_bytes);
                let pages = Questions::from_error(&error);
                Ok(match pages {
                    Some(pages) => CallReply::PagesRequired { pages, refusal },
                    None => CallReply::Finished(refusal),
                })
            }
            Err(NoReply::Request(RequestError::Failed(failure))) => {
                Err(connection.call_failure(&failure).into())
            }
            Err(NoReply::Request(RequestError::Unreadable(why))) => {
                Err(self.unreadable_error(&why))
            }
            Err(NoReply::Request(RequestError::Closed | RequestError::Late)) => {
                let ended = connection.exit_reason().await;
                Err(failed(
                    ToolFailureKind::Crashed,
                    format!("the server went away during the call: {ended}"),
                ))
            }
        }
    }

    /// The handler for an answer that arrives after the call was dropped. Only a tool result counts.
    fn late_reply(&self, handler: LateOutcomeHandler, max_bytes: usize) -> LateReply {
        // The arguments may be large and are no longer needed.
        let call = Self {
            arguments: Map::new(),
            key: self.key.clone(),
            tool: self.tool.clone(),
        };
        LateReply::new(move |answer| match answer {
            Ok(answer) => {
                if let Ok(CallReply::Finished(result)) = call.read_answer(&answer, max_bytes, None)
                {
                    handler.deliver(result);
                }
            }
            Err(RequestError::Refused(error)) => {
                handler.deliver(call.refusal_result(&error, max_bytes));
            }
            Err(
                RequestError::Closed
                | RequestError::Failed(_)
                | RequestError::Late
                | RequestError::Unreadable(_),
            ) => {}
        })
    }

    /// An error response becomes a tool result, so that the model can react to it.
    fn refusal_result(&self, error: &ErrorData, max_bytes: usize) -> ToolResult {
        let tool = &self.tool;
        let (code, message) = (error.code.0, shortened(&error.message));
        let what = match code {
            -32602 => "does not take this call",
            -32601 => "does not know how to be called",
            _ => "failed",
        };
        let text = format!("The server of `{tool}` {what}: {message} (error {code})");
        let result = ToolResult::error(text);
        result.cut(max_bytes).unwrap_or(result)
    }

    fn unreadable_error(&self, why: &dyn Display) -> ToolError {
        ToolFailure {
            // The tool was run, otherwise there would be no answer.
            disposition: Disposition::Landed,
            kind: ToolFailureKind::ProtocolViolation,
            message: format!("what `{}` answered cannot be read: {why}", self.tool),
        }
        .into()
    }

    fn read_answer(
        &self,
        answer: &RpcAnswer,
        max_bytes: usize,
        original: Option<&mut Vec<Value>>,
    ) -> Result<CallReply, ToolError> {
        let parsed: Result<Value, _> = serde_json::from_str(&answer.text);
        let value = parsed.map_err(|error| self.unreadable_error(&error))?;
        if !value.is_object() {
            return Err(self.unreadable_error(&"it is no object"));
        }
        match value.get("resultType").and_then(Value::as_str) {
            // Servers of the older era do not send `resultType`.
            None | Some("complete") => {
                let result = crate::mapping::outcome::result(&value, answer.cut_from, max_bytes);
                crate::mapping::outcome::original(&value, max_bytes, original);
                Ok(CallReply::Finished(result))
            }
            Some(kind) => Ok(CallReply::Other(kind.to_owned(), value)),
        }
    }
}

/// What ended the wait for an answer.
enum Waited {
    Answer(RpcAnswer),
    Question(ServerQuestion),
}

/// Why there is no answer.
enum NoReply {
    Request(RequestError),
    Silent,
    TooLong,
}

/// Waits for the answer. Progress is reported in order, and each advance restarts the limit on silence.
async fn wait(
    request: &mut PendingRequest,
    limits: CallLimits,
    events: &mut dyn ToolEvents,
) -> Result<Waited, NoReply> {
    let mut silent = after(limits.max_silence);
    let mut last_progress = f64::NEG_INFINITY;
    let level = events.log_level();
    if level.is_none() {
        request.ignore_logs();
    }
    loop {
        let progress = tokio::select! {
            news = request.next_event() => match news {
                RequestEvent::Answer(answer) => {
                    return answer.map(Waited::Answer).map_err(NoReply::Request);
                }
                RequestEvent::Log(message) => {
                    if level.is_some_and(|level| message.level >= level) {
                        events.on_log(message);
                    }
                    continue;
                }
                RequestEvent::Progress(progress) => progress,
                RequestEvent::Question(question) => return Ok(Waited::Question(question)),
            },
            () = sleep_until(silent.min(limits.deadline)) => {
                return Err(if silent < limits.deadline { NoReply::Silent } else { NoReply::TooLong });
            }
        };
        // Only an increase is progress (MCP: "MUST increase"); repeated values do not restart the limit.
        if progress.done > last_progress {
            last_progress = progress.done;
            silent = after(limits.max_silence);
            let (done, of) = (progress.done, progress.total);
            events.on_progress(done, of, progress.message).await;
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(2000).collect()
}

/// The code of an error for headers that do not repeat the body (MCP 2026-07-28, read 2026-11-26).
const HEADER_MISMATCH: i32 = -32020;

/// The field of an error for missing capabilities that has them (MCP 2026-07-28, read 2026-11-29).
const REQUIRED: &str = "requiredCapabilities";

/// The key in `_meta` of a call's idempotency key, which is the same for every attempt. A server that supports it
/// runs a call once, however often it is sent.
pub const IDEMPOTENCY_KEY: &str = "jackfield/idempotencyKey";
