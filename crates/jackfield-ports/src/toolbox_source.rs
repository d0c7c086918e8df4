//! The port to the toolboxes that a principal may use.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;

use crate::toolbox::Toolbox;

/// A source of toolboxes, such as the MCP servers that each user has configured.
///
/// The engine asks when a turn begins, when another process resumes it, and before a call outside of a turn. A turn
/// keeps the toolboxes that it got until it ends or waits.
///
/// # Contract
///
/// - A source MUST NOT return a toolbox to a principal that may not use it.
/// - Each id MUST occur once, and MUST stand for the same tools at each request of a principal, also after a restart:
///   a resumed turn finds its toolboxes by their ids.
/// - A source SHOULD return the same instance of a toolbox again while it is in use, so that servers are not started
///   for each turn.
/// - An unavailable toolbox MUST NOT make the others unavailable: it is a problem, or a toolbox whose list fails.
/// - A source MUST answer soon, and MUST NOT wait for a server to start: after 30 seconds the engine goes on without
///   it. Dropping the future MUST lose nothing.
#[async_trait]
pub trait ToolboxSource: Send + Sync {
    /// The toolboxes of a principal. `None` is a turn without a client, as from the command line.
    async fn toolboxes(&self, principal: Option<&str>) -> ToolboxSet;

    /// Waits until the toolboxes of any principal are other ones than when this was called. The default never
    /// returns: clients that wait for changed tools compare them from time to time in any case. Cancel-safe.
    async fn changed(&self) {
        std::future::pending::<()>().await;
    }
}

/// The toolboxes of a principal.
#[derive(Clone, Debug, Default)]
pub struct ToolboxSet {
    /// The toolboxes that the source cannot return now, and why.
    pub problems: Vec<ToolboxProblem>,
    /// The toolboxes. If two tools share a name, the tool of the first toolbox is used.
    pub toolboxes: Vec<RegisteredToolbox>,
}

/// A toolbox, with how its tools are named and trusted.
#[derive(Clone)]
pub struct RegisteredToolbox {
    /// How its tools are named and trusted.
    pub status: ToolboxStatus,
    /// The toolbox.
    pub toolbox: Arc<dyn Toolbox>,
}

impl fmt::Debug for RegisteredToolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredToolbox")
            .field("status", &self.status)
            .field("toolbox", self.toolbox.id())
            .finish()
    }
}

/// How the tools of a toolbox are named and trusted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolboxStatus {
    /// The prefix of its tools' names, in place of the toolbox id; may be empty.
    pub prefix: Option<Arc<str>>,
    /// Which server it is, where another one may take the same id later: a turn that began with the tools of this one
    /// does not call those of another.
    pub server: Option<Digest>,
    /// Whether its read-only tools run in non-interactive turns, where no approval is possible.
    pub trusted: bool,
}

/// A toolbox that is unavailable, or that has an unusable tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolboxProblem {
    /// The problem, in a sentence.
    pub message: String,
    /// The toolbox, or [`WHOLE_SOURCE`] if it is a problem of a whole source.
    pub toolbox: ToolboxId,
}

/// The id of problems of a whole source.
pub const WHOLE_SOURCE: &str = "toolboxes";

/// The same toolboxes for every principal.
#[derive(Clone, Debug)]
pub struct FixedToolboxes {
    toolboxes: Vec<RegisteredToolbox>,
}

impl FixedToolboxes {
    /// A source of these toolboxes, each with an id of its own.
    #[must_use]
    pub const fn new(toolboxes: Vec<RegisteredToolbox>) -> Self {
        Self { toolboxes }
    }
}

#[async_trait]
impl ToolboxSource for FixedToolboxes {
    async fn toolboxes(&self, _principal: Option<&str>) -> ToolboxSet {
        ToolboxSet {
            problems: Vec::new(),
            toolboxes: self.toolboxes.clone(),
        }
    }
}
