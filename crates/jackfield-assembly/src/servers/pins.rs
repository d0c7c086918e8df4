//! Pins the tool definitions of a server: the first ones seen are accepted, until a person accepts others.

mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use jackfield_tools_mcp::{DefinitionGate, Review};
use serde_json::{Value, json};

use self::file::{Accepted, Pin, PinFile, PinFileError, Stamp};
use crate::servers::McpServerEntry;

/// A definition that differs from the accepted one. Its tool is quarantined: neither offered nor called.
///
/// The instructions of a server are pinned as a definition without a tool, with `instructions`. Models do not see
/// changed instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedTool {
    /// The accepted definition as the server sent it; `None` if it was too long to be stored.
    pub accepted: Option<Arc<Value>>,
    /// The digest of the accepted definition.
    pub accepted_digest: Digest,
    /// The current definition, as the server sent it.
    pub offered: Arc<Value>,
    /// The tool, by the server's own name; empty for the server itself.
    pub tool: Arc<str>,
}

/// Why a definition was not accepted. Nothing was accepted then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// Another definition was accepted since this one was shown; it has to be shown again.
    #[error("another definition of {} was accepted meanwhile", subject(tool))]
    Overtaken {
        /// The tool; empty for the server itself.
        tool: Arc<str>,
    },
    /// It cannot be stored; the text has the reason and help.
    #[error("{0}")]
    NotStored(String),
}

/// Shared by the servers of an assembly, so that only one of them reports that nothing can be stored.
pub(crate) type PinNotice = Arc<OnceLock<ToolboxId>>;

/// The accepted definitions of one configured server.
pub(crate) struct Pins {
    file: Option<PinFile>,
    /// Whether the server is this same program, whose definitions cannot change unnoticed.
    itself: bool,
    /// Whether it is the own server of a user or a team.
    is_owned: bool,
    /// Held during a check, which takes as long as the disk does; the state is never locked that long.
    check_lock: Mutex<()>,
    server: ToolboxId,
    state: Mutex<PinState>,
    notice: PinNotice,
}

#[derive(Default)]
struct PinState {
    changed: BTreeMap<Arc<str>, ChangedTool>,
    fault: Option<String>,
    /// Pins that could not be stored, for the life of this process.
    unstored: Accepted,
    /// The instructions, if they differ from the accepted ones.
    instructions: Option<ChangedTool>,
    last_lookup: Option<PinLookup>,
    withheld: Option<String>,
}

/// The last check, and its result.
struct PinLookup {
    definitions: Vec<Arc<Value>>,
    review: Review,
    stamp: Stamp,
}

/// The accepted definitions, and why they are only in memory, if so.
struct AcceptedPin {
    accepted: Accepted,
    unstored_reason: Option<String>,
}

impl Pins {
    /// The pins of a server, stored in this folder.
    pub(crate) fn new(data: Option<&Path>, server: &McpServerEntry, notice: &PinNotice) -> Self {
        Self {
            file: data
                .filter(|_| !server.itself)
                .map(|data| PinFile::of(data, server)),
            itself: server.itself,
            is_owned: server.owner.is_some(),
            check_lock: Mutex::default(),
            server: server.id.clone(),
            state: Mutex::default(),
            notice: Arc::clone(notice),
        }
    }

    /// The changed definitions of the last check.
    pub(crate) fn changed(&self) -> Vec<ChangedTool> {
        let state = self.state();
        let all = state.instructions.iter().chain(state.changed.values());
        all.cloned().collect()
    }

    /// Checks the instructions of the server against their pin, and returns whether models may see them. Empty
    /// instructions are pinned, too. May block on the disk.
    pub(crate) fn admit(&self, instructions: &str) -> bool {
        let _looking = self.lock_check();
        let definitions = [Arc::new(json!({ "instructions": instructions }))];
        let mut unstored = self.state().unstored.clone();
        let accepted = self.accepted_pins(&definitions, &mut unstored);
        let compared = accepted.map(|known| self.compare(&definitions, &known));
        let mut state = self.state();
        state.unstored = unstored;
        let (refused, changed) = match compared {
            Ok((review, mut changed)) => (!review.refused.is_empty(), changed.remove("")),
            // The tool listing reports the error.
            Err(_) => (true, None),
        };
        state.withheld = changed.as_ref().map(|_| {
            format!(
                "what it says of itself has changed, and models are not told of it until {}",
                self.acceptance()
            )
        });
        state.instructions = changed;
        !refused
    }

    /// Why models do not see the instructions, if so.
    pub(crate) fn withheld(&self) -> Option<String> {
        self.state().withheld.clone()
    }

    /// Why the accepted definitions are unknown, if so.
    pub(crate) fn fault(&self) -> Option<String> {
        self.state().fault.clone()
    }

