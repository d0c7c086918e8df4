//! The Responses language.

mod arb;
mod bounds;
mod corpus;
mod goldens;
mod hostile;
mod namespaces;
mod refusals;
mod reply_laws;
mod request_laws;
mod returning;
mod serving;
mod streams;
mod told_again;
mod tool_search;

use jackfield_dialect_kit::serve::ReplyInfo;
use jackfield_domain::opaque::StateOwner;

/// Whom requests go to; one of the owners that the testkit's generators know.
pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "openai-responses".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

/// What the replies of these tests are about.
pub(crate) fn about() -> ReplyInfo {
    ReplyInfo {
        created: 7,
        id: "1".to_owned(),
        model: "model-a".to_owned(),
        ..ReplyInfo::default()
    }
}
