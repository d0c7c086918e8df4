//! How long the provider's reply is waited for, which is as in a turn.

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::limits::patience::Patience;
use jackfield_domain::time::MonoTime;
use tokio::time::{Instant, timeout_at};

/// The wait for a reply, from its request on.
#[derive(Debug)]
pub(super) struct Waiting {
    began: Instant,
    is_begun: bool,
    last_piece: MonoTime,
    patience: Patience,
}

impl Waiting {
    /// The request is sent now.
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            began: Instant::now(),
            is_begun: false,
            last_piece: MonoTime::default(),
            patience,
        }
    }

    /// Whether a piece of the reply has come, not only signs of life.
    pub(super) const fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Bytes have come, with a piece of the reply or without.
    pub(super) fn heard(&mut self, has_piece: bool) {
        if has_piece {
            self.last_piece = self.now();
            self.is_begun = true;
        }
    }

    fn now(&self) -> MonoTime {
        MonoTime::from_start(self.began.elapsed())
    }

    /// What a future brings before a limit ends the wait for the next bytes. Silence counts from here on: a client that
    /// reads slowly is no silent provider.
    pub(super) async fn bounded<T>(
        &self,
        future: impl Future<Output = T>,
    ) -> Result<T, ModelFailure> {
        let (until, limit) = self
            .patience
            .until(self.is_begun, self.last_piece, self.now());
        let brought = timeout_at(self.began + until.elapsed(), future).await;
        brought.map_err(|_| {
            let phase = if self.is_begun {
                Phase::MidReply
            } else {
                Phase::BeforeFirstDelta
            };
            ModelFailure::new(ModelFailureKind::Timeout, phase, limit.to_string())
        })
    }
}
