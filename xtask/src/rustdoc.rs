//! What rustdoc knows of the crates, as JSON for other programs.

use std::path::{Path, PathBuf};

use crate::run;

/// Describes the library of every crate of the workspace `tree`, built in `target`; returns the folder with the files.
pub(crate) fn describe(tree: &Path, target: &Path) -> anyhow::Result<PathBuf> {
    // The form is unstable. Set for cargo, the variable would also change what build scripts find, and build all anew.
    let rustdoc = target.join("rustdoc-json");
    run::write_script(&rustdoc, "RUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"")?;
    let mut doc = run::cargo(
        tree,
        ["doc", "--workspace", "--no-deps", "--lib", "--locked"],
    );
    doc.env("CARGO_TARGET_DIR", target).env("RUSTDOC", rustdoc);
    // These are the flags of cargo-semver-checks and cargo-check-external-types.
    doc.env("RUSTDOCFLAGS", FLAGS);
    run::succeed(&mut doc)?;
    Ok(target.join("doc"))
}

/// The file of a crate in that folder.
pub(crate) fn file(package: &str) -> String {
    format!("{}.json", package.replace('-', "_"))
}

const FLAGS: &str = "-Z unstable-options --output-format json --document-private-items --document-hidden-items --cap-lints allow";
