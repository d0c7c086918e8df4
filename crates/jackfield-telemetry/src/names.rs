//! The names of metrics and labels.
//!
//! Where OpenTelemetry has a name, it is used in its Prometheus form (semantic conventions for generative AI 0.1.0, MCP
//! and HTTP, as of 2026-11). All others begin with `jackfield_`.

/// The time of a model call.
pub(crate) const MODEL_CALL_DURATION: &str = "gen_ai_client_operation_duration";
/// The time to the first piece of a reply.
pub(crate) const FIRST_CHUNK: &str = "gen_ai_client_operation_time_to_first_chunk";
/// The tokens of a model call.
pub(crate) const TOKEN_USAGE: &str = "gen_ai_client_token_usage";
/// The time of a tool call.
pub(crate) const TOOL_DURATION: &str = "gen_ai_execute_tool_duration";
/// The time of a turn.
pub(crate) const TURN_DURATION: &str = "gen_ai_invoke_agent_duration";
/// The time of a request to an MCP server.
pub(crate) const MCP_CLIENT_OPERATION: &str = "mcp_client_operation_duration";
/// The time of a session with an MCP server.
pub(crate) const MCP_CLIENT_SESSION: &str = "mcp_client_session_duration";
/// The time of a request of an MCP client.
pub(crate) const MCP_SERVER_OPERATION: &str = "mcp_server_operation_duration";
/// The time of a session of an MCP client.
pub(crate) const MCP_SERVER_SESSION: &str = "mcp_server_session_duration";
/// The time of an HTTP request.
pub(crate) const REQUEST_DURATION: &str = "http_server_request_duration";

pub(crate) const BUILD: &str = "jackfield_build";
pub(crate) const LEDGER_COST: &str = "jackfield_ledger_cost";
pub(crate) const LEDGER_TAG_COST: &str = "jackfield_ledger_tag_cost";
pub(crate) const LEDGER_TAG_TOKENS: &str = "jackfield_ledger_tag_tokens";
pub(crate) const LEDGER_TOKENS: &str = "jackfield_ledger_tokens";
pub(crate) const OPEN_TURNS: &str = "jackfield_open_turns";
pub(crate) const RESUMED_TURNS: &str = "jackfield_resumed_turns";
pub(crate) const TARGET_CHOICES: &str = "jackfield_target_choices";
pub(crate) const TARGET_OPEN: &str = "jackfield_target_breaker_open";
pub(crate) const WAITS: &str = "jackfield_waits";

pub(crate) const AGENT: &str = "gen_ai_agent_name";
pub(crate) const CURRENCY: &str = "currency";
pub(crate) const END: &str = "end";
pub(crate) const ERROR: &str = "error_type";
pub(crate) const KIND: &str = "kind";
pub(crate) const MCP_METHOD: &str = "mcp_method_name";
pub(crate) const MCP_REVISION: &str = "mcp_protocol_version";
pub(crate) const MCP_SERVER: &str = "jackfield_server";
pub(crate) const METHOD: &str = "http_request_method";
pub(crate) const MODEL: &str = "gen_ai_request_model";
pub(crate) const OPERATION: &str = "gen_ai_operation_name";
pub(crate) const PROMPT: &str = "gen_ai_prompt_name";
pub(crate) const PROVIDER: &str = "gen_ai_provider_name";
pub(crate) const REASON: &str = "reason";
pub(crate) const ROUTE: &str = "http_route";
pub(crate) const RPC_STATUS: &str = "rpc_response_status_code";
pub(crate) const STATUS: &str = "http_response_status_code";
pub(crate) const TAG: &str = "tag";
pub(crate) const TOKEN_TYPE: &str = "gen_ai_token_type";
pub(crate) const TOOL: &str = "gen_ai_tool_name";
pub(crate) const TRANSPORT: &str = "network_transport";
pub(crate) const VALUE: &str = "value";

/// The names of OpenTelemetry for the metrics and labels that have one there.
pub(crate) const OPENTELEMETRY: [(&str, &str); 25] = [
    (AGENT, "gen_ai.agent.name"),
    (ERROR, "error.type"),
    (FIRST_CHUNK, "gen_ai.client.operation.time_to_first_chunk"),
    (MCP_CLIENT_OPERATION, "mcp.client.operation.duration"),
    (MCP_CLIENT_SESSION, "mcp.client.session.duration"),
    (MCP_METHOD, "mcp.method.name"),
    (MCP_REVISION, "mcp.protocol.version"),
    (MCP_SERVER_OPERATION, "mcp.server.operation.duration"),
    (MCP_SERVER_SESSION, "mcp.server.session.duration"),
    (METHOD, "http.request.method"),
    (MODEL, "gen_ai.request.model"),
    (MODEL_CALL_DURATION, "gen_ai.client.operation.duration"),
    (OPERATION, "gen_ai.operation.name"),
    (PROMPT, "gen_ai.prompt.name"),
    (PROVIDER, "gen_ai.provider.name"),
    (REQUEST_DURATION, "http.server.request.duration"),
    (ROUTE, "http.route"),
    (RPC_STATUS, "rpc.response.status_code"),
    (STATUS, "http.response.status_code"),
    (TOKEN_TYPE, "gen_ai.token.type"),
    (TOKEN_USAGE, "gen_ai.client.token.usage"),
    (TOOL, "gen_ai.tool.name"),
    (TOOL_DURATION, "gen_ai.execute_tool.duration"),
    (TRANSPORT, "network.transport"),
    (TURN_DURATION, "gen_ai.invoke_agent.duration"),
];

/// The names of spans and of their attributes.
pub(crate) mod span {
    pub(crate) const CHAT: &str = "chat";
    pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
    pub(crate) const INVOKE_AGENT: &str = "invoke_agent";

    pub(crate) const ADDRESS: &str = "server.address";
    pub(crate) const AGENT: &str = "gen_ai.agent.name";
    pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    pub(crate) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
    pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(crate) const ERROR: &str = "error.type";
    pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub(crate) const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
    pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    pub(crate) const MCP_METHOD: &str = "mcp.method.name";
    pub(crate) const MCP_REVISION: &str = "mcp.protocol.version";
    pub(crate) const MCP_SESSION: &str = "mcp.session.id";
    pub(crate) const METHOD: &str = "http.request.method";
    pub(crate) const MODEL: &str = "gen_ai.request.model";
    pub(crate) const OPERATION: &str = "gen_ai.operation.name";
    pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    pub(crate) const PATH: &str = "url.path";
    pub(crate) const PORT: &str = "server.port";
    pub(crate) const PROMPT: &str = "gen_ai.prompt.name";
    pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
    pub(crate) const RPC_ID: &str = "jsonrpc.request.id";
    pub(crate) const RPC_STATUS: &str = "rpc.response.status_code";
    pub(crate) const STATUS: &str = "http.response.status_code";
    pub(crate) const TOOL: &str = "gen_ai.tool.name";
    pub(crate) const TOOL_CALL: &str = "gen_ai.tool.call.id";
    pub(crate) const TRANSPORT: &str = "network.transport";

    pub(crate) const ATTEMPT: &str = "jackfield.attempt";
    pub(crate) const END: &str = "jackfield.end";
    pub(crate) const RESUMED: &str = "jackfield.resumed";
    pub(crate) const ROUND: &str = "jackfield.round";
    pub(crate) const TARGET_REASON: &str = "jackfield.target.reason";
    pub(crate) const TURN: &str = "jackfield.turn.id";

    pub(crate) const SERVICE: &str = "service.name";
    pub(crate) const VERSION: &str = "service.version";
}
