//! Which turn answers a request: a new one, or one that is there.

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::setup::{Opening, Transcript};
use jackfield_engine::{Begun, SendMessage};

use super::asked::Asked;
use crate::gateway::Gateway;
use crate::{failures, ids};

/// Opens the turn that answers a request.
///
/// # Errors
///
/// What is wrong with the conversation, or with the session.
pub(crate) async fn open(gateway: &Gateway, asked: &Asked) -> Result<Begun, ServeError> {
    let session = ids::session()
        .map_err(|error| ServeError::new(ServeErrorKind::Internal, error.to_string()))?;
    let transcript = Transcript::parse(asked.incoming.messages.clone())
        .map_err(|error| ServeError::new(ServeErrorKind::Invalid, error.to_string()))?;
    let message = SendMessage {
        opening: Opening::Transcript(transcript),
        options: asked.options.clone(),
        session,
    };
    let begun = gateway.engine_of(asked.is_kept).begin(message).await;
    begun.map_err(|error| failures::of_engine(&error))
}
