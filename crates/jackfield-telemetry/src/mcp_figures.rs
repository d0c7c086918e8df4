//! The figures of requests and sessions of the Model Context Protocol.

use jackfield_engine::{McpRequest, McpSession, McpSide, McpTransport};
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::labels::{BoundedValues, Labels};
use crate::names;

#[derive(Debug)]
pub(crate) struct McpFigures {
    /// As a client of servers.
    client: SideFigures,
    /// As the server of clients.
    server: SideFigures,
}

#[derive(Debug)]
struct SideFigures {
    codes: BoundedValues,
    methods: BoundedValues,
    operations: Family<Labels, Histogram, McpBuckets>,
    prompts: BoundedValues,
    revisions: BoundedValues,
    sessions: Family<Labels, Histogram, McpBuckets>,
    tools: BoundedValues,
}

/// The buckets that OpenTelemetry advises for this protocol.
#[derive(Clone, Copy, Debug)]
struct McpBuckets;

impl MetricConstructor<Histogram> for McpBuckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

impl McpFigures {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        Self {
            client: SideFigures::register(
                registry,
                (
                    names::MCP_CLIENT_OPERATION,
                    "The time of a request to an MCP server",
                ),
                (
                    names::MCP_CLIENT_SESSION,
                    "The time of a session with an MCP server",
                ),
            ),
            server: SideFigures::register(
                registry,
                (
                    names::MCP_SERVER_OPERATION,
                    "The time of a request of an MCP client",
                ),
                (
                    names::MCP_SERVER_SESSION,
                    "The time of a session of an MCP client, to its last use",
                ),
            ),
        }
    }

    pub(crate) fn record(&self, request: &McpRequest) {
        self.side(request.side).record(request);
    }

    pub(crate) fn record_session(&self, session: &McpSession) {
        let side = self.side(session.side);
        let labels = vec![
            (
                names::MCP_REVISION,
                side.revisions.bounded(&session.revision),
            ),
            (names::MCP_SERVER, text(session.server.as_deref())),
            (names::TRANSPORT, transport(session.transport).to_owned()),
            (names::ERROR, text(session.error.as_deref())),
        ];
        let duration = side.sessions.get_or_create(&labels);
        duration.observe(session.took.as_secs_f64());
    }

    const fn side(&self, side: McpSide) -> &SideFigures {
        match side {
            McpSide::Client => &self.client,
            McpSide::Server => &self.server,
        }
    }
}

impl SideFigures {
    fn register(
        registry: &mut Registry,
        operation: (&'static str, &str),
        session: (&'static str, &str),
    ) -> Self {
        let figures = Self {
            codes: BoundedValues::default(),
            methods: BoundedValues::default(),
            operations: Family::new_with_constructor(McpBuckets),
            prompts: BoundedValues::default(),
            revisions: BoundedValues::default(),
            sessions: Family::new_with_constructor(McpBuckets),
            tools: BoundedValues::default(),
        };
        for ((name, help), histograms) in [
            (operation, &figures.operations),
            (session, &figures.sessions),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, histograms.clone());
        }
        figures
    }

    fn record(&self, request: &McpRequest) {
        // A name that was refused may be of no tool or prompt: clients and models make such names up.
        let named = |values: &BoundedValues, name: Option<&str>| match request.status {
            None => name.map_or_else(String::new, |name| values.bounded(name)),
            Some(_) => String::new(),
        };
        let bounded = |values: &BoundedValues, value: Option<&str>| {
            value.map_or_else(String::new, |value| values.bounded(value))
        };
        let code = request.status.map(|code| code.to_string());
        let labels = vec![
            (names::MCP_METHOD, self.methods.bounded(&request.method)),
            (names::MCP_SERVER, text(request.server.as_deref())),
            (names::TOOL, named(&self.tools, request.tool.as_deref())),
            (
                names::PROMPT,
                named(&self.prompts, request.prompt.as_deref()),
            ),
            (
                names::MCP_REVISION,
                bounded(&self.revisions, request.revision.as_deref()),
            ),
            (names::TRANSPORT, transport(request.transport).to_owned()),
            (names::ERROR, bounded(&self.codes, request.error.as_deref())),
            (names::RPC_STATUS, bounded(&self.codes, code.as_deref())),
        ];
        let duration = self.operations.get_or_create(&labels);
        duration.observe(request.took.as_secs_f64());
    }
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

/// The value of `network.transport`.
pub(crate) const fn transport(transport: McpTransport) -> &'static str {
    match transport {
        McpTransport::Pipe => "pipe",
        McpTransport::Tcp => "tcp",
    }
}

/// The upper bounds of the buckets (OpenTelemetry, semantic conventions for MCP, read 2026-11-26).
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
