//! `jackfield man`: the manual pages, generated from the `--help` texts.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, CommandFactory as _};

use crate::args::{Args, Man};
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;

/// Prints a page, or writes all of them.
///
/// # Errors
///
/// [`CommandError`] if there is no such command, or the pages cannot be written.
pub fn run(man: &Man) -> Result<Exit, CommandError> {
    let mut all = Args::command().disable_help_subcommand(true);
    all.build();
    if let Some(folder) = &man.out {
        return write_all(&all, folder);
    }
    let mut command = &all;
    for name in &man.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let message = format!("there is no command `{name}` here");
            let fault = CommandError::new(Exit::Usage, message);
            if known.is_empty() {
                return fault.with_help(format!(
                    "`{}` has no commands of its own",
                    command.get_name()
                ));
            }
            fault.with_help(format!("there are: {}", known.join(", ")))
        })?;
    }
    let page = page(command).map_err(|error| unwritable(&error))?;
    let mut out = io::stdout();
    printed::finish(
        out.write_all(&page).and_then(|()| out.flush()),
        Exit::Answered,
    )
}

/// Writes the page of every command into a folder, and creates the folder if needed.
fn write_all(all: &Command, folder: &Path) -> Result<Exit, CommandError> {
    let written = || -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut left = vec![all];
        while let Some(command) = left.pop() {
            let name = format!("{}.1", full_name(command));
            let file = folder.join(name);
            // A new file, since a link in its place would be followed.
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            File::create_new(file)?.write_all(&page(command)?)?;
            left.extend(command.get_subcommands());
        }
        Ok(())
    };
    written().map(|()| Exit::Answered).map_err(|error| {
        let message = format!("the pages cannot be written into `{}`", folder.display());
        let fault = CommandError::new(Exit::Internal, message).with_cause(&error);
        fault.with_help("name a folder that you may write into with `--out`")
    })
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

/// The name of a page, such as `jackfield-mcp-list`.
fn full_name(command: &Command) -> String {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    name.to_owned()
}

fn unwritable(error: &io::Error) -> CommandError {
    CommandError::new(Exit::Internal, "the page cannot be made").with_cause(error)
}
