//! The fakes do what they were told to, and notice what is done to them.

mod contracts;
mod journal;
mod model;
mod toolbox;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What a value says when it is dropped against the rules.
fn complaint<T>(value: T) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(value))).err()?;
    panic.downcast::<String>().ok().map(|text| *text)
}

/// Polls a future once, and drops it: whether it was ready.
fn is_ready<T>(future: impl Future<Output = T>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Ready(_))
}
