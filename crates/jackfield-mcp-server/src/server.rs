//! The MCP server, and its connections.

use std::sync::Arc;

use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, ServerTools, TurnOptions};
use rmcp::service::serve_directly;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::Semaphore;

use crate::handler::RequestHandler;
use crate::life::{ConnectionLife, LifeGuard};
use crate::lines::Lines;
use crate::offer::{Offer, ToolSelection};
use crate::own_tool::OwnTool;
use crate::selection::SelectedTool;
use crate::settings::ServerSettings;
use crate::transport::ClientPipes;
use crate::writer::{ClientWriter, LossLog};

/// Serves the tools of an engine over MCP. Clones share the engine.
#[derive(Clone, Debug)]
pub struct ToolServer {
    engine: Engine,
    options: TurnOptions,
    choice: ToolSelection,
    own_tools: Arc<[Arc<dyn OwnTool>]>,
    pub(crate) settings: ServerSettings,
}

impl ToolServer {
    /// A server of all tools that these options allow without approval.
    #[must_use]
    pub fn new(engine: Engine, mut options: TurnOptions) -> Self {
        options.policy.can_ask = false;
        // The tools do not depend on what a model can do, so none is named.
        options.model = ModelRef {
            model: "".into(),
            provider: "".into(),
        };
        Self {
            engine,
            options,
            choice: ToolSelection::Patterns(Arc::new(["*".into()])),
            own_tools: Arc::new([]),
            settings: ServerSettings::default(),
        }
    }

    /// Offers these tools, too. One hides a tool of the engine that has its name.
    #[must_use]
    pub fn with_own(mut self, tools: impl IntoIterator<Item = Arc<dyn OwnTool>>) -> Self {
        self.own_tools = tools.into_iter().collect();
        self
    }

    /// Offers only tools that match one of these patterns over `toolbox/tool`, with the syntax of policy
    /// patterns: `*` matches any text.
    #[must_use]
    pub fn offering<P: Into<Arc<str>>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        let patterns: Arc<[Arc<str>]> = patterns.into_iter().map(Into::into).collect();
        // Toolboxes without a matching tool are not asked.
        self.options.server_tools = ServerTools::Only(patterns.to_vec());
        self.choice = ToolSelection::Patterns(patterns);
        self
    }

    /// Offers these tools alone, out of those that the options allow. One that is not there is left out, with a
    /// note in the server's instructions.
    #[must_use]
    pub fn selecting(mut self, tools: impl IntoIterator<Item = SelectedTool>) -> Self {
        self.choice = ToolSelection::Tools(tools.into_iter().collect());
        self
    }

    #[must_use]
    pub fn with(mut self, settings: ServerSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The offered tools, and those that are not offered. Starts MCP servers where necessary.
    pub async fn offer(&self) -> Offer {
        self.choice.offer(self.engine.tools(&self.options).await)
    }

    /// The handler of one connection's requests.
    pub(crate) fn handler(&self, loss_log: LossLog, life: ConnectionLife) -> RequestHandler {
        RequestHandler {
            announces_changes: true,
            closing: None,
            engine: self.engine.clone(),
            headers: None,
            life,
            log_level: Arc::default(),
            loss_log,
            options: self.options.clone(),
            choice: self.choice.clone(),
            client: "".into(),
            own_tools: Arc::clone(&self.own_tools),
            reads_questions: true,
            settings: self.settings.clone(),
            subscribed: None,
            turns: Arc::new(Semaphore::new(self.settings.most_calls)),
            waiting: Arc::default(),
        }
    }

    /// Serves one client until its input ends, its output fails, or `stop` completes.
    ///
    /// After the end of input, calls in flight may run for [`ServerSettings::grace`]; then they are aborted. When
    /// `stop` completes, they are aborted at once. Dropping the future aborts them, too.
    pub async fn serve<R, W>(&self, input: R, output: W, stop: impl Future<Output = ()> + Send)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let life = ConnectionLife::new();
        let _last_word = LifeGuard(life.clone());
        let settings = &self.settings;
        let writer = ClientWriter::new(output, life.clone());
        let handler = RequestHandler {
            announces_changes: false,
            ..self.handler(writer.loss_log(), life.clone())
        };
        let input = BufReader::with_capacity(BUFFER, input);
        let lines = Lines::new(input, settings.max_message);
        let bounds = (settings.max_message, settings.most_requests);
        let pipes = ClientPipes::new(lines, writer, life.clone(), bounds);
        let serving = serve_directly(handler, pipes, None).waiting();
        let mut serving = std::pin::pin!(serving);
        let ended = tokio::select! {
            ended = &mut serving => ended,
            () = stop => {
                life.close();
                serving.await
            }
        };
        if let Err(error) = ended {
            tracing::error!(%error, "the server's task failed");
        }
    }
}

/// The size of the read buffer, in bytes.
const BUFFER: usize = 64 << 10;
