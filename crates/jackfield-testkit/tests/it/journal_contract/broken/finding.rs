//! Mistakes of finding turns again.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jackfield_domain::fact::Fact;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::{Journal as _, JournalError};

use super::{Mistake, Mistaken};

impl Mistaken {
    pub(super) async fn find_again(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        let found = self.inner.find(principal, marks, most).await?;
        let again: Vec<FoundTurn> = match self.is {
            Mistake::DeletedFound => {
                let mut ever = self.found.lock().expect("no panic");
                let new = found
                    .iter()
                    .map(|found| (principal.to_owned(), found.clone()));
                ever.extend(new);
                let of = |(who, found): &(String, FoundTurn)| {
                    who == principal && marks.contains(&found.mark)
                };
                let mut ever: Vec<FoundTurn> = ever
                    .iter()
                    .filter(|known| of(known))
                    .map(|(_, found)| found.clone())
                    .collect();
                ever.retain(|known| !found.contains(known));
                [found, ever].concat()
            }
            Mistake::LastCallers => match self.callers().as_slice() {
                [first, .., last] if **last == *principal => {
                    self.inner.find(first, marks, most).await?
                }
                _ => found,
            },
            Mistake::OldestFound => {
                let mut all = self.inner.find(principal, marks, usize::MAX).await?;
                all.reverse();
                all.truncate(most);
                all
            }
            Mistake::PrincipalsMixed => {
                let mut all = Vec::new();
                for one in self.callers() {
                    all.extend(self.inner.find(&one, marks, most).await?);
                }
                all
            }
            Mistake::RepetitionFound if self.repeated.load(Ordering::Relaxed) => {
                [found.clone(), found].concat()
            }
            Mistake::ViewsForgotten => {
                let known = |found: &FoundTurn| !matches!(found.mark, Mark::View(_));
                found.into_iter().filter(known).collect()
            }
            _ => found,
        };
        Ok(again)
    }

    /// The principals of all callers, in the order in which they came.
    fn callers(&self) -> Vec<Arc<str>> {
        let written = self.written.lock().expect("no panic");
        let steps = written.iter().flat_map(|append| &append.steps);
        let facts = steps.flat_map(|step| &step.facts);
        facts
            .filter_map(|fact| match fact {
                Fact::TurnOpened { setup, .. } => setup.caller.as_ref(),
                _ => None,
            })
            .map(|caller| Arc::clone(&caller.principal))
            .collect()
    }
}
