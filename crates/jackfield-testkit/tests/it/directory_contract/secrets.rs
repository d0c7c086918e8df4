//! The contract of `Secrets`: each clause catches a mistake.

#![expect(clippy::expect_used, reason = "the journal in memory has secrets")]

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_ports::journal::directory::{Changed, Directory as _};
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};
use jackfield_ports::journal::{Journal as _, JournalError};
use jackfield_testkit::contract::secrets::{CLAUSES, check};

use super::{Mistake, Mistaken, MistakenHarness, is_caught};
use crate::mutants::{Mutant, check_clauses, check_mutants};

impl Mistaken {
    fn sealed(&self) -> &dyn Secrets {
        self.inner.secrets().expect("secrets")
    }
}

#[async_trait]
impl Secrets for Mistaken {
    async fn change_with_secrets(
        &self,
        change: &DirectoryChange,
        secrets: &[SealedSecret],
    ) -> Result<Changed, JournalError> {
        let mut secrets = secrets.to_vec();
        let (kind, entry) = (change.entry.kind(), change.entry.name());
        if self.has(Mistake::KeepsRemovedSecrets) {
            for before in self.sealed().secrets_of(kind, &entry).await? {
                if secrets.iter().all(|one| one.name != before.name) {
                    secrets.push(before);
                }
            }
        }
        let stored = self.inner.entry(kind, &entry).await?;
        let is_repeated = stored.as_ref() == Some(change);
        let changed = self.sealed().change_with_secrets(change, &secrets).await?;
        let overwrites = match changed {
            Changed::Conflict => self.has(Mistake::StoresSecretsOfConflicts),
            Changed::Stored => is_repeated && self.has(Mistake::StoresSecretsAgain),
        };
        if overwrites {
            for seen in self.sealed().secrets_of(kind, &entry).await? {
                if let Some(anew) = secrets.iter().find(|one| one.name == seen.name) {
                    let place = SecretPlace::new(kind, &entry, &seen.name);
                    self.sealed().reseal(&place, &seen, anew).await?;
                }
            }
        }
        Ok(changed)
    }

    async fn secrets_of(
        &self,
        kind: EntryKind,
        entry: &EntryName,
    ) -> Result<Vec<SealedSecret>, JournalError> {
        let found = self.sealed().secrets_of(kind, entry).await?;
        if found.is_empty() && self.has(Mistake::FindsSecretsOfOthers) {
            let page = self.sealed().page(None, 1).await?;
            return Ok(page.into_iter().map(|(_, secret)| secret).collect());
        }
        Ok(found)
    }

    async fn page(
        &self,
        after: Option<&SecretPlace>,
        limit: usize,
    ) -> Result<Vec<(SecretPlace, SealedSecret)>, JournalError> {
        let mut page = self.sealed().page(after, limit).await?;
        // All secrets of an entry but the first.
        if self.has(Mistake::ListsOneSecretOfAnEntry) {
            page.dedup_by(|(one, _), (other, _)| one.entry == other.entry);
        }
        Ok(page)
    }

    async fn reseal(
        &self,
        place: &SecretPlace,
        seen: &SealedSecret,
        anew: &SealedSecret,
    ) -> Result<bool, JournalError> {
        if self.has(Mistake::ResealsUnseen) {
            for (stored, secret) in self.sealed().page(None, 100).await? {
                if stored == *place {
                    return self.sealed().reseal(place, &secret, anew).await;
                }
            }
        }
        self.sealed().reseal(place, seen, anew).await
    }

    async fn master_keys(&self) -> Result<BTreeMap<Arc<str>, u64>, JournalError> {
        let mut keys = self.sealed().master_keys().await?;
        if self.has(Mistake::CountsOneMasterKey)
            && let Some((id, _)) = keys.pop_last()
        {
            keys = BTreeMap::from([(id, 1)]);
        }
        Ok(keys)
    }
}

mod without_a_mistake {
    jackfield_testkit::secrets_contract!(super::MistakenHarness);
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Secrets", CLAUSES);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MUTANTS.iter().map(|(mistake, clause)| Mutant {
        caught: is_caught(*mistake, || check::<MistakenHarness>(clause, &[])),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("Secrets", CLAUSES, &mutants.collect::<Vec<_>>());
}

const MUTANTS: &[(Mistake, &str)] = &[
    (
        Mistake::KeepsRemovedSecrets,
        "a_change_replaces_the_secrets_of_its_entry",
    ),
    (
        Mistake::StoresSecretsOfConflicts,
        "a_conflict_changes_no_secret",
    ),
    (
        Mistake::StoresSecretsAgain,
        "a_repeated_change_changes_no_secret",
    ),
    (
        Mistake::FindsSecretsOfOthers,
        "each_entry_has_its_own_secrets",
    ),
    (
        Mistake::ListsOneSecretOfAnEntry,
        "every_secret_is_listed_once",
    ),
    (Mistake::ResealsUnseen, "only_what_was_seen_is_resealed"),
    (Mistake::CountsOneMasterKey, "master_keys_are_counted"),
    (Mistake::ForgetsAtTheEnd, "a_restart_keeps_the_secrets"),
];
