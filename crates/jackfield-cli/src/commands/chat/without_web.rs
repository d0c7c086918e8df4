//! What stands for `jackfield chat --web` in a build without the feature `serve`.

use jackfield_assembly::Registry;

use crate::args;
use crate::exit::Exit;
use crate::fault::{CommandError, no_gateway};

/// Says that there is no gateway.
///
/// # Errors
///
/// Always a [`CommandError`].
#[expect(clippy::unused_async, reason = "with a gateway it waits")]
pub(super) async fn run(_chat: args::Chat, _registry: &Registry) -> Result<Exit, CommandError> {
    Err(no_gateway())
}
