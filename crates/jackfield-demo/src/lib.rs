//! A rule-following model behind a loopback server that speaks the Claude dialect.
