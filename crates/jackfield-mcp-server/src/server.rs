//! The server: what it offers, and one connection of it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_engine::{Engine, ServerTools, TurnOptions};
use rmcp::service::serve_directly;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::Semaphore;

use crate::handler::RequestHandler;
use crate::life::{ConnectionLife, LifeGuard};
use crate::lines::Lines;
use crate::offer::Offer;
use crate::transport::ClientPipes;
use crate::writer::ClientWriter;

/// The tools of an engine, as an MCP server. Cloning shares the engine.
#[derive(Clone, Debug)]
pub struct ToolServer {
    engine: Engine,
    options: TurnOptions,
    patterns: Arc<[Arc<str>]>,
    settings: ServerSettings,
}

/// What holds for every connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerSettings {
    /// How long calls have to end when the client says nothing more; `rmcp` gives them five seconds at most.
    pub grace: Duration,
    /// The longest message that is read, in bytes.
    pub max_message: usize,
    /// How many calls run at once; more wait.
    pub most_calls: usize,
    /// How many requests may be without an answer; more are refused.
    pub most_requests: usize,
    /// The server's name, as clients are told it.
    pub name: String,
    /// The server's version, as clients are told it.
    pub version: String,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            grace: Duration::from_millis(500),
            max_message: 4 << 20,
            most_calls: 64,
            most_requests: 1024,
            name: "jackfield".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl ToolServer {
    /// A server of all tools that may run without asking under these options.
    #[must_use]
    pub fn new(engine: Engine, mut options: TurnOptions) -> Self {
        options.policy.can_ask = false;
        Self {
            engine,
            options,
            patterns: Arc::new(["*".into()]),
            settings: ServerSettings::default(),
        }
    }

    /// Offers only tools of one of these patterns over `toolbox/tool`, with `*` for any text; patterns
    /// are those of the policy.
    #[must_use]
    pub fn offering<P: Into<Arc<str>>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.patterns = patterns.into_iter().map(Into::into).collect();
        // Toolboxes of none of them are not asked.
        self.options.server_tools = ServerTools::Only(self.patterns.to_vec());
        self
    }

    /// Serves with these settings.
    #[must_use]
    pub fn with(mut self, settings: ServerSettings) -> Self {
        self.settings = settings;
        self
    }

    /// What is offered, and what is not. Starts whatever has to be started to know that.
    pub async fn offer(&self) -> Offer {
        Offer::of(self.engine.tools(&self.options).await, &self.patterns)
    }

    /// Serves one client until it says nothing more, takes nothing more, or `stop` comes to its end.
    ///
    /// When the input ends, calls under way have a moment ([`ServerSettings::grace`]) for their outcome; then,
    /// and at once when `stop` ends, they are aborted. Dropping the future aborts them, too.
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
            aside: writer.aside(),
            engine: self.engine.clone(),
            life: life.clone(),
            options: self.options.clone(),
            patterns: Arc::clone(&self.patterns),
            settings: settings.clone(),
            turns: Semaphore::new(settings.most_calls),
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
                life.stop();
                serving.await
            }
        };
        if let Err(error) = ended {
            tracing::error!(%error, "the server's task failed");
        }
    }
}

/// How much is read at once, in bytes.
const BUFFER: usize = 64 << 10;
