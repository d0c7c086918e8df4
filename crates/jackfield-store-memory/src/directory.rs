//! The changes to the directory, encoded, in their order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{DirectoryChange, DirectoryEntry, EntryKind, EntryName};
use jackfield_ports::journal::directory::{ChangeQuery, Changed, EntryQuery};
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace};

#[derive(Default)]
pub(crate) struct DirectoryRows {
    /// The indices of the changes of each entry, in the order of their revisions.
    by_entry: BTreeMap<(EntryKind, EntryName), Vec<usize>>,
    changes: Vec<Arc<[u8]>>,
    /// The encrypted secrets of entries.
    sealed: BTreeMap<SecretPlace, SealedSecret>,
    secrets: HashMap<Digest, EntryName>,
}

impl DirectoryRows {
    /// Stores a change with its record, if it is the next one of its entry.
    pub(crate) fn change(&mut self, change: &DirectoryChange, record: Vec<u8>) -> Changed {
        let (kind, name) = (change.entry.kind(), change.entry.name());
        let place = (kind, name.clone());
        let known = self.by_entry.get(&place).map_or(&[][..], Vec::as_slice);
        let nth = usize::try_from(change.revision).unwrap_or(usize::MAX);
        let same = nth.checked_sub(1).and_then(|index| known.get(index));
        if let Some(same) = same.and_then(|index| self.changes.get(*index)) {
            return if **same == *record {
                Changed::Stored
            } else {
                Changed::Conflict
            };
        }
        if nth != known.len() + 1 {
            return Changed::Conflict;
        }
        if let DirectoryEntry::Key(key) = &change.entry {
            let is_taken = |digest| {
                let owner = self.secrets.get(digest);
                owner.is_some_and(|owner| *owner != name)
            };
            if key.secrets.iter().any(|secret| is_taken(&secret.digest)) {
                return Changed::Conflict;
            }
            self.secrets.retain(|_, owner| *owner != name);
            let secrets = key.secrets.iter();
            let secrets = secrets.map(|secret| (secret.digest, name.clone()));
            self.secrets.extend(secrets);
        }
        let index = self.changes.len();
        self.by_entry.entry(place).or_default().push(index);
        self.changes.push(record.into());
        Changed::Stored
    }

    /// Stores a change as `change` does, with all secrets of its entry.
    pub(crate) fn change_with_secrets(
        &mut self,
        change: &DirectoryChange,
        record: Vec<u8>,
        secrets: &[SealedSecret],
    ) -> Changed {
        let known = self.changes.len();
        let changed = self.change(change, record);
        if self.changes.len() == known {
            return changed;
        }
        let (kind, name) = (change.entry.kind(), change.entry.name());
        self.sealed
            .retain(|place, _| !is_of(place, kind, name.as_str()));
        let secrets = secrets.iter();
        let secrets = secrets.map(|one| (SecretPlace::new(kind, &name, &one.name), one.clone()));
        self.sealed.extend(secrets);
        changed
    }

    pub(crate) fn secrets_of(&self, kind: EntryKind, name: &EntryName) -> Vec<SealedSecret> {
        let sealed = self.sealed.iter();
        let own = sealed.filter(|(place, _)| is_of(place, kind, name.as_str()));
        own.map(|(_, secret)| secret.clone()).collect()
    }

    /// All secrets, in the order of their places.
    pub(crate) const fn sealed(&self) -> &BTreeMap<SecretPlace, SealedSecret> {
        &self.sealed
    }

    /// Replaces a secret, if it is the one that was seen.
    pub(crate) fn reseal(
        &mut self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> bool {
        match self.sealed.get_mut(place) {
            Some(stored) if stored == seen => {
                stored.clone_from(anew);
                true
            }
            Some(_) | None => false,
        }
    }

    /// The newest change of an entry.
    pub(crate) fn entry(&self, kind: EntryKind, name: &EntryName) -> Option<Arc<[u8]>> {
        self.newest(self.by_entry.get(&(kind, name.clone()))?)
    }

    /// The newest change of the key with this secret.
    pub(crate) fn find_key(&self, secret: &Digest) -> Option<Arc<[u8]>> {
        self.entry(EntryKind::Key, self.secrets.get(secret)?)
    }

    /// Whether there is a key.
    pub(crate) fn has_keys(&self) -> bool {
        let mut entries = self.by_entry.keys();
        entries.any(|(kind, _)| *kind == EntryKind::Key)
    }

    /// The newest changes of the entries that a query asks for.
    pub(crate) fn entries(&self, query: &EntryQuery) -> Vec<Arc<[u8]>> {
        let entries = self.by_entry.iter().filter(|((kind, name), _)| {
            *kind == query.kind && query.after.as_ref().is_none_or(|after| name > after)
        });
        let newest = entries.filter_map(|(_, changes)| self.newest(changes));
        newest.take(query.limit).collect()
    }

    /// The changes that a query asks for, with their numbers.
    pub(crate) fn changes(&self, query: &ChangeQuery) -> Vec<(u64, Arc<[u8]>)> {
        let of_entry = query.entry.as_ref().map(|entry| {
            let changes = self.by_entry.get(entry);
            changes.map_or(&[][..], Vec::as_slice)
        });
        let newest_first = self.changes.iter().enumerate().rev();
        let asked = newest_first.filter_map(|(index, record)| {
            let number = index as u64 + 1;
            let is_before = query.before.is_none_or(|before| number < before);
            let is_asked = is_before && of_entry.is_none_or(|of_entry| of_entry.contains(&index));
            is_asked.then(|| (number, Arc::clone(record)))
        });
        asked.take(query.limit).collect()
    }

    fn newest(&self, changes: &[usize]) -> Option<Arc<[u8]>> {
        self.changes.get(*changes.last()?).cloned()
    }
}

fn is_of(place: &SecretPlace, kind: EntryKind, name: &str) -> bool {
    *place.kind == *kind.as_str() && *place.entry == *name
}
