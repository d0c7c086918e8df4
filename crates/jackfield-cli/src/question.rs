//! The question: from the command line, from standard input, or from both.

use std::io::{self, BufRead as _, Read};

use crate::exit::Exit;
use crate::fault::CommandError;

/// The kind of standard input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StdinKind {
    /// A pipe or a file, meant to be read.
    Given,
    /// A terminal, or nothing.
    NotGiven,
}

/// The question in these words and this standard input.
///
/// # Errors
///
/// [`CommandError`] if there is no question, or standard input is not text or too large.
pub fn read(words: &[String], input: StdinKind, stdin: impl Read) -> Result<String, CommandError> {
    let waits = words.iter().any(|word| word == "-");
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| *word != "-")
        .collect();
    let mut question = words.join(" ").trim().to_owned();
    if waits || input == StdinKind::Given {
        let text = read_text(stdin)?;
        let text = text.trim();
        if !question.is_empty() && !text.is_empty() {
            question.push_str("\n\n");
        }
        question.push_str(text);
    }
    if question.is_empty() {
        return Err(none());
    }
    Ok(question)
}

/// The error for a missing question.
#[must_use]
pub fn none() -> CommandError {
    let fault = CommandError::new(Exit::Usage, "there is no question");
    fault.with_help("jackfield ask \"What is 15% of 2500?\", or pipe the question in")
}

fn read_text(stdin: impl Read) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = stdin.take(LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        CommandError::new(Exit::Usage, "standard input cannot be read").with_cause(&error)
    })?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large());
    }
    text_of(bytes)
}

fn too_large() -> CommandError {
    let fault = CommandError::new(
        Exit::Usage,
        format!("standard input is larger than {} MB", LIMIT / 1_000_000),
    );
    fault.with_help("no model reads that much at once: cut it, or ask about a part")
}

fn text_of(bytes: Vec<u8>) -> Result<String, CommandError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let help = text_help(error.as_bytes());
        let fault = CommandError::new(
            Exit::Usage,
            format!("standard input is not UTF-8: byte {at} does not belong"),
        );
        fault.with_help(help)
    })
}

/// Help for bytes that are no UTF-8: text in another encoding, or no text at all.
pub(crate) fn text_help(bytes: &[u8]) -> String {
    let known = BINARY.iter().find(|(begin, _)| bytes.starts_with(begin));
    if let Some((_, remedy)) = known {
        return (*remedy).to_owned();
    }
    if bytes.contains(&0) {
        return "this is no text: have another program make text, a PDF or an image of it"
            .to_owned();
    }
    "convert it first, for example with `iconv -f ISO-8859-1 -t UTF-8`".to_owned()
}

/// The first bytes of files that are often taken for text, and what to do with them.
const BINARY: &[(&[u8], &str)] = &[
    (
        b"PK\x03\x04",
        "this is an archive or an Office document: unpack it, or save it as PDF or text",
    ),
    (
        b"\x1f\x8b",
        "this is compressed: send it through `gunzip -c` first",
    ),
    (
        b"\x7fELF",
        "this is a program: `strings` shows the texts in it",
    ),
    (
        b"\xff\xfe",
        "this is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
];

/// Reads one message per line; a backslash at the end of a line continues it.
///
/// `complain` receives a read error, which ends the messages.
pub fn lines(
    stdin: impl Read,
    mut complain: impl FnMut(&CommandError),
) -> impl FnMut() -> Option<String> {
    let mut stdin = io::BufReader::new(stdin);
    move || {
        let mut message = String::new();
        loop {
            let room = LIMIT.saturating_sub(message.len() as u64);
            let mut bytes = Vec::new();
            let read = stdin.by_ref().take(room + 1).read_until(b'\n', &mut bytes);
            let line = match read {
                Err(error) => Err(
                    CommandError::new(Exit::Usage, "standard input cannot be read")
                        .with_cause(&error),
                ),
                Ok(0) => return (!message.is_empty()).then_some(message),
                Ok(length) if length as u64 > room => Err(too_large()),
                Ok(_) => text_of(bytes),
            };
            let line = match line {
                Ok(line) => line,
                Err(fault) => {
                    complain(&fault);
                    return None;
                }
            };
            let line = line.trim_end_matches(['\r', '\n']);
            match line.strip_suffix('\\') {
                Some(begun) => {
                    message.push_str(begun);
                    message.push('\n');
                }
                None => {
                    message.push_str(line);
                    return Some(message);
                }
            }
        }
    }
}

/// The maximum size of the input, in bytes.
const LIMIT: u64 = 10_000_000;

/// The kind of this process's standard input.
#[must_use]
pub fn input() -> StdinKind {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use std::os::unix::fs::FileTypeExt as _;
        // A character device is a terminal or /dev/null; neither holds a question.
        let stdin = io::stdin();
        let file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
        let kind = file
            .and_then(|file| file.metadata())
            .map(|metadata| metadata.file_type());
        // Many programs pass a socket to their children without meaning it as input.
        if kind.is_ok_and(|kind| kind.is_file() || kind.is_fifo()) {
            StdinKind::Given
        } else {
            StdinKind::NotGiven
        }
    }
    #[cfg(not(unix))]
    {
        use std::io::IsTerminal as _;
        if io::stdin().is_terminal() {
            StdinKind::NotGiven
        } else {
            StdinKind::Given
        }
    }
}
