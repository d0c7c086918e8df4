//! Common parts of the request checks of all vendors.

use std::fmt;

/// A violation of a rule by a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The place: a path in the body, or the name of a header.
    pub at: String,
    /// The vendor's error code, if it has one.
    pub code: Option<&'static str>,
    /// The error, in the vendor's words if known.
    pub fault: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.fault)
    }
}

#[derive(Debug, Default)]
pub(crate) struct CheckFindings(pub(crate) Vec<Violation>);

impl CheckFindings {
    pub(crate) fn add(&mut self, at: &str, fault: &str) {
        self.push(at, None, fault);
    }

    /// Adds a violation with the vendor's code.
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
