//! Calls of tools, and the questions that they ask.

use jackfield_domain::ids::IdempotencyKey;
use jackfield_domain::tool::{CatalogEntry, InputFormat};
use jackfield_domain::trace::TraceContext;
use jackfield_engine::{CallProgress, DirectCall, DirectOutcome};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InputRequiredResult, ProgressToken,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::handler::RequestHandler;
use crate::offer::Offer;
use crate::questions::{AskableClient, AskingCall, CallStep, PeerQuestions};
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
        let again = request.clone();
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
        let call = DirectCall {
            arguments,
            key: key.and_then(|key| IdempotencyKey::parse(key).ok()),
            progress: match context.meta.get_progress_token() {
                Some(token) => progress_reporter(token, self.loss_log.clone()),
                None => Box::new(drop),
            },
            questions: None,
            trace: trace_context(|key| context.meta.get(key).and_then(Value::as_str)),
        };
        let direct_outcome = match own_tool {
            Some(own) => own.call(call).await.into(),
            None => match self.make(engines, call, &again, context).await? {
                CallReply::Asked(asked) => return Ok((*asked).into()),
                CallReply::Ended(outcome) => outcome,
            },
        };
        let revision = Revision::of(context.protocol_version().as_ref());
        let declares_structured = definition::output(tool, revision.legacy).is_some();
        let mut result = outcome::result(&direct_outcome, declares_structured, revision);
        result.meta = self.meta(revision.legacy);
        Ok(result.into())
    }

    /// Makes a call of a tool that may ask the client.
    async fn make(
        &self,
        tool: &CatalogEntry,
        mut call: DirectCall,
        again: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallReply, ErrorData> {
        let client = AskableClient::of(context.client_capabilities());
        let legacy = Revision::of(context.protocol_version().as_ref()).legacy;
        // A state is never that of a new call, whatever else the request says.
        let mut asking = if again.request_state.is_some() {
            let resumed = self.waiting.resume(&self.client, again);
            resumed.map_err(|message| ErrorData::invalid_params(message, None))?
        } else if legacy || client.is_none() {
            if !client.is_none() && self.reads_questions {
                let peer = context.peer.clone();
                call.questions = Some(Box::new(PeerQuestions { client, peer }));
            }
            let calling = self.engine.call_offered_raw(&self.options, tool, call);
            return Ok(CallReply::Ended(calling.await));
        } else {
            let (engine, options, tool) = (self.engine.clone(), self.options.clone(), tool.clone());
            AskingCall::begin(client, |questions| async move {
                call.questions = Some(questions);
                engine.call_offered_raw(&options, &tool, call).await
            })
        };
        match asking.next().await {
            CallStep::Ended(Some(outcome)) => Ok(CallReply::Ended(outcome)),
            CallStep::Ended(None) => Err(ErrorData::internal_error("the tool crashed", None)),
            CallStep::Asked(request) => {
                let owner = (&*self.client, &*again.name);
                let asked = self.waiting.keep(asking, owner, *request);
                let mut asked = asked.ok_or_else(|| {
                    ErrorData::internal_error("too many calls wait for an answer", None)
                })?;
                asked.meta = self.meta(false);
                Ok(CallReply::Asked(Box::new(asked)))
            }
        }
    }
}

enum CallReply {
    Asked(Box<InputRequiredResult>),
    Ended(DirectOutcome),
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
