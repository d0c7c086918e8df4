//! A toolbox of web APIs.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::ToolSpec;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_provider_kit::guarded::{FetchError, FetchErrorKind, GuardedClient, GuardedRequest};

use crate::answer::AnswerReader;
use crate::hidden::Hidden;
use crate::tool::WebTool;

/// Web APIs, each as a tool.
#[derive(Clone, Debug)]
pub struct WebTools {
    client: GuardedClient,
    id: ToolboxId,
    tools: Arc<[WebTool]>,
    /// Unusable tools, each with the reason.
    unusable: Arc<[(Arc<str>, String)]>,
}

impl WebTools {
    /// A toolbox of these tools, which use this client.
    #[must_use]
    pub fn new(
        id: ToolboxId,
        client: GuardedClient,
        tools: impl IntoIterator<Item = WebTool>,
    ) -> Self {
        Self {
            client,
            id,
            tools: tools.into_iter().collect(),
            unusable: Arc::new([]),
        }
    }

    /// Adds the tools that are left out, each with the reason in a sentence.
    #[must_use]
    pub fn with_unusable(mut self, unusable: impl IntoIterator<Item = (Arc<str>, String)>) -> Self {
        self.unusable = unusable.into_iter().collect();
        self
    }

    /// Sends one request, and returns the result.
    async fn fetch(
        &self,
        tool: &WebTool,
        request: GuardedRequest,
        limit: usize,
        call: &CallContext,
    ) -> Result<ToolResult, FetchError> {
        let hidden = Hidden::new(tool.secrets());
        let reading = AnswerReader {
            headless: tool.config.method == Method::HEAD,
            hidden: &hidden,
            limit,
            pointer: tool.config.result.as_deref(),
        };
        // A redirect may repeat a part of the request.
        let without_secrets = |mut error: FetchError| {
            error.message = hidden.redact(&error.message);
            error
        };
        let sent = self.client.send_call(request, call).await;
        let answer = sent.map_err(without_secrets)?;
        tracing::debug!(
            tool = %tool.config.name,
            host = answer.host(),
            status = answer.status().as_u16(),
            "a web API answered"
        );
        reading.read(answer).await.map_err(without_secrets)
    }
}

#[async_trait]
impl Toolbox for WebTools {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.tools.iter().map(WebTool::spec).collect())
    }

    fn problems(&self) -> Vec<String> {
        let unusable = self.unusable.iter();
        unusable
            .map(|(name, why)| format!("skipped tool `{name}`: {why}"))
            .collect()
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let name = &run.tool.tool;
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == name) else {
            let mut unusable = self.unusable.iter();
            let failure = match unusable.find(|(unusable, _)| unusable == name) {
                Some((_, why)) => ToolFailure::not_sent(
                    ToolFailureKind::Unavailable,
                    format!("`{name}` cannot be used: {why}"),
                ),
                None => ToolFailure::not_sent(
                    ToolFailureKind::UnknownTool,
                    format!("there is no web API `{name}`"),
                ),
            };
            return Err(failure.into());
        };
        let invalid = |message| ToolFailure::not_sent(ToolFailureKind::InvalidArguments, message);
        let arguments = run
            .arguments()
            .ok_or_else(|| invalid("a web API takes a JSON object".to_owned()))?;
        let request = tool
            .request(arguments, &run.key.to_string())
            .map_err(|why| {
                invalid(format!(
                    "The call was not run: {why}. Correct the arguments."
                ))
            })?;
        let limit = tool.config.timeout.unwrap_or(run.time_limit);
        let fetched = self.fetch(tool, request, run.max_bytes, call);
        let ended = match tokio::time::timeout(limit, fetched).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => failed_result(tool, error),
            Err(_) => {
                let message = format!(
                    "{} did not answer within {} s",
                    tool.config.url.host(),
                    limit.as_secs_f64()
                );
                lost_result(tool, ToolFailureKind::Timeout, message)
            }
        };
        Ok(ToolEnd::Finished(ended?))
    }
}

/// The result of a call without a usable response.
fn failed_result(tool: &WebTool, error: FetchError) -> Result<ToolResult, ToolError> {
    let kind = match error.kind {
        // There was a response, which led nowhere.
        FetchErrorKind::Redirect => return Ok(ToolResult::error(error.message)),
        FetchErrorKind::Refused if error.sent => {
            let host = tool.config.url.host();
            let message = format!("{host} answered with a redirect: {}", error.message);
            return Ok(ToolResult::error(message));
        }
        FetchErrorKind::Silent => ToolFailureKind::Timeout,
        FetchErrorKind::Unsendable => ToolFailureKind::InvalidArguments,
        FetchErrorKind::Broken | FetchErrorKind::Refused | FetchErrorKind::Unreachable => {
            ToolFailureKind::Unavailable
        }
    };
    if error.sent {
        return lost_result(tool, kind, error.message);
    }
    let failure = ToolFailure::not_sent(kind, error.message.clone());
    Err(ToolError::with_source(failure, error))
}

/// The result of a call that may have had its effect: unknown, unless the tool has none.
fn lost_result(
    tool: &WebTool,
    kind: ToolFailureKind,
    message: String,
) -> Result<ToolResult, ToolError> {
    if tool.safety().may_repeat() {
        let message = format!("{message}; it may be called again, as that does no harm");
        return Ok(ToolResult::error(message));
    }
    Err(ToolFailure::unknown(kind, message).into())
}
