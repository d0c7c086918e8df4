//! The Responses language.

mod arb;
mod bounds;
mod corpus;
mod goldens;
mod hostile;
mod reply_laws;
mod request_laws;
mod returning;
mod streams;

use jackfield_domain::opaque::StateOwner;

/// Whom requests go to; one of the owners that the testkit's generators know.
pub(crate) fn owner() -> StateOwner {
    StateOwner {
        dialect: "openai-responses".into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}
