//! Fakes that are stricter than real adapters.
//!
//! A real model accepts much that it should not be sent; these do not. They record violations of the rules, and
//! dropping a fake with violations fails the test:
//!
//! ```
//! # use std::sync::Arc;
//! # use jackfield_domain::reply::FinishReason;
//! # use jackfield_ports::chat_model::ChatModel;
//! use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
//!
//! let model = ScriptedModel::new();
//! model.push_reply(ScriptedReply::calls([("clock", "{}")]));
//! model.push_reply(ScriptedReply::text("It is noon."));
//! let port: Arc<dyn ChatModel> = model.port(); // for whatever is tested
//! # drop(port);
//! assert!(model.requests().is_empty());
//! // A request in which a call lacks its outcome, or one too many, would fail here.
//! drop(model);
//! ```

mod call;
mod context;
mod curious;
mod journal;
mod mcp_observer;
mod model;
mod refusal;
mod reply;
mod rulebook;
mod toolbox;

pub use self::call::ScriptedCall;
pub use self::curious::CuriousToolbox;
pub use self::journal::{AppendFault, FaultyJournal, JournalRequest};
pub use self::mcp_observer::RecordingMcpObserver;
pub use self::model::ScriptedModel;
pub use self::reply::ScriptedReply;
pub use self::toolbox::{CalledWhat, Ending, ObservedCall, ScriptedToolbox};
pub use crate::gate::Gate;
