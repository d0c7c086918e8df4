//! Amazon Bedrock as a chat model, over its Converse API.
//!
//! [`Bedrock`](client::Bedrock) is the model and [`BedrockConfig`](config::BedrockConfig) its settings. No client speaks
//! this language to us, so its mappers go one way and live here, and not in a crate of their own: [`request`] and
//! [`reply`] are pure, and [`wire`] has the types without logic.
//!
//! The wire format is that of the service model `bedrock-runtime/2023-09-30` in `botocore` 1.44.8 (2026-11), unless
//! stated otherwise. A stream is binary; its frames are read by `aws-smithy-eventstream`, and requests are signed by
//! `aws-sigv4`, both of the vendor's SDK.

pub mod client;
pub mod config;
pub mod credentials;
pub mod error;
pub mod frames;
pub mod profile;
pub mod reply;
pub mod request;
pub mod wire;

/// The name of this language in [`StateOwner`](jackfield_domain::opaque::StateOwner) and
/// [`Extension`](jackfield_domain::opaque::Extension).
pub const DIALECT: &str = "bedrock";
