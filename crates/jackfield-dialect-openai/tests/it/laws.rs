//! What the laws of both dialects have in common.

use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::ModelRequest;

/// Without the messages in which a user shows what tools returned: no author wrote them.
pub(crate) fn without_shown(request: ModelRequest) -> ModelRequest {
    let shows = |message: &Message| {
        message.role == Role::User && message.to_text().starts_with("[What the call ")
    };
    let messages = request.messages.iter().filter(|message| !shows(message));
    ModelRequest {
        messages: messages.map(|message| (**message).clone()).collect(),
        ..request
    }
}
