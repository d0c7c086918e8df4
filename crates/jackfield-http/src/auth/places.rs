//! The open connections. Where there may be no more, one that has been idle for longest makes room.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

/// All open connections.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<OpenPlaces>);

#[derive(Debug, Default)]
struct OpenPlaces {
    by_id: HashMap<u64, Place>,
    /// Whether the next connection that is idle is to end.
    is_wanted: bool,
    next: u64,
}

#[derive(Debug)]
struct Place {
    /// Whether a request came.
    has_asked: bool,
    /// Whether it was asked to end.
    is_asked: bool,
    /// Whether a request is being answered.
    is_busy: bool,
    leave: Arc<Notify>,
    /// The client that came last; `None` before one is known.
    owner: Option<Arc<str>>,
    since: Instant,
}

/// A connection among them, until this is dropped.
#[derive(Clone, Debug)]
pub(crate) struct OpenPlace(Arc<PlaceGuard>);

#[derive(Debug)]
struct PlaceGuard {
    id: u64,
    leave: Arc<Notify>,
    places: Arc<Places>,
}

impl Places {
    pub(crate) fn add(self: &Arc<Self>) -> OpenPlace {
        let leave = Arc::new(Notify::new());
        let place = Place {
            has_asked: false,
            is_asked: false,
            is_busy: false,
            leave: Arc::clone(&leave),
            owner: None,
            since: Instant::now(),
        };
        let mut open = self.lock();
        open.next += 1;
        let id = open.next;
        open.by_id.insert(id, place);
        drop(open);
        OpenPlace(Arc::new(PlaceGuard {
            id,
            leave,
            places: Arc::clone(self),
        }))
    }

    /// Asks one connection to end: of the client that has most of them (all strangers are one), the one that has been
    /// idle for longest. Where requests are answered on all of them, it is the next one that is idle.
    pub(crate) fn make_room(&self) {
        let mut open = self.lock();
        let mut counts: HashMap<Option<Arc<str>>, usize> = HashMap::new();
        for place in open.by_id.values() {
            *counts.entry(place.owner.clone()).or_default() += 1;
        }
        let idle = open.by_id.values_mut();
        let idle = idle.filter(|place| !place.is_busy && !place.is_asked);
        let longest = idle.max_by_key(|place| {
            let count = counts.get(&place.owner).copied();
            (count, Reverse(place.since))
        });
        match longest {
            Some(place) => place.ask(),
            None => open.is_wanted = true,
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenPlaces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn ask(&mut self) {
        self.is_asked = true;
        self.leave.notify_one();
    }
}

impl OpenPlace {
    /// Waits until the connection is to make room.
    pub(crate) async fn asked_to_leave(&self) {
        self.0.leave.notified().await;
    }

    /// Notes whose requests come here.
    pub(crate) fn belongs_to(&self, owner: &Arc<str>) {
        self.change(|place| place.owner = Some(Arc::clone(owner)));
    }

    /// A request is being answered until this is dropped.
    pub(crate) fn begin(&self) -> Busy {
        let mut open = self.0.places.lock();
        let open = &mut *open;
        if let Some(place) = open.by_id.get_mut(&self.0.id) {
            place.has_asked = true;
            place.is_busy = true;
            // It was asked to end, and does so after this request only.
            open.is_wanted |= place.is_asked;
        }
        Busy(self.clone())
    }

    /// Whether a request is being answered.
    pub(crate) fn is_busy(&self) -> bool {
        self.is(|place| place.is_busy)
    }

    /// Whether a request came.
    pub(crate) fn has_asked(&self) -> bool {
        self.is(|place| place.has_asked)
    }

    fn is(&self, what: impl FnOnce(&Place) -> bool) -> bool {
        self.0.places.lock().by_id.get(&self.0.id).is_some_and(what)
    }

    fn change(&self, change: impl FnOnce(&mut Place)) {
        if let Some(place) = self.0.places.lock().by_id.get_mut(&self.0.id) {
            change(place);
        }
    }
}

impl Drop for PlaceGuard {
    fn drop(&mut self) {
        let mut open = self.places.lock();
        open.by_id.remove(&self.id);
        // Its own place is free.
        open.is_wanted = false;
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Busy(OpenPlace);

impl Drop for Busy {
    fn drop(&mut self) {
        let OpenPlace(guard) = &self.0;
        let mut open = guard.places.lock();
        let open = &mut *open;
        if let Some(place) = open.by_id.get_mut(&guard.id) {
            place.is_busy = false;
            place.since = Instant::now();
            if std::mem::take(&mut open.is_wanted) {
                place.ask();
            }
        }
    }
}
