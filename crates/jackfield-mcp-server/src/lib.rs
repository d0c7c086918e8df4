//! Tools of ours as an MCP server.
