//! Random values for cookies, each of which stands for something for a while.
//!
//! They are in memory alone: a restart ends them all. Only the digest of a value is kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use tokio::time::Instant;

/// What stands behind values that are open, at most [`MAX_OPEN`].
#[derive(Debug)]
pub(crate) struct Tickets<T> {
    lifetime: Duration,
    open: Mutex<HashMap<Digest, Ticket<T>>>,
}

#[derive(Debug)]
struct Ticket<T> {
    expires: Instant,
    holds: T,
}

impl<T> Tickets<T> {
    /// Values that last so long.
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            open: Mutex::default(),
        }
    }

    /// Makes a value. At the limit, the one that would end first makes room.
    pub(crate) fn issue(&self, holds: T) -> Result<String, getrandom::Error> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let value = Digest::from_bytes(random).to_hex();
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            let first = open.iter().min_by_key(|(_, ticket)| ticket.expires);
            if let Some(first) = first.map(|(digest, _)| *digest) {
                open.remove(&first);
            }
        }
        let expires = Instant::now() + self.lifetime;
        open.insert(Digest::of(value.as_bytes()), Ticket { expires, holds });
        Ok(value)
    }

    /// Takes what a value stands for; the value is worth nothing any more.
    pub(crate) fn take(&self, value: &str) -> Option<T> {
        let taken = self.lock().remove(&Digest::of(value.as_bytes()));
        taken.map(|ticket| ticket.holds)
    }

    /// All that are not over.
    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Ticket<T>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|_, ticket| ticket.expires > now);
        open
    }
}

impl<T: Clone> Tickets<T> {
    /// What a value stands for, and when it ends.
    pub(crate) fn find(&self, value: &str) -> Option<(T, Instant)> {
        let open = self.lock();
        let ticket = open.get(&Digest::of(value.as_bytes()))?;
        Some((ticket.holds.clone(), ticket.expires))
    }
}

/// How long a login of a browser lasts.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a person may take to sign in at an identity provider.
pub const SIGN_IN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How many values are open at once.
const MAX_OPEN: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_OPEN, Tickets};

    #[tokio::test(start_paused = true)]
    async fn a_value_ends_when_it_is_taken_or_its_time_is_over() {
        let tickets = Tickets::new(LIFETIME);
        let taken = tickets.issue("ann").expect("random numbers");
        let old = tickets.issue("bob").expect("random numbers");
        assert_ne!(taken, old);
        assert_eq!(tickets.take(&taken), Some("ann"));
        assert_eq!(tickets.take(&taken), None);
        assert!(tickets.find(&taken).is_none());
        assert!(tickets.find("").is_none());
        assert_eq!(tickets.find(&old).map(|(name, _)| name), Some("bob"));
        tokio::time::advance(LIFETIME).await;
        assert!(tickets.find(&old).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_value_makes_room_for_a_new_one() {
        let tickets = Tickets::new(LIFETIME);
        let first = tickets.issue(0).expect("random numbers");
        tokio::time::advance(LIFETIME / 2).await;
        let second = tickets.issue(1).expect("random numbers");
        for number in 2..=MAX_OPEN {
            tickets.issue(number).expect("random numbers");
        }
        assert!(tickets.find(&first).is_none());
        assert!(tickets.find(&second).is_some());
    }

    const LIFETIME: Duration = Duration::from_secs(600);
}
