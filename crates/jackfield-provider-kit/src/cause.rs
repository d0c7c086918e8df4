//! Finds the cause of an error within its chain.

use std::error::Error;
use std::io;

/// The innermost error of this type in the chain, including those wrapped in I/O errors.
pub(crate) fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let inner = match error.downcast_ref::<io::Error>() {
        Some(wrapper) => wrapper
            .get_ref()
            .map(|inner| inner as &'a (dyn Error + 'static)),
        None => None,
    };
    inner
        .or_else(|| error.source())
        .and_then(cause)
        .or_else(|| error.downcast_ref())
}
