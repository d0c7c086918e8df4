//! From a prepared engine to an engine on a journal.

use std::sync::Arc;

use jackfield_engine::{MasterKeys, TurnObserver};
use jackfield_ports::journal::Journal;

use super::{Assembly, Prepared};

impl Prepared {
    /// Sets the keys under which secrets are encrypted.
    #[must_use]
    pub fn master_keys(mut self, keys: Option<MasterKeys>) -> Self {
        self.builder = self.builder.master_keys(keys);
        self
    }

    /// Adds an observer of ended turns and stored spending records.
    #[must_use]
    pub fn turn_observer(mut self, observer: Arc<dyn TurnObserver>) -> Self {
        self.builder = self.builder.turn_observer(observer);
        self
    }

    /// Builds the engine on this journal.
    #[must_use]
    pub fn with_journal(self, journal: Arc<dyn Journal>) -> Assembly {
        let Self {
            builder,
            dialects,
            keys_found,
            missing_keys,
            options,
            providers,
            servers,
            upstreams,
        } = self;
        Assembly {
            dialects,
            engine: builder.journal(journal).build(),
            keys_found,
            missing_keys,
            options,
            providers,
            servers,
            upstreams,
        }
    }
}
