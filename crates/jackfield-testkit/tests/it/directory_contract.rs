//! The contracts of `Directory`, `Logins`, `Meters`, `Secrets` and `UpstreamResponses`: the journal in memory keeps them,
//! and each clause catches a mistake.

mod logins;
mod meters;
mod secrets;
mod upstream_responses;

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ClientLookup, DirectoryChange, DirectoryEntry, EntryKind, EntryName, InvalidEntryName,
};
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId};
use jackfield_domain::quota::{Meter, MeterOperation};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use jackfield_ports::journal::logins::Logins;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::meters::Meters;
use jackfield_ports::journal::secrets::Secrets;
use jackfield_ports::journal::sessions::{
    DueSessions, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::upstream_responses::UpstreamResponses;
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Journal, JournalError, Lease, Loaded,
};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::directory::{CLAUSES, check};
use jackfield_testkit::contract::journal::{JournalHarness, START};

use crate::mutants::{Mutant, check_clauses, check_mutants};

thread_local! {
    /// The mistake of the directories that are made on this thread.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

/// A mistake of a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mistake {
    None,
    /// Every change is stored, whatever its revision.
    AcceptsAnyRevision,
    /// Keys are found by secrets of older changes, too.
    FindsReplacedSecrets,
    /// A restart loses everything.
    ForgetsAtTheEnd,
    /// The list of entries has the first change of each.
    ListsTheFirstChange,
    /// The list of changes ignores the entry that was asked for.
    ListsChangesOfAll,
    /// Teams and users have their names together.
    MixesKinds,
    /// The first key counts only once it has changed.
    OverlooksTheFirstKey,
    /// The first meter of a refused request is charged.
    ChargesTheRefused,
    /// A correction sets totals whatever they are by now.
    CorrectsInAnyCase,
    /// A record that is repeated is settled again.
    SettlesRepetitions,
    SettlesCountsBesideEstimates,
    /// What was spent counts for the time at which it arrives.
    SettlesAtArrival,
    /// An operation works on what it read before others were done.
    ReadsMetersTooEarly,
    /// Requests per minute are not limited.
    LimitsNoRate,
    /// A repetition is a conflict.
    RefusesRepetitions,
    /// Administrators' names are cut.
    ShortensNames,
    /// A secret goes to the key that asked for it last.
    SharesSecrets,
    /// The losers of a race are told that they won.
    TellsAllThatTheyWon,
    /// A removed login is found.
    KeepsRemovedLogins,
    /// A login that is over stays until it is removed.
    KeepsLoginsThatAreOver,
    /// A client has as many logins as it wants.
    LimitsNoLogins,
    /// A response that is stored again stays as it was.
    KeepsTheFirstResponse,
    /// A response that is over stays.
    KeepsResponsesThatAreOver,
    /// Master keys are counted as one.
    CountsOneMasterKey,
    /// An entry without secrets has those of another one.
    FindsSecretsOfOthers,
    /// A secret that is gone stays.
    KeepsRemovedSecrets,
    /// The list has one secret of each entry.
    ListsOneSecretOfAnEntry,
    /// A secret is replaced whatever it is by now.
    ResealsUnseen,
    /// A repeated change stores its secrets again.
    StoresSecretsAgain,
    /// The secrets of a refused change are stored.
    StoresSecretsOfConflicts,
}

struct MistakenHarness(Arc<Mistaken>);

struct Mistaken {
    /// The clients of logins that are stored as those of others.
    clients: Mutex<HashMap<Digest, ClientLookup>>,
    inner: MemoryJournal,
    /// The meters of operations that read too early.
    early_meters: Mutex<HashMap<Arc<str>, Meter>>,
    mistake: Mistake,
    /// Every change that was stored.
    stored: Mutex<Vec<DirectoryChange>>,
}

impl Mistaken {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            clients: Mutex::default(),
            inner: MemoryJournal::new(),
            early_meters: Mutex::default(),
            mistake: MISTAKE.get(),
            stored: Mutex::default(),
        })
    }

    fn directory(&self) -> &dyn Directory {
        &self.inner
    }

    fn log(&self) -> &dyn SpendingLog {
        &self.inner
    }

    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    fn locked(&self) -> MutexGuard<'_, Vec<DirectoryChange>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored(&self) -> Vec<DirectoryChange> {
        self.locked().clone()
    }
}

