//! `cargo xtask new-provider` and `cargo xtask new-toolbox`: a workspace of its own, from a template.
//!
//! A template is a folder of `xtask/templates` about a fictional Brook; a new workspace has another name in its place,
//! the path to this checkout, and this checkout's `Cargo.lock`.

mod name;
mod trial;

pub(crate) use self::trial::check;

use std::ffi::OsStr;
use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context as _, bail};

use self::name::Name;
use crate::args::NewWorkspace;

/// A template.
pub(crate) struct Template {
    /// Its folder, and the first part of the name of its adapter.
    kind: &'static str,
    /// The clauses that fail until its author has done something.
    to_do: &'static [&'static str],
}

/// Writes a new workspace, and says what comes next.
pub(crate) fn run(root: &Path, template: &Template, new: &NewWorkspace) -> anyhow::Result<()> {
    let name: Name = new.name.parse()?;
    let beside = root.parent().unwrap_or(root).join(name.as_str());
    let folder = path::absolute(new.path.as_ref().unwrap_or(&beside))?;
    let folder = placed(&folder)?;
    if folder.starts_with(fs::canonicalize(root)?) {
        bail!(
            "{} is inside of this repository: name another folder with --path",
            folder.display()
        );
    }
    template.write(root, &name, &folder)?;
    println!("{} is a workspace; next:\n", folder.display());
    println!("  cd {} && cargo test", folder.display());
    println!("  cargo run -p {}-jackfield -- --help", name.as_str());
    println!("\nThe first tests the adapter: each clause that fails is something to do.");
    println!("The second is the whole jackfield, with the adapter.");
    Ok(())
}

impl Template {
    /// Writes a workspace of this name into a folder that does not exist; what it stands in has to.
    fn write(&self, root: &Path, name: &Name, folder: &Path) -> anyhow::Result<()> {
        let folder = &placed(folder)?;
        if folder.exists() {
            bail!("{} exists: it is not changed", folder.display());
        }
        let root = fs::canonicalize(root)?;
        let jackfield = way(folder, &root);
        let change = |text: &str| name.put_into(text, &jackfield);
        copy(
            &root.join("xtask/templates").join(self.kind),
            folder,
            &change,
        )?;
        let lock = folder.join("Cargo.lock");
        fs::copy(root.join("Cargo.lock"), &lock)
            .with_context(|| format!("cannot write {}", lock.display()))?;
        Ok(())
    }
}

/// Copies a folder, with this change to names and texts.
fn copy(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let target = to.join(change(&name));
        if path.is_dir() {
            copy(&path, &target, change)?;
            continue;
        }
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(&target, change(&text))
            .with_context(|| format!("cannot write {}", target.display()))?;
    }
    Ok(())
}

/// The folder without links and `..`; what it stands in has to exist.
fn placed(folder: &Path) -> anyhow::Result<PathBuf> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        bail!("{} is no new folder", folder.display());
    };
    let parent =
        fs::canonicalize(parent).with_context(|| format!("{} has to exist", parent.display()))?;
    Ok(parent.join(name))
}

/// The way from one folder to another, as a manifest has it.
fn way(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components());
    let common = common.take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| OsStr::new(".."));
    let down = to.components().skip(common).map(|part| part.as_os_str());
    let steps: Vec<_> = up.chain(down).map(OsStr::to_string_lossy).collect();
    steps.join("/")
}

