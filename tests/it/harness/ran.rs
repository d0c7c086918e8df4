//! What came of a run.

use serde_json::Value;

use super::KEY;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
    pub(crate) out: String,
}

impl Ran {
    /// No run may say the key.
    pub(super) fn new(code: Option<i32>, out: String, err: String) -> Self {
        for (name, said) in [("standard output", &out), ("standard error", &err)] {
            assert!(!said.contains(KEY), "{name} has the key:\n{said}");
        }
        Self { code, err, out }
    }

    /// It answered, with this on standard output.
    #[track_caller]
    pub(crate) fn answers(&self, answer: &str) {
        assert_eq!(
            (self.code, self.out.as_str()),
            (Some(0), answer),
            "{}",
            self.err
        );
    }

    /// It ended with this code; an error names the cause, and a help says what to do.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, cause: &str, help: &str) {
        self.stops(code, cause);
        self.says_line("help: ", help);
    }

    /// It ended with this code; an error names the cause, in words that say what to do.
    #[track_caller]
    pub(crate) fn stops(&self, code: i32, cause: &str) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self.says_line("error: ", cause);
    }

    /// A line of standard error that begins like this has this in it.
    #[track_caller]
    pub(crate) fn says_line(&self, begin: &str, text: &str) {
        let mut lines = self.err.lines().filter(|line| line.starts_with(begin));
        assert!(
            lines.any(|line| line.contains(text)),
            "no line {begin:?} has {text:?}:\n{}",
            self.err
        );
    }

    /// Standard error has this in it.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) {
        assert!(
            self.err.contains(text),
            "{text:?} is not said:\n{}",
            self.err
        );
    }

    /// The events of a run with `--json`: one JSON object a line, and nothing else.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        assert!(
            self.out.is_empty() || self.out.ends_with('\n'),
            "{}",
            self.out
        );
        let events = self.out.lines().map(|line| {
            let event: Value = serde_json::from_str(line)
                .unwrap_or_else(|fault| panic!("{fault} in the line {line}"));
            assert!(event["event"].is_string(), "no event: {line}");
            event
        });
        events.collect()
    }

    /// The last event of a run with `--json`, which ends the turn.
    #[track_caller]
    pub(crate) fn last_event(&self) -> Value {
        let last = self.events().pop().unwrap_or_default();
        assert_eq!(last["event"], "turn_ended", "{}\n{}", self.out, self.err);
        last
    }
}
