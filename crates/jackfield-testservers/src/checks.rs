//! What judges of requests share, whatever the vendor.

use std::fmt;

/// A rule that a request breaks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// Where, as a path into the body, or the name of a header.
    pub at: String,
    /// The vendor's code of the error, if it has one.
    pub code: Option<&'static str>,
    /// How, in the vendor's words where they are known.
    pub fault: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.fault)
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct CheckFindings(pub(crate) Vec<Violation>);

impl CheckFindings {
    pub(crate) fn add(&mut self, at: &str, fault: &str) {
        self.push(at, None, fault);
    }

    /// Adds one that the vendor has a code for.
    pub(crate) fn coded(&mut self, at: &str, code: &'static str, fault: &str) {
        self.push(at, Some(code), fault);
    }

    fn push(&mut self, at: &str, code: Option<&'static str>, fault: &str) {
        self.0.push(Violation {
            at: at.to_owned(),
            code,
            fault: fault.to_owned(),
        });
    }
}
