//! Messages that are written in the person's own editor, and files that they name.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use jackfield_domain::message::Message;
use tempfile::Builder;

use super::Conversation;
use super::mentions::{Mentions, mentions, named_resources};
use crate::commands::{attach, context};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, chat as show};
use crate::tty;

impl Conversation {
    /// A message with the files and resources that its text names; `None`, after an error, if one cannot be sent.
    ///
    /// Text of a pipe may come from elsewhere, so nothing is read for it.
    pub(super) async fn message(&mut self, text: &str) -> Option<Arc<Message>> {
        if !self.at_terminal {
            return Some(Message::user(text).into());
        }
        let base = &self.surroundings.directory;
        let Mentions { files, missing } =
            mentions(text, |path| self.surroundings.resolve(path, base));
        let servers = &self.assembled.servers;
        let is_resource = |word: &str| {
            let named = named_resources(&format!("@{word}"), |id| context::is_server(servers, id));
            !named.is_empty()
        };
        for word in missing.iter().filter(|word| !is_resource(word)) {
            render::remark(&format!("`@{word}` is no file here, and goes as text"));
        }
        let engine = &self.assembled.engine;
        let options = &self.assembled.options;
        let resources = context::read(engine, options, servers, text, Some(&mut self.person)).await;
        match resources.and_then(|resources| Ok((attach::read(&files, &[])?, resources))) {
            Ok((mut blocks, resources)) => {
                blocks.extend(resources);
                if !files.is_empty() {
                    let shown = files
                        .iter()
                        .map(|file| self.surroundings.display_path(file));
                    let shown: Vec<String> = shown.map(|file| file.display().to_string()).collect();
                    render::remark(&format!("with {}", shown.join(", ")));
                }
                Some(attach::message(blocks, text).into())
            }
            Err(fault) => {
                let exit = render::fault(&fault);
                self.record_failure(exit);
                None
            }
        }
    }

    /// A text that the person writes in their editor; `None`, after a remark, if nothing is to be sent.
    pub(super) async fn compose(&mut self, initial: Option<String>) -> Option<String> {
        if !self.at_terminal {
            self.record_failure(Exit::Usage);
            render::remark("/edit needs a terminal");
            return None;
        }
        let variable = |name| match self.surroundings.environment.get(name) {
            Some(Ok(value)) if !value.trim().is_empty() => Some(value),
            Some(_) | None => None,
        };
        let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
        let editor = editor.unwrap_or_else(|| USUAL_EDITOR.to_owned());
        let initial = initial.unwrap_or_default();
        let shown = editor.clone();
        let written = tokio::task::spawn_blocking(move || edit(&editor, &initial)).await;
        let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        match written {
            Ok(text) if text.trim().is_empty() => render::remark("it is empty, and is not sent"),
            Ok(text) => {
                let text = text.trim_end().to_owned();
                self.print(|out| show::sent(out, &text));
                return Some(text);
            }
            Err(error) => {
                let message = format!("the editor `{shown}` cannot be used");
                let fault = CommandError::new(Exit::Usage, message).with_cause(&error);
                render::fault(
                    &fault.with_help("name another one in EDITOR, such as `export EDITOR=nano`"),
                );
            }
        }
        None
    }
}

/// Has a text edited, in a private file.
fn edit(editor: &str, initial: &str) -> io::Result<String> {
    let mut file = Builder::new().prefix("message-").suffix(".md").tempfile()?;
    file.write_all(initial.as_bytes())?;
    file.flush()?;
    let status = {
        // The editor has the terminal as it was before the chat.
        let _lent = tty::Lent::begin();
        run(editor, file.path())?
    };
    if !status.success() {
        return Err(io::Error::other(format!("it ended with {status}")));
    }
    // An editor may replace the file, so it is read by its name.
    std::fs::read_to_string(file.path())
}

/// Runs the editor; its name may have arguments, as in `code --wait`.
#[cfg(unix)]
fn run(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    let line = format!("{editor} \"$@\"");
    Command::new("sh")
        .args(["-c", &line, editor])
        .arg(file)
        .status()
}

#[cfg(not(unix))]
fn run(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    Command::new(editor).arg(file).status()
}

/// The editor of a system without a chosen one.
const USUAL_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };
