//! The mutants: known mistakes, and the property that must catch each.
//!
//! An entry looks like this:
//!
//! ```text
//! Mutant {
//!     name: "results-in-finish-order",
//!     file: "crates/jackfield-domain/src/tool_loop/state.rs",
//!     from: "outcomes.sort_by_key(|outcome| outcome.ordinal);",
//!     to: "",
//!     package: "jackfield-domain",
//!     test: "props::results_keep_call_order_when_tools_finish_out_of_order",
//! },
//! ```

/// A mistake that could be made, and who must notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutant {
    /// The mistake in a few words, joined by hyphens.
    pub(crate) name: &'static str,
    /// Where it is made, from the root.
    pub(crate) file: &'static str,
    /// What stands there; exactly once in the file.
    pub(crate) from: &'static str,
    /// What the mistake makes of it; it has to compile.
    pub(crate) to: &'static str,
    /// The package whose `it` tests hold the property.
    pub(crate) package: &'static str,
    /// The property: the full name of a test in the package's `it` binary.
    pub(crate) test: &'static str,
}

/// Every mutant.
pub(crate) const MUTANTS: &[Mutant] = &[];
