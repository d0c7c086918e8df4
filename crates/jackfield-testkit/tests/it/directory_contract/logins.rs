//! The contract of `Logins`: each clause catches a mistake.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use async_trait::async_trait;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::logins::{Login, Logins};
use jackfield_testkit::contract::logins::{CLAUSES, check};

use super::{Mistake, Mistaken, MistakenHarness, is_caught};
use crate::mutants::{Mutant, check_clauses, check_mutants};

impl Mistaken {
    fn inner_logins(&self) -> &dyn Logins {
        &self.inner
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Digest, ClientLookup>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Logins for Mistaken {
    async fn store_login(&self, login: &Login, now: WallTime) -> Result<(), JournalError> {
        let (mut login, mut now) = (login.clone(), now);
        if self.has(Mistake::KeepsLoginsThatAreOver) {
            now = WallTime::from_millis(0);
        }
        if self.has(Mistake::LimitsNoLogins) {
            // Each client is another one.
            self.clients().insert(login.secret, login.client);
            login.client = ClientLookup::Key(login.secret);
        }
        self.inner_logins().store_login(&login, now).await
    }

    async fn find_login(&self, secret: &Digest) -> Result<Option<Login>, JournalError> {
        let found = self.inner_logins().find_login(secret).await?;
        let clients = self.clients();
        Ok(found.map(|login| match clients.get(secret) {
            Some(client) => Login {
                client: client.clone(),
                ..login
            },
            None => login,
        }))
    }

    async fn remove_login(&self, secret: &Digest) -> Result<(), JournalError> {
        if self.has(Mistake::KeepsRemovedLogins) {
            return Ok(());
        }
        self.inner_logins().remove_login(secret).await
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("Logins", CLAUSES);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MUTANTS.iter().map(|(mistake, clause)| Mutant {
        caught: is_caught(*mistake, || check::<MistakenHarness>(clause, &[])),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("Logins", CLAUSES, &mutants.collect::<Vec<_>>());
}

const MUTANTS: &[(Mistake, &str)] = &[
    (
        Mistake::KeepsRemovedLogins,
        "a_login_is_found_until_it_is_removed",
    ),
    (Mistake::ForgetsAtTheEnd, "every_process_finds_a_login"),
    (
        Mistake::KeepsLoginsThatAreOver,
        "logins_that_are_over_are_deleted",
    ),
    (Mistake::LimitsNoLogins, "a_client_has_a_limit_of_logins"),
];
