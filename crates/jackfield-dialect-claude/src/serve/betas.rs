//! The betas in the `anthropic-beta` header.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::opaque::Extension;
use serde_json::Value;

use crate::DIALECT;
use crate::request::BETAS;

/// Checks the comma-separated betas in the header.
///
/// Betas that would make a server act or store what a turn cannot carry are refused. For a provider of this dialect
/// all others pass, as do the body's fields and tools that need them. Otherwise betas without an effect are dropped
/// silently, and the rest is left out with a note.
pub(super) fn read(header: Option<&str>, forward_unknown: bool) -> Result<Betas, ServeError> {
    let mut notes = Notes::default();
    let mut sent: Vec<Value> = Vec::new();
    let names = header.unwrap_or_default().split(',').map(str::trim);
    for (n, beta) in names.filter(|beta| !beta.is_empty()).enumerate() {
        if n == LIMIT {
            let message = format!("more than {LIMIT} betas");
            return Err(ServeError::new(ServeErrorKind::Invalid, message).at(HEADER));
        }
        if beta.len() > MAX_LENGTH || !beta.bytes().all(is_usual) {
            let message = "a beta's name is up to 100 of A-Z, a-z, 0-9, `.`, `_` and `-`";
            return Err(ServeError::new(ServeErrorKind::Invalid, message).at(HEADER));
        }
        let stem = stem(beta);
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == stem) {
            let message = format!("`{beta}` is not served: {why}");
            return Err(ServeError::new(ServeErrorKind::Unsupported, message).at(HEADER));
        }
        if stem == THREADS {
            // Has no effect by itself: the field `thread` does. SDKs that continue without that field may send it.
            continue;
        }
        if forward_unknown {
            sent.push(beta.into());
        } else if !PASSED.contains(&stem) {
            let path = format_args!("{HEADER}.{beta}");
            notes.dropped(NoteEffect::Quality, "beta_not_sent", path);
        }
    }
    Ok(Betas {
        notes: notes.into_vec(),
        forwarded: (!sent.is_empty()).then(|| Extension {
            dialect: DIALECT.into(),
            path: BETAS.to_owned(),
            json: sent.into(),
        }),
    })
}

/// The result for a client's betas.
pub(super) struct Betas {
    pub(super) notes: Vec<Note>,
    /// The betas for the provider.
    pub(super) forwarded: Option<Extension>,
}

/// The name of a beta without its date.
fn stem(beta: &str) -> &str {
    let Some(start) = beta.len().checked_sub("-2026-10-21".len()) else {
        return beta;
    };
    match beta.split_at_checked(start) {
        Some((stem, date)) if date.bytes().zip(b"-0000-00-00".iter()).all(fits) => stem,
        Some(_) | None => beta,
    }
}

fn fits((byte, form): (u8, &u8)) -> bool {
    match form {
        b'0' => byte.is_ascii_digit(),
        dash => byte == *dash,
    }
}

const fn is_usual(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

const HEADER: &str = "anthropic-beta";
const MAX_LENGTH: usize = 100;
const THREADS: &str = "message-threads";
const LIMIT: usize = 64;

/// Betas of every request, and those that do not affect our answers.
const PASSED: [&str; 9] = [
    "extended-cache-ttl",
    "fine-grained-tool-streaming",
    "mcp-client",
    "model-context-window-exceeded",
    "pdfs",
    "prompt-caching",
    "structured-outputs",
    "token-counting",
    "token-efficient-tools",
];

/// Betas that would make a server act or store something, and the alternative.
const REFUSED: [(&str, &str); 8] = [
    ("agent-memory", STATE),
    ("compact", "the conversation is not summarized for a client"),
    ("fallback-credit", FALLBACKS),
    ("files-api", FILES),
    ("managed-agents", STATE),
    ("mcp-tunnels", TOOLS),
    ("server-side-fallback", FALLBACKS),
    ("skills", TOOLS),
];

const FALLBACKS: &str = "the model that is asked for is the one that answers";
pub(super) const FILES: &str = "no files are kept; send their bytes or an address";
const STATE: &str =
    "no state of this kind is kept; send the history, or go on with a session by `X-Session-ID`";
pub(super) const TOOLS: &str = "no provider runs tools for a client; the tools that run here are chosen by configuration and `X-Jackfield-Tools`";
