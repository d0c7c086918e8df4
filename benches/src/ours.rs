//! The same work by Jackfield: the engine with an MCP server and a provider, as the library has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::{IdempotencyKey, SessionId, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::message::Message;
use jackfield_domain::request::{ModelRef, ToolRun};
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::ToolOrigin;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_engine::{DirectCall, Engine, SendMessage, ToolOffer, ToolboxStatus, TurnOptions};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, OpenAiConfig, Profile};
use jackfield_store_memory::MemoryJournal;
use jackfield_tools_mcp::{ClientSettings, HttpEndpoint, McpToolbox, ServerConfig};
use serde_json::{Map, Value};

use crate::echo::TOOL;
use crate::plan::Plan;

/// An engine with one MCP server and one provider.
pub struct Ours {
    /// The engine.
    pub engine: Engine,
    /// What its turns are asked with.
    pub options: TurnOptions,
    toolbox: Arc<McpToolbox>,
}

impl Ours {
    /// Puts it together, and starts the server. Connections are kept for the next request, as the floor keeps them.
    ///
    /// # Errors
    ///
    /// If the server does not start.
    pub async fn start(base_url: &str, server: &[String]) -> anyhow::Result<Self> {
        Self::start_on(Arc::new(MemoryJournal::default()), base_url, server).await
    }

    /// The same as [`start`](Self::start), on this journal.
    ///
    /// # Errors
    ///
    /// If the server does not start.
    pub async fn start_on(
        journal: Arc<dyn Journal>,
        base_url: &str,
        server: &[String],
    ) -> anyhow::Result<Self> {
        let toolbox = toolbox("echo", server)?;
        toolbox.start().await?;
        let mut config = OpenAiConfig::new(base_url)?;
        config.api = Api::ChatCompletions;
        config.profile = jackfield_provider_kit::by_model::ByModel::always(Profile::COMPATIBLE);
        let model = OpenAi::new(config, Transport::new(TransportSettings::default())?)?;
        let standing = ToolboxStatus {
            prefix: None,
            server: None,
            trusted: true,
        };
        let engine = Engine::builder(journal)
            .model("bench", Arc::new(model))
            .toolbox_as(Arc::<McpToolbox>::clone(&toolbox), standing)
            .build();
        let options = TurnOptions::new(ModelRef {
            model: "bench".into(),
            provider: "bench".into(),
        });
        Ok(Self {
            engine,
            options,
            toolbox,
        })
    }

    /// A turn of a session of its own: its answer, and how many calls it had.
    ///
    /// # Errors
    ///
    /// If it does not end with an answer.
    pub async fn turn(&self, plan: Plan) -> anyhow::Result<(String, usize)> {
        let session = SessionId::parse(&format!("bench_{}", next()))?;
        self.turn_of(session, plan).await
    }

    /// A turn of this session.
    ///
    /// # Errors
    ///
    /// If it does not end with an answer.
    pub async fn turn_of(&self, session: SessionId, plan: Plan) -> anyhow::Result<(String, usize)> {
        let message = SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user(plan.to_string()))),
            options: self.options.clone(),
            session,
        };
        let report = self.engine.send(message, &mut ()).await?;
        ensure!(
            matches!(report.end, TurnEnd::Answered(_)),
            "the turn ended so: {:?}",
            report.end
        );
        Ok((report.answer(), report.calls.len()))
    }

    /// Calls the tool past the engine.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub async fn call(&self, arguments: Map<String, Value>) -> anyhow::Result<()> {
        call(&self.toolbox, arguments).await
    }

    /// Calls the tool through the whole of the engine.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub async fn call_by_name(&self, arguments: Map<String, Value>) -> anyhow::Result<()> {
        let name = format!("echo__{TOOL}");
        let called = self.engine.call_tool(&self.options, &name, arguments);
        ensure!(!called.await?.is_error, "the tool failed");
        Ok(())
    }

    /// Calls the tool through the engine, as one of those that it offered.
    ///
    /// # Errors
    ///
    /// If the tool is not offered, or fails.
    pub async fn call_offered(
        &self,
        offered: &ToolOffer,
        arguments: Map<String, Value>,
    ) -> anyhow::Result<()> {
        let tool = offered.catalog.tool(&format!("echo__{TOOL}"));
        let tool = tool.context("the tool is not offered")?;
        let call = DirectCall::new(arguments);
        let result = self.engine.call_offered(&self.options, tool, call).await;
        ensure!(!result.is_error, "the tool failed");
        Ok(())
    }

    /// An engine whose server is not asked: what it offered is remembered.
    ///
    /// # Errors
    ///
    /// If it was not asked before.
    pub fn remembering(&self) -> anyhow::Result<Engine> {
        let remembered = self.toolbox.remembered().context("nothing is known")?;
        let config = ServerConfig::new(self.toolbox.id().clone(), "never-started");
        let toolbox = McpToolbox::new(config, ClientSettings::default()).remembering(remembered);
        let engine = Engine::builder(Arc::new(MemoryJournal::default()));
        Ok(engine.toolbox(Arc::new(toolbox)).build())
    }

    /// Ends the server.
    pub async fn stop(self) {
        self.toolbox.stop().await;
    }
}

/// A server as a toolbox, not started.
///
/// # Errors
///
/// If the command is empty.
pub fn toolbox(id: &str, server: &[String]) -> anyhow::Result<Arc<McpToolbox>> {
    let (program, arguments) = server.split_first().context("no command")?;
    let mut config = ServerConfig::new(ToolboxId::parse(id)?, program.as_str());
    config.arguments = arguments.to_vec();
    config.trusted = true;
    Ok(Arc::new(McpToolbox::new(config, ClientSettings::default())))
}

/// A server at an address as a toolbox, not started.
///
/// # Errors
///
/// If the id is none.
pub fn toolbox_at(id: &str, url: &str) -> anyhow::Result<Arc<McpToolbox>> {
    let endpoint = HttpEndpoint {
        headers: Vec::new(),
        url: url.to_owned(),
    };
    let mut config = ServerConfig::at(ToolboxId::parse(id)?, endpoint);
    config.trusted = true;
    Ok(Arc::new(McpToolbox::new(config, ClientSettings::default())))
}

async fn call(toolbox: &McpToolbox, arguments: Map<String, Value>) -> anyhow::Result<()> {
    call_tool(toolbox, TOOL, arguments).await
}

/// Calls a tool of a toolbox.
///
/// # Errors
///
/// If the tool does not answer.
pub async fn call_tool(
    toolbox: &McpToolbox,
    tool: &str,
    arguments: Map<String, Value>,
) -> anyhow::Result<()> {
    let call = ToolCallId::parse(&format!("call_{}", next()))?;
    let run = ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::from(arguments)),
        key: IdempotencyKey::derive(&call),
        max_bytes: 1 << 20,
        time_limit: Duration::from_secs(30),
        tool: ToolOrigin {
            tool: tool.into(),
            toolbox: toolbox.id().clone(),
        },
        attempt: ToolAttempt { attempt: 1, call },
    };
    let end = toolbox.call(&run, &CallContext::default(), &mut ()).await?;
    ensure!(matches!(end, ToolEnd::Finished(_)), "the tool did not end");
    Ok(())
}

/// A number that no session and no call had before.
fn next() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}
