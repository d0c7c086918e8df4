//! What definitions of tools were written as before: every request to a provider brings all of them again.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use jackfield_domain::note::Note;
use jackfield_domain::tool::ToolDefinition;
use serde::Serialize;

use crate::bounded::Bounded;
use crate::brought::Brought;
use crate::notes::Notes;

/// What definitions were written as in one language, by their place in memory: as long as an entry is here,
/// which holds on to it, the place is not given to another definition. Made for a `static`. Keeps what was
/// asked for last, of a megabyte of texts.
pub struct Written<T>(LazyLock<Mutex<Bounded<Key, Entry<T>>>>);

/// The place of a definition, its number among the tools of its request, which is in the notes, and the form
/// that it is written in.
type Key = (usize, usize, u8);

struct Entry<T> {
    holds_on: Weak<ToolDefinition>,
    notes: Arc<[Note]>,
    tool: Brought<T>,
}

impl<T: Serialize> Written<T> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// What a definition, the tool of this number of a request, was written as in this form, or is written as
    /// now: a function of these three alone.
    pub fn of(
        &self,
        definition: &Arc<ToolDefinition>,
        number: usize,
        form: u8,
        notes: &mut Notes,
        write: impl FnOnce(&mut Notes) -> T,
    ) -> Brought<T> {
        let key = (Arc::as_ptr(definition).addr(), number, form);
        let known = self.kept().get(&key);
        if let Some(known) = known {
            notes.extend(known.notes.iter().cloned());
            return known.tool;
        }
        let mut own = Notes::default();
        let tool = Brought::from(write(&mut own));
        let own = own.into_vec();
        notes.extend(own.iter().cloned());
        if let Some(bytes) = tool.text().map(|text| text.get().len()) {
            let entry = Entry {
                holds_on: Arc::downgrade(definition),
                notes: own.into(),
                tool: tool.clone(),
            };
            self.kept().keep(|| key, entry, bytes);
        }
        tool
    }

    fn kept(&self) -> MutexGuard<'_, Bounded<Key, Entry<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self {
            holds_on: Weak::clone(&self.holds_on),
            notes: Arc::clone(&self.notes),
            tool: self.tool.clone(),
        }
    }
}

impl<T: Serialize> Default for Written<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").finish_non_exhaustive()
    }
}
