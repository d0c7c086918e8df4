//! What the tools of the toolbox write, and the keys under which they wrote it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;

use super::Mistake;

/// Notes on a disk.
pub(super) struct Notes {
    disk: Arc<Mutex<Disk>>,
    is: Mistake,
}

#[derive(Default)]
struct Disk {
    /// The keys of `outcomes`, the oldest first.
    keys: Vec<String>,
    outcomes: HashMap<String, ToolResult>,
    written: Vec<String>,
}

impl Disk {
    fn remember(&mut self, key: String, outcome: &ToolResult, most: usize) {
        self.outcomes.insert(key.clone(), outcome.clone());
        self.keys.push(key);
        if self.keys.len() > most {
            self.outcomes.remove(&self.keys.remove(0));
        }
    }
}

impl Notes {
    pub(super) fn new(is: Mistake) -> Self {
        let disk = Arc::default();
        Self { disk, is }
    }

    /// The notes as the next process finds them.
    pub(super) fn restarted(&self) -> Self {
        let (disk, is) = (Arc::clone(&self.disk), self.is);
        if is == Mistake::KeysInMemory {
            lock(&disk).outcomes.clear();
        }
        Self { disk, is }
    }

    pub(super) fn written(&self) -> Vec<String> {
        lock(&self.disk).written.clone()
    }

    pub(super) fn look(&self, text: &str) -> ToolResult {
        let found = self.written().iter().any(|note| note == text);
        match self.is {
            Mistake::LookWrites if !found => lock(&self.disk).written.push(text.to_owned()),
            Mistake::LookWritesLater => {
                let (disk, text) = (Arc::clone(&self.disk), text.to_owned());
                tokio::spawn(async move { lock(&disk).written.push(text) });
            }
            _ => {}
        }
        ToolResult::text(if found {
            "it is there"
        } else {
            "it is not there"
        })
    }

    pub(super) async fn write(&self, run: &ToolRun, text: &str) -> ToolResult {
        let key = match self.is {
            Mistake::KeyIsArguments => text.to_owned(),
            Mistake::KeyIsAttempt => format!("{:?}", run.attempt),
            Mistake::KeyIsCall => run.attempt.call.to_string(),
            _ => run.key.to_string(),
        };
        let before = lock(&self.disk).outcomes.get(&key).cloned();
        if let Some(before) = before.filter(|_| self.is != Mistake::KeyIgnored) {
            return match self.is {
                Mistake::RepetitionSaysSo => ToolResult::text("this was done before"),
                _ => before,
            };
        }
        let most = match self.is {
            Mistake::KeysAreFew => 16,
            Mistake::LastKeyOnly => 1,
            _ => usize::MAX,
        };
        if text.is_empty() {
            let failure = ToolResult::error("there is no text");
            let remembered = match self.is {
                Mistake::FailureIsForgotten => &ToolResult::text("it is written"),
                _ => &failure,
            };
            lock(&self.disk).remember(key, remembered, most);
            return failure;
        }
        let outcome = ToolResult::text(format!("note {}", self.written().len() + 1));
        if self.is == Mistake::KeyBeforeEffect {
            lock(&self.disk).remember(key.clone(), &outcome, most);
            tokio::task::yield_now().await;
        }
        let times = 1 + usize::from(self.is == Mistake::EffectTwice);
        let notes = vec![text.to_owned(); times];
        if self.is == Mistake::EffectLater {
            let disk = Arc::clone(&self.disk);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                lock(&disk).written.extend(notes);
            });
        } else {
            lock(&self.disk).written.extend(notes);
        }
        if self.is == Mistake::KeyAfterEffect {
            tokio::task::yield_now().await;
        }
        lock(&self.disk).remember(key, &outcome, most);
        outcome
    }
}

fn lock(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}
