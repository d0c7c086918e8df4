//! Calls of tools, and the questions that they ask.

use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::tool::InputFormat;
use jackfield_domain::trace::TraceContext;
use jackfield_engine::{CallProgress, DirectCall};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::handler::RequestHandler;
use crate::log_level::log_sender;
use crate::offer::Offer;
use crate::questions::{AskingReply, SentAgain, WorkResult};
use crate::revision::Revision;
use crate::writer::LossLog;
use crate::{definition, outcome, request_headers};

impl RequestHandler {
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut own_tools = self.own_tools.iter();
        let own_tool = own_tools.find(|tool| *tool.entry().name() == *request.name);
        let offer = match own_tool {
            Some(_) => Offer::default(),
            None => self.offer().await,
        };
        let tool = match own_tool {
            Some(own) => Some(&own.entry().0),
            None => offer.tool(&request.name),
        };
        let Some(tool) = tool else {
            let complaint = offer.not_offered_message(&request.name);
            return Err(ErrorData::invalid_params(complaint, None));
        };
        let (responses, state) = (request.input_responses, request.request_state);
        let arguments = request.arguments.unwrap_or_default();
        if let (Some(headers), InputFormat::Json(schema)) = (&self.headers, &tool.definition.input)
        {
            request_headers::check_arguments(headers, schema, &arguments)
                .map_err(|message| ErrorData::header_mismatch(message, None))?;
        }
        let (engines, arguments) = offer.resolve(tool, arguments);
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        let key = context.meta.get(IDEMPOTENCY_KEY).and_then(Value::as_str);
        let level = self.log_level.wanted(context);
        let mut call = DirectCall {
            arguments,
            key: key.and_then(|key| IdempotencyKey::parse(key).ok()),
            log: level.map(|level| (level, log_sender(self.loss_log.clone()))),
            progress: match context.meta.get_progress_token() {
                Some(token) => progress_reporter(token, self.loss_log.clone()),
                None => Box::new(drop),
            },
            questions: None,
            trace: trace_context(|key| context.meta.get(key).and_then(Value::as_str)),
        };
        let direct_outcome = match own_tool {
            Some(own) => own.call(call).await.into(),
            None => {
                let subject = format!("tools/call {}", request.name);
                let (engine, options) = (self.engine.clone(), self.options.clone());
                let engines = engines.clone();
                let work = |questions| async move {
                    call.questions = questions;
                    WorkResult::Call(engine.call_offered_raw(&options, &engines, call).await)
                };
                let again = SentAgain { responses, state };
                match self.asker(context).run(&subject, again, work).await? {
                    AskingReply::Asked(mut asked) => {
                        asked.meta = self.meta(false);
                        return Ok((*asked).into());
                    }
                    AskingReply::Ended(WorkResult::Call(outcome)) => outcome,
                    AskingReply::Ended(WorkResult::Prompt(_) | WorkResult::Read(_)) => {
                        let message = "another request waits under this state";
                        return Err(ErrorData::internal_error(message, None));
                    }
                }
            }
        };
        let revision = Revision::of(context.protocol_version().as_ref());
        let missing = direct_outcome.missing.as_ref().filter(|_| !revision.legacy);
        let missing = missing.and_then(|missing| serde_json::from_value(missing.clone()).ok());
        if let Some(missing) = missing {
            return Err(ErrorData::missing_required_client_capability(missing));
        }
        let declares_structured = definition::output(tool, revision.legacy).is_some();
        let mut result = outcome::result(&direct_outcome, declares_structured, revision);
        result.meta = self.meta(revision.legacy);
        Ok(result.into())
    }
}

/// Reports the progress of a call to the client. The value must increase (MCP, "Progress"), and updates are
/// dropped if the client reads too slowly.
fn progress_reporter(
    token: ProgressToken,
    loss_log: LossLog,
) -> Box<dyn FnMut(CallProgress) + Send> {
    let mut last = f64::NEG_INFINITY;
    let token = token.0.into_json_value();
    Box::new(move |progress| {
        if !(progress.done.is_finite() && progress.done > last) {
            return;
        }
        last = progress.done;
        let mut params = json!({ "progressToken": token, "progress": progress.done });
        if let Some(total) = progress.total.filter(|total| total.is_finite()) {
            params["total"] = json!(total);
        }
        if let Some(message) = progress.message {
            params["message"] = json!(message);
        }
        let note =
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        loss_log.try_send(note.to_string().into_bytes());
    })
}

/// The trace context of a request's `_meta`, under unprefixed keys (MCP SEP-414, read 2026-11-25).
fn trace_context<'m>(text: impl Fn(&str) -> Option<&'m str>) -> Option<TraceContext> {
    TraceContext::parse(text("traceparent")?, text("tracestate"))
}

/// The key in `_meta` of a call for an idempotency key, which is the same for every attempt.
const IDEMPOTENCY_KEY: &str = "jackfield/idempotencyKey";
