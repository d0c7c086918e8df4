//! Work that can be ended from within: by its time, by its steps, and before it has used up its stack.
//!
//! Whatever recurses over what a stranger wrote calls [`step`] at each turn of its way, and is ended
//! there by unwinding. So no thread stays behind, and none overflows its stack, which would end the
//! whole process.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

/// How far some work may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkLimits {
    /// The most steps.
    pub(crate) steps: u64,
    /// When it ends at the latest.
    pub(crate) until: Instant,
}

/// Why some work was ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WorkStopped {
    Late,
    TooDeep,
    /// A text, for the pattern that it would be matched with.
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
    /// Where the stack was when the work began.
    begun: usize,
    bounds: WorkLimits,
    steps: u64,
}

thread_local! {
    static WATCH: Cell<Option<WorkWatch>> = const { Cell::new(None) };
}

/// Does some work on this thread, which ends where it goes too far.
pub(crate) fn watched<T>(bounds: WorkLimits, work: impl FnOnce() -> T) -> Result<T, WorkStopped> {
    let watch = WorkWatch {
        begun: here(),
        bounds,
        steps: 0,
    };
    let before = WATCH.replace(Some(watch));
    // What was begun is thrown away with everything that it refers to.
    let ended = catch_unwind(AssertUnwindSafe(work));
    WATCH.set(before);
    ended.or_else(|thrown| match thrown.downcast::<WorkStopped>() {
        Ok(stopped) => Err(*stopped),
        Err(crash) => resume_unwind(crash),
    })
}

/// One step of work that is watched. Anywhere else it does nothing.
pub(crate) fn step() {
    let Some(mut watch) = WATCH.get() else {
        return;
    };
    watch.steps += 1;
    WATCH.set(Some(watch));
    let stopped = if watch.begun.abs_diff(here()) > MOST_STACK {
        WorkStopped::TooDeep
    } else if watch.steps > watch.bounds.steps {
        WorkStopped::TooMuch
    } else if watch.steps.is_multiple_of(LOOK) && Instant::now() >= watch.bounds.until {
        WorkStopped::Late
    } else {
        return;
    };
    stop(stopped);
}

/// A step that may be followed by one that takes long: the clock is looked at in any case.
pub(crate) fn long_step() {
    step();
    if WATCH
        .get()
        .is_some_and(|watch| Instant::now() >= watch.bounds.until)
    {
        stop(WorkStopped::Late);
    }
}

/// Ends the work that is watched.
pub(crate) fn stop(why: WorkStopped) {
    if WATCH.get().is_some() {
        // No panic: nothing is wrong here, and nothing is to be said on standard error.
        resume_unwind(Box::new(why));
    }
}

/// Where the stack is now, roughly.
#[inline(never)]
fn here() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(&mark).addr()
}

/// How often it is looked at the clock, in steps.
const LOOK: u64 = 16;
/// How much of the stack may be used, in bytes: half of what threads have by default.
const MOST_STACK: usize = 1 << 20;