/// The template of a provider.
pub(crate) const PROVIDER: Template = Template {
    kind: "provider",
    to_do: &[
        "a_cut_at_every_byte_gives_the_same_reply",
        "a_missing_end_marker_loses_nothing",
        "a_reply_cut_at_any_event_is_an_error_or_whole",
        "a_reply_that_is_not_streamed_is_told_the_same",
        "any_chunking_gives_the_same_reply",
        "arguments_in_any_manner_are_the_same",
        "calls_and_outcomes_go_back_in_pairs",
        "calls_count_whatever_the_finish_reason_says",
        "calls_in_any_numbering_are_kept_apart",
        "calls_with_unusable_ids_are_kept_apart",
        "conversations_keep_their_order_and_authors",
        "custom_calls_come_as_text",
        "empty_arguments_are_an_empty_object",
        "ending_without_finish_is_an_error",
        "every_change_of_a_request_is_sent_or_noted",
        "every_manner_is_rendered_or_said_to_be_impossible",
        "failed_outcomes_are_marked_or_noted",
        "fields_that_say_nothing_change_nothing",
        "finish_reasons_map_as_documented",
        "malformed_arguments_are_kept_as_text",
        "mid_stream_error_event_is_classified",
        "names_in_any_manner_come_whole_and_once",
        "outcomes_name_their_tools",
        "refusals_are_told_as_refusals",
        "settings_are_sent_with_their_values",
        "split_arguments_are_joined",
        "text_after_calls_is_kept",
        "the_choice_of_tools_is_sent_or_noted",
        "the_system_prompt_is_sent_as_such",
        "tool_calls_keep_upstream_ids_names_and_order",
        "tools_are_sent_whole",
        "truncated_arguments_are_not_repaired",
        "undeclared_capability_is_refused",
        "unknown_events_are_ignored",
        "usage_in_any_manner_is_counted_once",
        "usage_is_reported_once",
        "usage_totals_hold_their_parts",
    ],
};

/// The template of a toolbox.
pub(crate) const TOOLBOX: Template = Template {
    kind: "toolbox",
    to_do: &[
        "a_call_runs_its_tool_once",
        "a_crash_of_a_tool_ends_its_call_alone",
        "a_failed_call_is_not_tried_again",
        "a_repetition_after_a_restart_has_no_further_effect",
        "a_repetition_has_no_further_effect",
        "a_repetition_has_the_same_outcome",
        "an_outcome_after_the_drop_is_handed_on",
        "dropping_a_call_cancels_it",
    ],
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{PROVIDER, TOOLBOX, way};
    use crate::args::NewWorkspace;
    use crate::workspace;

    #[test]
    fn a_workspace_has_its_name_and_the_way_to_this_checkout() {
        let root = workspace::root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (template, adapter) in [(PROVIDER, "provider"), (TOOLBOX, "toolbox")] {
            let to = folder.path().join(adapter);
            template
                .write(&root, &"blue-reed".parse().unwrap(), &to)
                .unwrap();
            let manifest = fs::read_to_string(to.join("Cargo.toml")).unwrap();
            let domain = way(&to, &fs::canonicalize(&root).unwrap());
            assert!(manifest.contains(&format!("\"{domain}/crates/jackfield-domain\"")));
            assert!(to.join(&domain).join("Cargo.lock").is_file());
            let lib = format!("{adapter}-blue-reed/src/lib.rs");
            let main = fs::read_to_string(to.join("blue-reed-jackfield/src/main.rs")).unwrap();
            assert!(
                to.join(lib).is_file() && main.contains("BlueReed"),
                "{main}"
            );
            assert!(!main.to_lowercase().contains("brook"), "{main}");
        }
    }

    #[test]
    fn a_folder_that_exists_or_is_in_this_repository_is_refused() {
        let root = workspace::root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), root.join("new-brook")] {
            let new = NewWorkspace {
                name: "brook".to_owned(),
                path: Some(path.clone()),
            };
            assert!(super::run(&root, &TOOLBOX, &new).is_err(), "{path:?}");
            assert!(!path.join("Cargo.toml").exists(), "{path:?}");
        }
    }

    #[test]
    fn the_way_goes_up_and_down() {
        let way = |from, to| way(Path::new(from), Path::new(to));
        assert_eq!(way("/a/b/new", "/a/b/jackfield"), "../jackfield");
        assert_eq!(way("/a/new", "/b/c/jackfield"), "../../b/c/jackfield");
        assert_eq!(way("/a/jackfield/target/new", "/a/jackfield"), "../..");
    }
}
