//! Cursors: positions in the events of a session.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A position in the events of a session: a watcher has received everything before it, and nothing after it.
///
/// It is one number: the number of facts before it, times 2^24, plus the number of units before it of the reply
/// attempt that the last of these facts opened. A unit is a block's start, a block's end, or one byte of a
/// block's text. It does not depend on how a reply was cut into deltas or which process sends it, and it only
/// grows, across attempts and restarts. The text form is that number; clients should treat it as opaque.
///
/// ```
/// use jackfield_domain::cursor::Cursor;
///
/// let cursor: Cursor = "50331650".parse()?;
/// assert_eq!((cursor.facts(), cursor.units()), (3, 2));
/// assert_eq!(cursor.to_string(), "50331650");
/// # Ok::<(), jackfield_domain::cursor::InvalidCursor>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Cursor(u64);

/// The text is not a valid cursor.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error(
    "a cursor is a whole number from 0 to {}, as a watcher was given it",
    u64::MAX
)]
pub struct InvalidCursor;

impl Cursor {
    /// The maximum number of units of a reply.
    pub const MAX_UNITS: usize = (1 << UNIT_BITS) - 1;

    /// Before all events.
    pub const START: Self = Self(0);

    /// After this many facts, and before any event of the next one.
    #[must_use]
    pub fn after_facts(facts: u64) -> Self {
        Self::after(facts, 0)
    }

    /// After this many facts, and this many units of the reply that the last of them opened.
    pub(crate) fn after(facts: u64, units: usize) -> Self {
        let units = units.min(Self::MAX_UNITS) as u64;
        Self((facts.min(u64::MAX >> UNIT_BITS) << UNIT_BITS) | units)
    }

    /// The number of facts before it.
    #[must_use]
    pub const fn facts(self) -> u64 {
        self.0 >> UNIT_BITS
    }

    /// The number of units before it of the reply attempt that the last of those facts opened.
    #[must_use]
    pub const fn units(self) -> usize {
        // Fits, as `usize` has at least 32 bits on supported targets.
        (self.0 & ((1 << UNIT_BITS) - 1)) as usize
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        // `u64` would accept a sign.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidCursor);
        }
        text.parse().map(Self).map_err(|_| InvalidCursor)
    }
}

/// The number of bits for units.
const UNIT_BITS: u32 = 24;