#[async_trait]
impl JournalHarness for MistakenHarness {
    async fn fresh() -> Self {
        Self(Mistaken::new())
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.0) as _
    }

    fn set_clock(&self, _: WallTime) {}

    async fn reopened(&self) -> Arc<dyn Journal> {
        if self.0.has(Mistake::ForgetsAtTheEnd) {
            return Mistaken::new();
        }
        self.journal()
    }
}

#[async_trait]
impl Directory for Mistaken {
    async fn change(&self, change: &DirectoryChange) -> Result<Changed, JournalError> {
        let mut change = change.clone();
        if self.has(Mistake::ShortensNames) {
            change.by = change.by.chars().take(3).collect::<String>().into();
        }
        if self.has(Mistake::RefusesRepetitions) && self.stored().contains(&change) {
            return Ok(Changed::Conflict);
        }
        if self.has(Mistake::MixesKinds) {
            let other = self.stored();
            let mut other = other.iter().map(|change| &change.entry);
            let entry = &change.entry;
            if other.any(|other| other.name() == entry.name() && other.kind() != entry.kind()) {
                return Ok(Changed::Conflict);
            }
        }
        if self.has(Mistake::SharesSecrets)
            && let DirectoryEntry::Key(key) = &mut change.entry
        {
            for owned in self.stored() {
                if let DirectoryEntry::Key(other) = owned.entry
                    && other.id != key.id
                {
                    key.secrets.retain(|secret| !other.secrets.contains(secret));
                }
            }
        }
        let mut changed = self.directory().change(&change).await?;
        if changed == Changed::Conflict && self.has(Mistake::AcceptsAnyRevision) {
            let (kind, name) = (change.entry.kind(), change.entry.name());
            let newest = self.directory().entry(kind, &name).await?;
            change.revision = newest.map_or(1, |newest| newest.revision + 1);
            changed = self.directory().change(&change).await?;
        }
        if changed == Changed::Conflict && self.has(Mistake::TellsAllThatTheyWon) {
            return Ok(Changed::Stored);
        }
        if changed == Changed::Stored {
            self.locked().push(change);
        }
        Ok(changed)
    }

    async fn entry(
        &self,
        kind: EntryKind,
        name: &EntryName,
    ) -> Result<Option<DirectoryChange>, JournalError> {
        self.directory().entry(kind, name).await
    }

    async fn entries(&self, query: &EntryQuery) -> Result<Vec<DirectoryChange>, JournalError> {
        let mut entries = self.directory().entries(query).await?;
        if self.has(Mistake::ListsTheFirstChange) {
            for entry in &mut entries {
                let stored = self.stored().into_iter();
                let mut same = stored.filter(|change| {
                    let (one, other) = (&change.entry, &entry.entry);
                    (one.kind(), one.name()) == (other.kind(), other.name())
                });
                if let Some(first) = same.next() {
                    *entry = first;
                }
            }
        }
        Ok(entries)
    }

    async fn find_key(&self, secret: &Digest) -> Result<Option<DirectoryChange>, JournalError> {
        let found = self.directory().find_key(secret).await?;
        if found.is_some() || !self.has(Mistake::FindsReplacedSecrets) {
            return Ok(found);
        }
        Ok(self
            .stored()
            .into_iter()
            .find(|change| match &change.entry {
                DirectoryEntry::Key(key) => key.secrets.iter().any(|one| one.digest == *secret),
                DirectoryEntry::ProviderKey(_)
                | DirectoryEntry::Server(_)
                | DirectoryEntry::SignIn(_)
                | DirectoryEntry::Team(_)
                | DirectoryEntry::User(_) => false,
            }))
    }

    async fn has_keys(&self) -> Result<bool, JournalError> {
        if self.has(Mistake::OverlooksTheFirstKey) {
            let stored = self.stored();
            let keys = stored
                .iter()
                .filter(|change| change.entry.kind() == EntryKind::Key);
            return Ok(keys.count() > 1);
        }
        self.directory().has_keys().await
    }

    async fn changes(
        &self,
        query: &ChangeQuery,
    ) -> Result<Vec<(u64, DirectoryChange)>, JournalError> {
        let mut query = query.clone();
        if self.has(Mistake::ListsChangesOfAll) {
            query.entry = None;
        }
        self.directory().changes(&query).await
    }
}

#[async_trait]
impl Journal for Mistaken {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.inner.own(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.inner.release(session, epoch).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.inner.load(session).await
    }

