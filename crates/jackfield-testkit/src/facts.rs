//! Recorded sessions as tests: loads the output of `jackfield sessions export --facts` in one line.
//!
//! ```text
//! jackfield_testkit::facts!("bug.jsonl").assert_same();
//! ```
#![expect(
    clippy::panic,
    reason = "a test whose record cannot be read, or does not come out the same, should stop"
)]

use jackfield_domain::fact::Fact;
use jackfield_domain::replay::{Replay, StepReplay};
use jackfield_domain::session::Session;
use jackfield_record::Recording;

/// Loads a recorded session from a file, whose path is relative to the source file.
#[macro_export]
macro_rules! facts {
    ($file:literal) => {
        $crate::facts::RecordedSession::parse(include_str!($file))
    };
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSession(pub Recording);

impl RecordedSession {
    /// Reads the output of `jackfield sessions export --facts`.
    ///
    /// # Panics
    ///
    /// If the text is not such an output.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match Recording::parse(text) {
            Ok(recording) => Self(recording),
            Err(error) => {
                let mut causes = vec![error.to_string()];
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    causes.push(error.to_string());
                    cause = error.source();
                }
                panic!("{}", causes.join(": "))
            }
        }
    }

    /// All facts, in order.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.0.steps.iter().flat_map(|step| &step.facts)
    }

    /// The session after all facts.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::fold(self.0.session.clone(), self.facts())
    }

    /// Replays every step.
    #[must_use]
    pub fn replay(&self) -> Vec<StepReplay> {
        let mut replay = Replay::new(self.0.session.clone(), &self.0.deliveries);
        self.0.steps.iter().map(|step| replay.step(step)).collect()
    }

    /// Checks that every step replays to the same result.
    ///
    /// # Panics
    ///
    /// On the first step that does not.
    pub fn assert_same(&self) {
        let other = self.replay().into_iter().find(|step| !step.is_same());
        if let Some(step) = other {
            panic!("step {} ({:?}): {:?}", step.step, step.input, step.verdict);
        }
    }
}