    /// Accepts exactly the shown definitions, all or none. Blocks on the disk.
    pub(crate) fn accept(&self, changes: &[ChangedTool]) -> Result<(), AcceptError> {
        let not_stored = |trouble| AcceptError::NotStored(self.describe(trouble));
        let file = self.file.as_ref();
        let file = file.ok_or_else(|| not_stored(PinFileError::NoPlace(NO_FOLDER.to_owned())))?;
        let mut overtaken = None;
        let written = file.change(|accepted| {
            overtaken = changes.iter().find(|one| {
                let pinned = accepted.get(&*one.tool).map(|pin| pin.digest);
                pinned != Some(one.accepted_digest) && pinned != Some(Digest::of_json(&one.offered))
            });
            if overtaken.is_some() {
                return false;
            }
            for one in changes {
                accepted.insert(one.tool.to_string(), Pin::of(&one.offered));
            }
            true
        });
        written.map_err(not_stored)?;
        if let Some(one) = overtaken {
            let tool = Arc::clone(&one.tool);
            return Err(AcceptError::Overtaken { tool });
        }
        let mut state = self.state();
        for one in changes {
            // It may have changed again since it was shown.
            if state
                .changed
                .get(&one.tool)
                .is_some_and(|now| now.offered == one.offered)
            {
                state.changed.remove(&one.tool);
            }
            let instructions = state.instructions.as_ref();
            if instructions.is_some_and(|now| now.tool == one.tool && now.offered == one.offered) {
                (state.instructions, state.withheld) = (None, None);
            }
        }
        Ok(())
    }

    fn lock_check(&self) -> MutexGuard<'_, ()> {
        self.check_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, PinState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accepted definitions, after pinning new ones.
    fn accepted_pins(
        &self,
        definitions: &[Arc<Value>],
        unstored: &mut Accepted,
    ) -> Result<AcceptedPin, PinFileError> {
        let mut known = AcceptedPin {
            accepted: Accepted::default(),
            unstored_reason: None,
        };
        let read = match &self.file {
            Some(file) => file.read(),
            None => Err(PinFileError::NoPlace(NO_FOLDER.to_owned())),
        };
        match read {
            Ok(accepted) => known.accepted = accepted,
            Err(PinFileError::NoPlace(why)) => known.unstored_reason = Some(why),
            Err(trouble @ (PinFileError::Damaged { .. } | PinFileError::Full)) => {
                return Err(trouble);
            }
        }
        let pinned = |known: &AcceptedPin, held: &Accepted, one: &Value| {
            let name = name(one);
            known.accepted.contains_key(name) || held.contains_key(name)
        };
        let is_stored = |one: &Arc<Value>| known.accepted.contains_key(name(one));
        let is_all_stored = definitions.iter().all(is_stored) || known.accepted.len() >= MAX_PINS;
        if let (Some(file), None, false) = (&self.file, &known.unstored_reason, is_all_stored) {
            let written = file.change(|accepted| {
                let before = accepted.len();
                // Another process may have pinned them meanwhile; the first pin counts.
                for (name, pin) in unstored.iter() {
                    let entry = accepted.entry(name.clone());
                    entry.or_insert_with(|| pin.clone());
                }
                for one in definitions {
                    if !accepted.contains_key(name(one)) && accepted.len() < MAX_PINS {
                        accepted.insert(name(one).to_owned(), Pin::of(one));
                    }
                }
                accepted.len() > before
            });
            match written {
                Ok(accepted) => known.accepted = accepted,
                Err(PinFileError::NoPlace(why)) => known.unstored_reason = Some(why),
                // Without a stored pin, a new definition is not used: it could be a different one each time.
                Err(PinFileError::Full) => {}
                Err(trouble @ PinFileError::Damaged { .. }) => return Err(trouble),
            }
        }
        if known.unstored_reason.is_some() {
            for one in definitions {
                if !pinned(&known, unstored, one) && unstored.len() < MAX_PINS {
                    unstored.insert(name(one).to_owned(), Pin::of(one));
                }
            }
        }
        for (name, pin) in unstored.iter() {
            let entry = known.accepted.entry(name.clone());
            entry.or_insert_with(|| pin.clone());
        }
        Ok(known)
    }

    /// Compares definitions with the accepted ones.
    fn compare(
        &self,
        definitions: &[Arc<Value>],
        accepted: &AcceptedPin,
    ) -> (Review, BTreeMap<Arc<str>, ChangedTool>) {
        let mut review = Review::default();
        let mut all_changed = BTreeMap::new();
        let mut unpinned = 0_usize;
        for one in definitions {
            let tool: Arc<str> = name(one).into();
            let Some(pin) = accepted.accepted.get(&*tool) else {
                unpinned += 1;
                let why = format!(
                    "`{tool}` is new, and the server `{}` has had too many tools for another one",
                    self.server
                );
                review.refused.insert(tool, why);
                continue;
            };
            if pin.digest != Digest::of_json(one) {
                let why = format!(
                    "the definition of `{tool}` has changed since it was accepted, so it is not called; \
                     {}",
                    self.mended_by()
                );
                review.refused.insert(Arc::clone(&tool), why);
                let changed = ChangedTool {
                    accepted: pin.definition.clone(),
                    accepted_digest: pin.digest,
                    offered: Arc::clone(one),
                    tool: Arc::clone(&tool),
                };
                all_changed.insert(tool, changed);
            }
        }
        review
            .problems
            .extend(self.quarantine_problem(&all_changed));
        if unpinned > 0 {
            review.problems.push(format!(
                "{unpinned} of its tools are new and not offered: it has had too many for their definitions \
                 to be kept; {}",
                self.removal_help()
            ));
        }
        if let Some(why) = &accepted.unstored_reason
            && !self.itself
            && *self.notice.get_or_init(|| self.server.clone()) == self.server
        {
            review.problems.push(format!(
                "what MCP servers say of their tools is pinned until this process ends, and no longer: {why}"
            ));
        }
        (review, all_changed)
    }

