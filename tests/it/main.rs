//! The slices: what a user does, with the real binary as a process in front of a scripted server.
//!
//! A slice that is named after a scenario begins with its number: `s1_06_…` is 1.6.
//! They need a Unix: a shell, `kill`, and text that is no text.

#![expect(
    clippy::expect_used,
    reason = "a slice that cannot go on has to fail the test"
)]

mod api;
mod api_approval_events;
mod api_docs;
mod api_events;
mod api_owners;
mod api_timeline;
mod api_titles;
mod api_ui;
mod approvals;
mod approvers;
mod asking;
mod asking_gemini;
mod asking_openai;
mod assistants;
mod attaching;
mod auditing;
mod bad_input;
mod bad_server;
mod breaking_off;
mod chat;
mod chat_approvals;
mod chat_commands;
mod chat_held;
mod chat_leaving;
mod chat_terminals;
mod chat_web;
mod coming_back;
mod compacting;
mod containers;
mod counting;
mod doctor;
mod events;
mod further_endpoints;
mod gateway;
mod gateway_again;
mod gateway_arguments;
mod gateway_assistants;
mod gateway_discreet;
mod gateway_errors;
mod gateway_guarded;
mod gateway_hostile;
mod gateway_lost;
mod gateway_matrix;
mod gateway_mcp;
mod gateway_new;
mod gateway_offer;
mod gateway_servers_changed;
mod gateway_sessions;
mod gateway_starting;
mod gateway_stopped;
mod gateway_tools;
mod harness;
mod interrupting;
mod keys;
mod languages;
mod lates;
mod left_open;
mod limits;
mod matrix;
mod mcp;
mod mcp_ending;
mod mcp_faults;
mod mcp_files;
mod mcp_http;
mod mcp_inspecting;
mod mcp_passing_on;
mod mcp_resources;
mod mcp_serve;
mod mcp_servers;
mod mcp_sign_in;
mod mcp_starting;
mod metrics;
mod models;
mod notes;
mod older;
mod passthrough;
mod pins;
mod pins_accepted;
mod prompting;
mod readme;
mod reasoning_back;
mod released;
mod replaying;
mod retrying;
mod room;
mod routes;
mod second_messages;
mod serving;
mod sessions;
mod soak;
mod spending;
mod streams;
mod strict;
mod switching;
mod traces;
mod vendor_turns;
mod watching;
mod web_apis;
