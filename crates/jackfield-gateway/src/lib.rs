//! The business of a gateway, without any transport: which turn answers a client's request, who the client is, what
//! it may use, and what it gets back.
//!
//! A client's request is one *segment* of a turn: from the user's message, or from client results, until the turn
//! ends or waits for the client. A delivery app reads a request, calls [`Gateway::open`], and renders the events of
//! the turn. It needs no configuration files: a [`Gateway`] is made of an engine and a [`GatewayConfig`].
//!
//! | module | what it does |
//! |---|---|
//! | `config` | the values that a gateway is made of |
//! | `clients`, `api_keys` | the clients, by their API keys: of the configuration, and of the journal's directory |
//! | `admission`, `request_slot` | slots of requests, and the quotas of clients |
//! | `browser_logins`, `sign_in`, `browser_origin` | the logins of browsers, by a key or at an identity provider, and the gateway's address for them |
//! | `models`, `catalog` | the names that clients may use for models |
//! | `parsed_request` | a request with its effective options |
//! | `opening` | the turn that answers a request |
//! | `matcher`, `in_flight` | earlier turns of the same request, by its key or its body |
//! | `locator` | the session that a request continues |
//! | `previous`, `stored_response`, `item_references` | replies that are fetched later, by their ids |
//! | `question_feed` | when the open questions have changed |
//! | `passthrough` | requests that go to their provider byte for byte |
//! | `agents` | permission questions of other agents, as turns |
//! | `failures` | the client's error for each internal error |

#![warn(missing_docs)]

mod admission;
mod agents;
mod api_keys;
mod browser_logins;
mod browser_origin;
mod budget_warnings;
mod catalog;
mod clients;
mod config;
mod doctor;
pub mod failures;
mod gateway;
pub mod ids;
mod in_flight;
mod item_references;
mod key_locks;
mod locator;
mod matcher;
mod metrics;
mod models;
mod opening;
mod overtaken;
mod parsed_request;
mod passthrough;
mod previous;
mod question_feed;
mod request_slot;
mod routes;
mod sign_in;
mod stored_response;
pub mod tools;
mod trace;
mod write_probe;

pub use self::admission::AdmissionRefusal;
pub use self::agents::{AGENTS, AgentQuestion};
pub use self::api_keys::{ApiKeys, OpenEndpoint, Principal};
pub use self::browser_logins::{BrowserLogin, LOGIN_LIFETIME};
pub use self::browser_origin::is_this_machine;
pub use self::catalog::ModelCatalog;
pub use self::config::{
    AssistantConfig, DEFAULT_ASSISTANT, GatewayConfig, GatewayLimits, KeySummary,
    PassthroughConfig, PassthroughUpstream, ProviderSummary, ServerDirectory, ServerSummary,
    ServerSummaryState, SignInConfig, ToolSetEntry,
};
pub use self::doctor::{CheckedItem, Doctor};
pub use self::gateway::{BodyRoom, Gateway};
pub use self::item_references::resolve_references;
pub use self::locator::{Destination, SessionLocator};
pub use self::matcher::{Claim, MatchError, RequestIdentity, RequestMatch, RequestMatcher};
pub use self::metrics::{EndedRequest, GatewayMetrics};
pub use self::models::RequestedModel;
pub use self::opening::AnsweringTurn;
pub use self::overtaken::OvertakenWait;
pub use self::parsed_request::ParsedRequest;
pub use self::passthrough::{
    PATH, Passthrough, PassthroughBody, PassthroughReply, ReceivedRequest, is_multipart,
};
pub use self::previous::not_found;
pub use self::request_slot::{Admission, QuotaHold, RequestSlot};
pub use self::sign_in::{EndedSignIn, SIGN_IN_LIFETIME, SignInFailure, StartedSignIn};
pub use self::stored_response::StoredResponse;
pub use self::trace::trace_context;
