//! An MCP server over standard input and output, by `rmcp` as it comes, with one tool.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

/// The tool, which gives back its `text`, after `sleep_ms` milliseconds if it is told to.
pub const TOOL: &str = "echo";

/// How the server is.
#[derive(Clone, Debug, Default)]
pub struct Echo {
    /// How many tools it has besides.
    pub more_tools: usize,
}

/// Serves until the input ends.
///
/// # Errors
///
/// If the client does not behave.
pub async fn serve(echo: Echo) -> anyhow::Result<()> {
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    echo.serve(pipes).await?.waiting().await?;
    Ok(())
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("bench-echo", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let more = (0..self.more_tools).map(|nth| format!("tool_{nth:05}"));
        let names = [TOOL.to_owned()].into_iter().chain(more);
        Ok(ListToolsResult::with_all_items(names.map(tool).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        let sleep = arguments.get("sleep_ms").and_then(Value::as_u64);
        if let Some(millis) = sleep.filter(|millis| *millis > 0) {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        let text = arguments.get("text").and_then(Value::as_str);
        let content = ContentBlock::text(text.unwrap_or_default());
        Ok(CallToolResult::success(vec![content]).into())
    }
}

fn tool(name: String) -> Tool {
    let mut tool = Tool::new(name, DESCRIPTION, Arc::new(schema()));
    tool.annotations = Some(ToolAnnotations::new().read_only(true));
    tool
}

/// The schema of the tool.
#[must_use]
pub fn schema() -> Map<String, Value> {
    let properties = json!({
        "text": { "type": "string", "description": "What is given back." },
        "sleep_ms": { "type": "integer", "minimum": 0, "description": "After how long." },
    });
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), json!(["text"])),
    ])
}

/// What models are told of the tool.
pub const DESCRIPTION: &str = "Gives back what it is given.";
