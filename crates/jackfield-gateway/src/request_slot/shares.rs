//! Shares of something limited (requests, turns, bytes) among the clients that use it at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limit that clients share. A client alone may use all of it. Beyond the limit there is a quarter more, for those
/// that have less than an even share: so a client that has all of it keeps no other out.
#[derive(Debug)]
pub(crate) struct Shares {
    limit: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    by_owner: HashMap<Arc<str>, usize>,
    total: usize,
}

/// A part that a client uses, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    count: usize,
    owner: Arc<str>,
    shares: Arc<Shares>,
}

/// How much is in use where a client gets no more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Exceeded {
    /// By all clients.
    pub(crate) total: usize,
    /// By this one.
    pub(crate) own: usize,
}

impl Shares {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: Mutex::default(),
        })
    }

    /// Takes so much for a client: a user or a token, and never the end user that a request names.
    pub(crate) fn take(
        self: &Arc<Self>,
        owner: &Arc<str>,
        count: usize,
    ) -> Result<Share, Exceeded> {
        let mut share = Share {
            count: 0,
            owner: Arc::clone(owner),
            shares: Arc::clone(self),
        };
        share.grow(count)?;
        Ok(share)
    }

    /// Takes one for a client, beyond the limit as well.
    pub(crate) fn count(self: &Arc<Self>, owner: &Arc<str>) -> Share {
        self.lock().add(owner, 1);
        Share {
            count: 1,
            owner: Arc::clone(owner),
            shares: Arc::clone(self),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn take(&mut self, limit: usize, owner: &Arc<str>, count: usize) -> Result<(), Exceeded> {
        let own = self.by_owner.get(owner).copied();
        let owners = self.by_owner.len() + usize::from(own.is_none());
        let own = own.unwrap_or(0);
        let fits = self.total.saturating_add(count) <= limit
            || (own.saturating_add(count) <= limit.div_ceil(owners)
                && self.total.saturating_add(count) <= limit.saturating_add(limit.div_ceil(4)));
        if !fits {
            let total = self.total;
            return Err(Exceeded { total, own });
        }
        self.add(owner, count);
        Ok(())
    }

    fn add(&mut self, owner: &Arc<str>, count: usize) {
        *self.by_owner.entry(Arc::clone(owner)).or_default() += count;
        self.total += count;
    }
}

impl Share {
    /// Takes so much more.
    pub(crate) fn grow(&mut self, count: usize) -> Result<(), Exceeded> {
        let limit = self.shares.limit;
        self.shares.lock().take(limit, &self.owner, count)?;
        self.count += count;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = self.shares.lock();
        used.total -= self.count;
        if let Some(own) = used.by_owner.get_mut(&self.owner) {
            *own -= self.count;
            if *own == 0 {
                used.by_owner.remove(&self.owner);
            }
        }
    }
}