    fn quarantine_problem(&self, changed: &BTreeMap<Arc<str>, ChangedTool>) -> Option<String> {
        let names = changed.keys().take(MAX_NAMED).map(|name| {
            let name: String = name.chars().take(80).collect();
            format!("`{name}`")
        });
        let names: Vec<String> = names.collect();
        let until = format!("quarantined until {}", self.acceptance());
        let more = if changed.len() > MAX_NAMED {
            " …"
        } else {
            ""
        };
        match names.as_slice() {
            [] => None,
            [name] => Some(format!(
                "its tool {name} is {until}, because its definition has changed"
            )),
            names => Some(format!(
                "{} of its tools are {until}, because their definitions have changed: {}{more}",
                changed.len(),
                names.join(", ")
            )),
        }
    }

    /// What accepts changed definitions.
    fn acceptance(&self) -> String {
        match self.is_owned {
            true => "its owner sets the server again".to_owned(),
            false => format!("`jackfield mcp accept {}`", self.server),
        }
    }

    /// How a person has changed definitions accepted.
    fn mended_by(&self) -> String {
        match self.is_owned {
            true => "its owner accepts it by setting the server again".to_owned(),
            false => format!(
                "{} shows what has changed, and accepts it",
                self.acceptance()
            ),
        }
    }

    /// The problem and its help, in one sentence.
    fn describe(&self, trouble: PinFileError) -> String {
        match trouble {
            PinFileError::Damaged { file, why } => format!(
                "it cannot be known which definitions of the server `{}` are accepted, so none is used: {}: {why}; \
                 put back an earlier copy of that file, or remove it: what the server says next is accepted then",
                self.server,
                file.display()
            ),
            PinFileError::Full => format!("it has had too many tools; {}", self.removal_help()),
            PinFileError::NoPlace(why) => why,
        }
    }

    fn removal_help(&self) -> String {
        self.file.as_ref().map_or_else(
            || "leave some out with `tools`".to_owned(),
            |file| {
                let file = file.path().display();
                format!("remove {file} to begin anew, or leave some out with `tools`")
            },
        )
    }
}

impl DefinitionGate for Pins {
    fn review(&self, definitions: &[Arc<Value>]) -> Review {
        let _looking = self.lock_check();
        let stamp = self.file.as_ref().and_then(PinFile::stamp);
        let (last, mut unstored) = {
            let mut state = self.state();
            (state.last_lookup.take(), state.unstored.clone())
        };
        if let (Some(last), Some(stamp)) = (last, &stamp)
            && last.stamp == *stamp
            && last.definitions == definitions
        {
            let review = last.review.clone();
            self.state().last_lookup = Some(last);
            return review;
        }
        let accepted = self.accepted_pins(definitions, &mut unstored);
        let is_unstored = accepted
            .as_ref()
            .is_ok_and(|known| known.unstored_reason.is_some());
        let compared = accepted.map(|known| self.compare(definitions, &known));
        let mut state = self.state();
        state.unstored = unstored;
        match compared {
            Ok((review, changed)) => {
                (state.changed, state.fault) = (changed, None);
                // If the file was written since, the stamp does not match, and the next check reads it again.
                state.last_lookup = stamp.filter(|_| !is_unstored).map(|stamp| PinLookup {
                    definitions: definitions.to_vec(),
                    review: review.clone(),
                    stamp,
                });
                review
            }
            Err(trouble) => {
                let why = self.describe(trouble);
                state.changed.clear();
                let names = definitions.iter().map(|one| Arc::from(name(one)));
                let refused = names.map(|name| (name, why.clone())).collect();
                state.fault = Some(why);
                Review {
                    problems: Vec::new(),
                    refused,
                }
            }
        }
    }
}

/// The subject of a definition, as text.
fn subject(tool: &str) -> String {
    if tool.is_empty() {
        "the server itself".to_owned()
    } else {
        format!("`{tool}`")
    }
}

/// The tool's own name; empty for instructions, as no tool has an empty name.
fn name(definition: &Value) -> &str {
    let name = definition.get("name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// How many tools are named in a problem.
const MAX_NAMED: usize = 20;
/// The maximum number of pins of one server, including tools that it no longer has.
const MAX_PINS: usize = 16 << 10;
/// The reason without a data folder.
const NO_FOLDER: &str = "this user has no folder for data that is kept; set HOME or XDG_DATA_HOME";
