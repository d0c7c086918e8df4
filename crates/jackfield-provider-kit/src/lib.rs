//! What provider adapters share: transport, SSE, status, secrets.
