//! Which servers may be sent a request over a kept connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The servers by host and port, as far as something is known about their connections.
///
/// A server may close a kept connection just when the next request is on its way. Then its requests get fresh
/// connections for a while, the longer the more often it happened.
#[derive(Debug, Default)]
pub struct ConnectionReuse(Mutex<HashMap<Arc<str>, ServerState>>);

#[derive(Clone, Copy, Debug)]
struct ServerState {
    /// The number of kept connections that it closed on a request.
    closes: u32,
    /// When it last did.
    last_close: Option<Instant>,
    /// When it last replied.
    last_reply: Instant,
}

impl ConnectionReuse {
    /// Whether a request to this server may use a kept connection.
    pub fn is_allowed(&self, host: &str) -> bool {
        let servers = self.servers();
        servers.get(host).is_none_or(|state| {
            let pause = BASE_PAUSE.saturating_mul(1 << state.closes.min(MAX_DOUBLINGS));
            let pause = pause.min(MAX_PAUSE);
            state.last_close.is_none_or(|at| at.elapsed() >= pause)
        })
    }

    /// The server has begun to reply.
    pub fn replied(&self, host: &Arc<str>) {
        let now = Instant::now();
        let mut servers = self.servers();
        let state = servers.entry(Arc::clone(host)).or_insert(ServerState {
            closes: 0,
            last_close: None,
            last_reply: now,
        });
        state.last_reply = now;
        if state.last_close.is_some_and(|at| at.elapsed() >= MAX_PAUSE) {
            (state.closes, state.last_close) = (0, None);
        }
    }

    /// The server has closed the connection of a request that was allowed to use a kept one, without an answer.
    /// Returns whether the connection may have been a kept one: it had replied shortly before.
    pub fn closed(&self, host: &str) -> bool {
        let mut servers = self.servers();
        let Some(state) = servers.get_mut(host) else {
            return false;
        };
        if state.last_reply.elapsed() > MAX_KEPT {
            return false;
        }
        state.closes = state.closes.saturating_add(1);
        state.last_close = Some(Instant::now());
        true
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<Arc<str>, ServerState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a connection is idle at most, and the pause after the first close is twice that: no other kept connection
/// is left then.
const BASE_PAUSE: Duration = super::POOL_IDLE;
/// The longest pause, and the time after which closes are forgotten.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);
const MAX_DOUBLINGS: u32 = 10;
/// A reply may end some time after it began, and its connection is kept from then on.
const MAX_KEPT: Duration = Duration::from_secs(10 * 60);
