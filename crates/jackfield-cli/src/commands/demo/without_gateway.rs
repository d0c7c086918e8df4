//! What stands for the demo's gateway in a build without the feature `serve`.

use std::net::SocketAddr;

use crate::exit::Exit;
use crate::fault::{CommandError, no_gateway};

/// What the gateway would be for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Page,
    Sdks,
}

/// Says that there is no gateway.
///
/// # Errors
///
/// Always a [`CommandError`].
#[expect(clippy::unused_async, reason = "with a gateway it waits")]
pub(super) async fn run(
    _purpose: Purpose,
    _bind: Option<SocketAddr>,
) -> Result<Exit, CommandError> {
    Err(no_gateway())
}
