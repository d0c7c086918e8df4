//! A server of this machine that is allowed, and tools that ask it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::failure::ToolFailure;
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_provider_kit::guarded::{GuardedClient, GuardedSettings};
use jackfield_tools_web::{Parameter, Template, ToolConfig, WebTool, WebTools};
use serde_json::{Value, json};

/// A client that reaches this machine, and nothing else that is not public.
pub(crate) fn client() -> GuardedClient {
    let mut settings = GuardedSettings::default();
    settings.allowed.allow("127.0.0.1").unwrap();
    GuardedClient::new(settings).unwrap()
}

pub(crate) fn config(url: &str) -> ToolConfig {
    ToolConfig::new("tool", "A tool of a test", Template::parse(url).unwrap())
}

/// Parameters of these names and schemas.
pub(crate) fn parameters(schemas: &Value) -> Vec<Parameter> {
    let schemas = schemas.as_object().unwrap();
    let named = schemas
        .iter()
        .map(|(name, schema)| Parameter::new(name.as_str(), schema.as_object().unwrap().clone()));
    named.collect()
}

/// A tool of this address and these parameters, changed like this.
pub(crate) fn tool(url: &str, schemas: &Value, change: impl FnOnce(&mut ToolConfig)) -> WebTool {
    let mut config = config(url);
    config.parameters = parameters(schemas);
    change(&mut config);
    WebTool::new(config).unwrap()
}

pub(crate) fn toolbox(tools: impl IntoIterator<Item = WebTool>) -> WebTools {
    WebTools::new(ToolboxId::parse("web").unwrap(), client(), tools)
}

pub(crate) fn run(tool: &str, arguments: &Value) -> ToolRun {
    let call = ToolCallId::parse("call").unwrap();
    ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::from(arguments.as_object().unwrap().clone())),
        key: IdempotencyKey::derive(&call),
        attempt: ToolAttempt { call, attempt: 1 },
        max_bytes: 1 << 20,
        time_limit: Duration::from_secs(20),
        tool: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("web").unwrap(),
        },
    }
}

/// One call of one tool.
pub(crate) async fn call(tool: WebTool, arguments: &Value) -> Result<ToolResult, ToolFailure> {
    let run = run(&Arc::clone(tool.name()), arguments);
    ran(&toolbox([tool]), &run).await
}

pub(crate) async fn ran(toolbox: &WebTools, run: &ToolRun) -> Result<ToolResult, ToolFailure> {
    match toolbox.call(run, &CallContext::default(), &mut ()).await {
        Ok(ToolEnd::Finished(result)) => Ok(result),
        Ok(asked) => panic!("{asked:?}"),
        Err(error) => Err(error.failure),
    }
}

/// No parameters.
pub(crate) fn none() -> Value {
    json!({})
}
