//! The subscribers of turns in this process, and whether each answer was fully written to one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::ids::TurnId;
use tokio::sync::Notify;

/// The subscribers, by turn.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(Mutex<HashMap<TurnId, TurnSubscribers>>);

/// A turn that has subscribers, or had some until recently.
#[derive(Debug, Default)]
struct TurnSubscribers {
    /// Its segments.
    segments: BTreeMap<u32, Segment>,
    /// Notified when a connection ends.
    changed: Arc<Notify>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    is_written: bool,
    /// The number of connections that it is being written to.
    connections: usize,
}

/// What a process knows about the delivery of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeliveryState {
    /// It is being written to a client.
    Live,
    /// The journal knows whether it was written.
    Unknown,
    /// It was fully written.
    Written,
}

impl Subscribers {
    /// The delivery state of a segment's answer.
    pub(crate) fn delivery_state(&self, turn: &TurnId, segment: u32) -> DeliveryState {
        let turns = self.turns();
        match turns
            .get(turn)
            .and_then(|subscribers| subscribers.segments.get(&segment))
        {
            Some(segment) if segment.is_written => DeliveryState::Written,
            Some(segment) if segment.connections > 0 => DeliveryState::Live,
            Some(_) | None => DeliveryState::Unknown,
        }
    }

    /// Waits until no connection is open and the answer of the last subscribed segment was fully written.
    pub(crate) async fn wait_delivered(&self, turn: &TurnId) {
        self.wait_until(turn, TurnSubscribers::is_written).await;
    }

    /// Waits until no connection is open. Returns whether the answer of the last subscribed segment was fully
    /// written.
    pub(crate) async fn wait_disconnected(&self, turn: &TurnId) -> bool {
        self.wait_until(turn, TurnSubscribers::is_disconnected)
            .await;
        self.turns()
            .get(turn)
            .is_some_and(TurnSubscribers::is_written)
    }

    async fn wait_until(&self, turn: &TurnId, condition: fn(&TurnSubscribers) -> bool) {
        let changed = {
            let mut turns = self.turns();
            Arc::clone(&turns.entry(turn.clone()).or_default().changed)
        };
        loop {
            let mut notified = std::pin::pin!(changed.notified());
            // Registered before the check, so that no notification is missed in between.
            notified.as_mut().enable();
            if self.turns().get(turn).is_some_and(condition) {
                return;
            }
            notified.await;
        }
    }

    /// Removes a turn that is gone.
    pub(crate) fn forget(&self, turn: &TurnId) {
        self.turns().remove(turn);
    }

    pub(crate) fn connect(&self, turn: &TurnId, segment: u32) {
        let mut turns = self.turns();
        let subscribers = turns.entry(turn.clone()).or_default();
        subscribers.segments.entry(segment).or_default().connections += 1;
    }

    /// Like `begin`, but only if the answer is not being written and was not written before. Returns whether it
    /// was registered.
    pub(crate) fn connect_exclusive(&self, turn: &TurnId, segment: u32) -> bool {
        let mut turns = self.turns();
        let subscribers = turns.entry(turn.clone()).or_default();
        let state = subscribers.segments.entry(segment).or_default();
        let is_alone = state.connections == 0 && !state.is_written;
        if is_alone {
            state.connections += 1;
        }
        is_alone
    }

    /// Ends a connection. Returns whether it was the turn's last one.
    pub(crate) fn disconnect(&self, turn: &TurnId, segment: u32, is_written: bool) -> bool {
        let mut turns = self.turns();
        let Some(subscribers) = turns.get_mut(turn) else {
            return false;
        };
        if let Some(segment) = subscribers.segments.get_mut(&segment) {
            segment.connections = segment.connections.saturating_sub(1);
            segment.is_written |= is_written;
        }
        subscribers.changed.notify_waiters();
        let is_last = subscribers.is_disconnected();
        if subscribers.is_removable() {
            turns.remove(turn);
        }
        is_last
    }

    /// The journal has recorded the delivery, so it is removed here.
    pub(crate) fn mark_recorded(&self, turn: &TurnId, segment: u32) {
        let mut turns = self.turns();
        let Some(subscribers) = turns.get_mut(turn) else {
            return;
        };
        if let Some(segment) = subscribers.segments.get_mut(&segment) {
            segment.is_written = false;
        }
        if subscribers.is_removable() {
            turns.remove(turn);
        }
    }

    pub(crate) fn is_disconnected(&self, turn: &TurnId) -> bool {
        self.turns()
            .get(turn)
            .is_none_or(TurnSubscribers::is_disconnected)
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<TurnId, TurnSubscribers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnSubscribers {
    fn is_disconnected(&self) -> bool {
        self.segments
            .values()
            .all(|segment| segment.connections == 0)
    }

    /// Whether the answer of the last subscribed segment was fully written and has no open connection.
    fn is_written(&self) -> bool {
        let last = self.segments.values().next_back();
        last.is_some_and(|last| last.is_written && last.connections == 0)
    }

    fn is_removable(&self) -> bool {
        let mut segments = self.segments.values();
        // A task may be waiting for the next notification.
        Arc::strong_count(&self.changed) == 1
            && segments.all(|segment| segment.connections == 0 && !segment.is_written)
    }
}
