//! How long a model is waited for: the limits, and their names.

use std::fmt;
use std::time::Duration;

use crate::time::MonoTime;

/// The limits on the wait for a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Patience {
    /// To the first piece; `None` if no limit is set.
    pub first_piece: Option<Duration>,
    /// Whether the reply comes in one piece, so that its first is its last.
    pub is_whole: bool,
    /// Without a byte.
    pub silence: Duration,
}

impl Patience {
    /// The limit on the wait for the next piece of a reply, of which the first came or not. A reply that comes whole
    /// has none unless one is set.
    #[must_use]
    pub fn piece_limit(&self, is_begun: bool) -> Option<PatienceLimit> {
        let longest = LONGEST_PAUSE.max(self.silence);
        let longest = (!self.is_whole).then_some(longest);
        if is_begun {
            longest.map(PatienceLimit::NextPiece)
        } else {
            self.first_piece.or(longest).map(PatienceLimit::FirstPiece)
        }
    }

    /// Until when the next bytes are waited for, and the limit that ends it then.
    #[must_use]
    pub fn until(
        &self,
        is_begun: bool,
        last_piece: MonoTime,
        last_byte: MonoTime,
    ) -> (MonoTime, PatienceLimit) {
        let silence = PatienceLimit::Silence(self.silence);
        let silence = (last_byte.after(self.silence), silence);
        let piece = self.piece_limit(is_begun);
        let piece = piece.map(|limit| (last_piece.after(limit.time()), limit));
        match piece {
            Some(piece) if piece.0 < silence.0 => piece,
            Some(_) | None => silence,
        }
    }
}

/// A limit on the wait for a model. Written out, it is the message of the failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PatienceLimit {
    /// To the first piece of a reply.
    FirstPiece(Duration),
    /// To the next piece of a reply whose server is alive.
    NextPiece(Duration),
    /// Without a byte.
    Silence(Duration),
}

impl PatienceLimit {
    pub(crate) const fn time(self) -> Duration {
        match self {
            Self::FirstPiece(time) | Self::NextPiece(time) | Self::Silence(time) => time,
        }
    }
}

impl fmt::Display for PatienceLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time();
        let time = match time.subsec_millis() {
            0 => format!("{} s", time.as_secs()),
            _ => format!("{} ms", time.as_millis()),
        };
        match self {
            Self::FirstPiece(_) => {
                write!(
                    f,
                    "the model did not begin its reply within {time} (`first_byte`)"
                )
            }
            Self::NextPiece(_) => write!(f, "the model did not go on with its reply for {time}"),
            Self::Silence(_) => write!(f, "the model said nothing for {time}"),
        }
    }
}

/// How long a reply may bring no piece although its server is alive, where no limit is set.
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);
