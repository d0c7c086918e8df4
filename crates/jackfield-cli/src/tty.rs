//! The terminal between two edited lines: input is kept, and not echoed.
//!
//! An echo would appear in the middle of the answer. Input waits in the terminal until the next line is read.
//! Ctrl-C works all the time.

/// Disables the echo until it is dropped, or the process exits.
#[derive(Debug)]
pub(crate) struct EchoGuard(());

impl EchoGuard {
    /// Disables the echo on standard input; no effect if that is no terminal.
    pub(crate) fn begin() -> Self {
        unix::begin();
        Self(())
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Lends the terminal to another program, as it was before, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lent(());

impl Lent {
    /// Restores the terminal, if its echo is disabled.
    pub(crate) fn begin() -> Self {
        restore();
        Self(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if unix::is_quiet() {
            unix::begin();
        }
    }
}

pub(crate) fn restore() {
    unix::restore();
}

/// Enables bracketed paste again, which the line editor disables at the end of each line.
pub(crate) fn mark_pastes() {
    unix::mark_pastes();
}

/// Takes unread input, as text.
pub(crate) fn typed_ahead() -> String {
    let bytes = unix::typed_ahead();
    text_of(&String::from_utf8_lossy(&bytes))
}

/// The typed text, without keys that are no text.
fn text_of(typed: &str) -> String {
    let mut text = String::new();
    let mut signs = typed.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => {
                if signs.next_if(|next| matches!(next, '[' | 'O')).is_some() {
                    while signs
                        .next()
                        .is_some_and(|sign| !('@'..='~').contains(&sign))
                    {}
                } else {
                    signs.next();
                }
            }
            '\r' => text.push('\n'),
            '\u{7f}' | '\u{8}' => {
                text.pop();
            }
            '\n' | '\t' => text.push(sign),
            sign if sign.is_control() => {}
            sign => text.push(sign),
        }
    }
    text
}

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal as _, Write as _};
    use std::sync::OnceLock;

    use rustix::termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    static BEFORE: OnceLock<Termios> = OnceLock::new();

    pub(super) fn begin() {
        let Ok(before) = tcgetattr(io::stdin()) else {
            return;
        };
        let mut quiet = before.clone();
        quiet.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON);
        quiet.input_modes &= !InputModes::ICRNL;
        // Reading the typed-ahead input does not wait for more.
        quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _before = BEFORE.set(before);
        let _quiet = tcsetattr(io::stdin(), OptionalActions::Drain, &quiet);
        mark_pastes();
    }

    /// Whether the echo was disabled by this process.
    pub(super) fn is_quiet() -> bool {
        BEFORE.get().is_some()
    }

    pub(super) fn restore() {
        if let Some(before) = BEFORE.get() {
            let _restored = tcsetattr(io::stdin(), OptionalActions::Drain, before);
            write_sequence("\u{1b}[?2004l");
        }
    }

    pub(super) fn mark_pastes() {
        if BEFORE.get().is_some() {
            write_sequence("\u{1b}[?2004h");
        }
    }

    pub(super) fn typed_ahead() -> Vec<u8> {
        let mut typed = Vec::new();
        let mut piece = [0; 1024];
        while typed.len() < LIMIT && BEFORE.get().is_some() {
            match rustix::io::read(io::stdin(), &mut piece) {
                Ok(length @ 1..) => {
                    typed.extend_from_slice(piece.get(..length).unwrap_or_default());
                }
                Ok(0) | Err(_) => break,
            }
        }
        typed
    }

    fn write_sequence(sequence: &str) {
        let mut out = io::stdout();
        if !out.is_terminal() {
            return;
        }
        // A closed terminal needs no escape sequence.
        let _told = out
            .write_all(sequence.as_bytes())
            .and_then(|()| out.flush());
    }

    /// The maximum amount of typed-ahead input, in bytes.
    const LIMIT: usize = 1 << 20;
}

#[cfg(not(unix))]
mod unix {
    pub(super) fn begin() {}

    pub(super) fn is_quiet() -> bool {
        false
    }

    pub(super) fn restore() {}

    pub(super) fn mark_pastes() {}

    pub(super) fn typed_ahead() -> Vec<u8> {
        Vec::new()
    }
}
