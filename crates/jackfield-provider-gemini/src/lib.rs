//! Gemini as a chat model: the Gemini API, or any compatible server.
//!
//! [`Gemini`](client::Gemini) is the model and [`GeminiConfig`](config::GeminiConfig) its settings. The wire format is
//! in `jackfield-dialect-gemini`; the capabilities and failures are in the README of this crate.
//!
//! The model is a part of the address, `/v1beta/models/MODEL:streamGenerateContent?alt=sse`, and the key is a header,
//! `x-goog-api-key`, never a parameter of the address.
//!
//! At Vertex AI the address has project and location, too, and the key is a token of [Google's credentials](google).

pub mod client;
pub mod config;
pub mod google;
pub mod upstream;
