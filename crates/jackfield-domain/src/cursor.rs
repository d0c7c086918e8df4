//! Cursors: how far a watcher has been told a session.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::accumulator::ReplyAccumulator;

/// How far a watcher has been told a session: everything before it, and nothing after it.
///
/// One number: how many facts of the session come before it, times 2^24, and how many units of the
/// reply attempt that the last of them opened. A unit is a block's start, a block's end, or one byte
/// of a block's text. It does not depend on how a reply was cut into pieces or who tells it, and it
/// only ever grows, over attempts and restarts alike. As text it is that number; nobody has to know
/// what it is made of.
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

/// The text given as a cursor is none.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error(
    "a cursor is a whole number from 0 to {}, as a watcher was given it",
    u64::MAX
)]
pub struct InvalidCursor;

impl Cursor {
    /// Before everything.
    pub const START: Self = Self(0);

    /// Behind this many facts, and before what the next one says.
    #[must_use]
    pub fn behind_facts(facts: u64) -> Self {
        Self::behind(facts, 0)
    }

    /// Behind this many facts, and this many units of the reply that the last of them opened.
    pub(crate) fn behind(facts: u64, units: usize) -> Self {
        let units = units.min(ReplyAccumulator::MAX_UNITS) as u64;
        Self((facts.min(u64::MAX >> UNIT_BITS) << UNIT_BITS) | units)
    }

    /// How many facts of the session come before it.
    #[must_use]
    pub const fn facts(self) -> u64 {
        self.0 >> UNIT_BITS
    }

    /// How many units come before it of the reply attempt that the last of those facts opened.
    #[must_use]
    pub const fn units(self) -> usize {
        // Fits wherever `usize` has 32 bits.
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
        // `u64` would take a sign, too.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidCursor);
        }
        text.parse().map(Self).map_err(|_| InvalidCursor)
    }
}

/// How many bits the units take: 2^24 of them are more than any reply has.
const UNIT_BITS: u32 = 24;
