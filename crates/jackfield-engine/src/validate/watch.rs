//! Bounds synchronous work by time, steps and stack use.
//!
//! Code that recurses over untrusted input calls [`step`] at each level, which unwinds when a limit is
//! exceeded. So no thread is left running, and none overflows its stack, which would end the whole process.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

/// The limits of some work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkLimits {
    /// The maximum number of steps.
    pub(crate) steps: u64,
    /// The deadline.
    pub(crate) deadline: Instant,
}

/// Why some work was stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WorkStopped {
    Late,
    TooDeep,
    /// A text is too long for the pattern that it would be matched with.
    TooLong,
    TooMuch,
}

impl fmt::Display for WorkStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Late => "it takes too long",
            Self::TooDeep => "it goes deeper into itself than can be followed",
            Self::TooLong => "a text is too long for one of its patterns",
            Self::TooMuch => "it unfolds into more than can be followed",
        })
    }
}

#[derive(Clone, Copy)]
struct WorkWatch {
    /// The stack address when the work began.
    start_address: usize,
    limits: WorkLimits,
    steps: u64,
}

thread_local! {
    static WATCH: Cell<Option<WorkWatch>> = const { Cell::new(None) };
}

/// Runs work on this thread, and stops it when it exceeds its limits.
pub(crate) fn watched<T>(bounds: WorkLimits, work: impl FnOnce() -> T) -> Result<T, WorkStopped> {
    let watch = WorkWatch {
        start_address: stack_address(),
        limits: bounds,
        steps: 0,
    };
    let before = WATCH.replace(Some(watch));
    // After unwinding, everything that the work refers to is discarded.
    let ended = catch_unwind(AssertUnwindSafe(work));
    WATCH.set(before);
    ended.or_else(|thrown| match thrown.downcast::<WorkStopped>() {
        Ok(stopped) => Err(*stopped),
        Err(crash) => resume_unwind(crash),
    })
}

/// Counts one step of bounded work; a no-op outside of it.
pub(crate) fn step() {
    let Some(mut watch) = WATCH.get() else {
        return;
    };
    watch.steps += 1;
    WATCH.set(Some(watch));
    let stopped = if watch.start_address.abs_diff(stack_address()) > MAX_STACK {
        WorkStopped::TooDeep
    } else if watch.steps > watch.limits.steps {
        WorkStopped::TooMuch
    } else if watch.steps.is_multiple_of(LOOK) && Instant::now() >= watch.limits.deadline {
        WorkStopped::Late
    } else {
        return;
    };
    stop(stopped);
}

/// A step before one that may take long: always checks the clock.
pub(crate) fn long_step() {
    step();
    if WATCH
        .get()
        .is_some_and(|watch| Instant::now() >= watch.limits.deadline)
    {
        stop(WorkStopped::Late);
    }
}

/// Stops the bounded work; a no-op outside of it.
pub(crate) fn stop(why: WorkStopped) {
    if WATCH.get().is_some() {
        // Not a panic: this is no error, and the panic hook must not print to standard error.
        resume_unwind(Box::new(why));
    }
}

/// The current stack address, roughly.
#[inline(never)]
fn stack_address() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(&mark).addr()
}

/// The clock is checked every this many steps.
const LOOK: u64 = 16;
/// The maximum stack use, in bytes: half of a thread's default stack.
const MAX_STACK: usize = 1 << 20;
