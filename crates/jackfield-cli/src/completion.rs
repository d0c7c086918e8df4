//! What Tab completes in a chat: commands, models, and files behind an `@`.

use std::fs;
use std::path::PathBuf;

/// Makes a full path of a typed one.
pub(crate) type ResolvePath = Box<dyn Fn(&str) -> PathBuf + Send>;

/// Completes with what MCP servers have: the place where the words begin, and the words; `None` if the text is about
/// something else.
pub(crate) type CompleteContext = Box<dyn Fn(&str) -> Option<(usize, Vec<Completion>)> + Send>;

/// A word that can be typed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Completion {
    pub shown: String,
    pub word: String,
}

pub struct Completions {
    /// The commands, each with its argument and description.
    pub commands: &'static [(&'static str, &'static str, &'static str)],
    /// Completes prompts and resources of MCP servers.
    pub context: CompleteContext,
    pub models: Vec<String>,
    /// Makes a full path of a typed one.
    pub resolve: ResolvePath,
}

impl Completions {
    /// The words that fit the text before the cursor, and the place in it where they begin.
    #[must_use]
    pub fn complete(&self, before: &str) -> (usize, Vec<Completion>) {
        if let Some(typed) = before.strip_prefix(MODEL) {
            let fitting = self.models.iter().filter(|name| name.starts_with(typed));
            let words = fitting.map(|name| Completion {
                shown: name.clone(),
                word: name.clone(),
            });
            return (MODEL.len(), words.collect());
        }
        if let Some(found) = (self.context)(before) {
            return found;
        }
        let word = last_word(before);
        if let Some(typed) = before[word..].strip_prefix('@') {
            return (word + 1, self.files(typed));
        }
        if word > 0 || !(before.is_empty() || before.starts_with('/')) {
            return (0, Vec::new());
        }
        let all = self.commands.iter();
        let fitting = all.filter(|(name, _, _)| name.starts_with(before));
        let commands = fitting.map(|(name, argument, about)| Completion {
            shown: format!("{name:<9} {about}"),
            word: match argument.is_empty() {
                true => (*name).to_owned(),
                false => format!("{name} "),
            },
        });
        (0, commands.collect())
    }

    /// The files and folders that begin like this.
    fn files(&self, typed: &str) -> Vec<Completion> {
        let (folder, begin) = match typed.rfind('/') {
            Some(slash) => typed.split_at(slash + 1),
            None => ("", typed),
        };
        let path = (self.resolve)(if folder.is_empty() { "." } else { folder });
        let Ok(entries) = fs::read_dir(path) else {
            return Vec::new();
        };
        let named = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begin.starts_with('.');
            let fits = name.starts_with(begin) && !is_hidden && !name.contains(char::is_control);
            let end = if entry.path().is_dir() { "/" } else { "" };
            fits.then(|| format!("{name}{end}"))
        });
        let mut names: Vec<String> = named.take(MAX_FILES).collect();
        names.sort_unstable();
        let words = names.into_iter().map(|name| Completion {
            word: match name.contains(char::is_whitespace) {
                true => format!("\"{folder}{name}\""),
                false => format!("{folder}{name}"),
            },
            shown: name,
        });
        words.collect()
    }
}

/// Where the last word of a text begins.
pub(crate) fn last_word(text: &str) -> usize {
    let mut signs = text.char_indices().rev();
    let space = signs.find(|(_, sign)| sign.is_whitespace());
    space.map_or(0, |(at, sign)| at + sign.len_utf8())
}

/// The command whose argument is a model.
const MODEL: &str = "/model ";
/// The maximum number of files.
const MAX_FILES: usize = 1000;
