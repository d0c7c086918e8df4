//! The scripted servers are tested before anything is tested with them.

mod breaking;
mod checking;
mod checking_chat;
mod checking_chat_messages;
mod checking_compatible;
mod checking_responses;
mod edit;
mod http;
mod mcp;
mod program;
mod refusing_openai;
mod remembering;
mod remembering_openai;
mod saying;
mod saying_chat;
mod saying_responses;
mod sign_in;