    async fn append(&self, append: &Append) -> Appended {
        self.inner.append(append).await
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        self.inner.deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        self.inner.inbox(session, from).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.inner.follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.inner.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.inner.delete(session).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.inner.mark_restored(session).await
    }

    async fn due(&self, now: WallTime, limit: usize) -> Result<DueSessions, JournalError> {
        self.inner.due(now, limit).await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.inner.waits(query).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        limit: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.inner.find(principal, marks, limit).await
    }

    fn directory(&self) -> Option<&dyn Directory> {
        Some(self)
    }

    fn logins(&self) -> Option<&dyn Logins> {
        Some(self)
    }

    fn meters(&self) -> Option<&dyn Meters> {
        Some(self)
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        Some(self)
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        Some(self)
    }

    fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        Some(self)
    }
}

#[async_trait]
impl SpendingLog for Mistaken {
    async fn record(&self, record: &SpendingRecord) -> Result<bool, JournalError> {
        let mut record = record.clone();
        if self.has(Mistake::SettlesAtArrival) {
            record.at = START;
        }
        let is_count = record.usage.estimated() == 0;
        if (self.has(Mistake::SettlesRepetitions)
            || (self.has(Mistake::SettlesCountsBesideEstimates) && is_count))
            && let Some(settling) = MeterOperation::settling(&record)
        {
            self.inner.perform(&settling).await?;
            record.settled.clear();
        }
        self.log().record(&record).await
    }

    async fn records(&self, query: &SpendingQuery) -> Result<SpendingPage, JournalError> {
        self.log().records(query).await
    }

    async fn delete_before(&self, before: WallTime, limit: usize) -> Result<usize, JournalError> {
        self.log().delete_before(before, limit).await
    }
}

mod without_a_mistake {
    jackfield_testkit::directory_contract!(super::MistakenHarness);

    mod logins {
        jackfield_testkit::logins_contract!(super::super::MistakenHarness);
    }

    mod meters {
        jackfield_testkit::meters_contract!(super::super::MistakenHarness);
    }

    mod upstream_responses {
        jackfield_testkit::upstream_responses_contract!(super::super::MistakenHarness);
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Directory", CLAUSES);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MUTANTS.iter().map(|(mistake, clause)| Mutant {
        caught: is_caught(*mistake, || check::<MistakenHarness>(clause, &[])),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("Directory", CLAUSES, &mutants.collect::<Vec<_>>());
}

fn is_caught(mistake: Mistake, check: impl FnOnce()) -> bool {
    MISTAKE.set(mistake);
    let checked = catch_unwind(AssertUnwindSafe(check));
    MISTAKE.set(Mistake::None);
    checked.is_err()
}

const MUTANTS: &[(Mistake, &str)] = &[
    (Mistake::ShortensNames, "a_change_comes_back_equal"),
    (
        Mistake::AcceptsAnyRevision,
        "a_change_follows_the_revision_before_it",
    ),
    (
        Mistake::TellsAllThatTheyWon,
        "of_changes_at_once_one_is_stored",
    ),
    (
        Mistake::RefusesRepetitions,
        "a_repeated_change_is_stored_once",
    ),
    (Mistake::MixesKinds, "kinds_have_names_of_their_own"),
    (
        Mistake::FindsReplacedSecrets,
        "a_key_is_found_by_its_current_secrets_alone",
    ),
    (Mistake::SharesSecrets, "a_secret_belongs_to_one_key"),
    (Mistake::OverlooksTheFirstKey, "the_first_key_is_noticed"),
    (
        Mistake::ListsTheFirstChange,
        "entries_are_the_newest_in_the_order_of_names",
    ),
    (
        Mistake::ListsChangesOfAll,
        "every_change_is_listed_the_newest_first",
    ),
    (Mistake::ForgetsAtTheEnd, "a_restart_keeps_the_directory"),
];

#[test]
fn a_name_is_lower_case_and_short() {
    for valid in ["a", "0", "ann", "ann@example.com", "a.b_c-d+e"] {
        assert_eq!(EntryName::parse(valid).expect(valid).as_str(), valid);
    }
    let long = "a".repeat(65);
    for invalid in ["", "Ann", "-a", ".", "a b", "a/b", "ä", "a\n", &long] {
        let cut: String = invalid.chars().take(80).collect();
        assert_eq!(EntryName::parse(invalid), Err(InvalidEntryName(cut)));
    }
}
