//! Refuses a request with unacceptable losses before it is sent.

use std::cmp::Reverse;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};

/// Refuses a request if a note of its mapping has the effect about which the request is
/// [strict](jackfield_domain::request::ModelRequest::strict), or a worse one.
///
/// To be called between mapping and sending. A carried value is sent in a place of its own and comes back from there,
/// so it does not count as a loss.
///
/// # Errors
///
/// A failure before sending, `Unsupported`, which is never retried. Its message is one line that names the losses,
/// and how to continue.
pub fn check(notes: &[Note], strict: Option<NoteEffect>) -> Result<(), ModelFailure> {
    let Some(strict) = strict else {
        return Ok(());
    };
    let losses = losses(notes, strict);
    let Some(worst) = losses.first() else {
        return Ok(());
    };
    let mut descriptions: Vec<String> = losses.iter().take(SHOWN).map(Loss::describe).collect();
    if losses.len() > SHOWN {
        descriptions.push(format!("and {} more", losses.len() - SHOWN));
    }
    let message = format!(
        "nothing was sent, as the turn is strict about {}: {}; {}",
        strict.as_str(),
        descriptions.join(", "),
        remedy(&losses, worst.note.effect),
    );
    let kind = ModelFailureKind::Unsupported;
    Err(ModelFailure::new(kind, Phase::BeforeSend, message))
}

/// One kind of loss, in one or several places.
struct Loss<'a> {
    /// The number of further places.
    more: usize,
    note: &'a Note,
}

impl Loss<'_> {
    fn describe(&self) -> String {
        let Note {
            code,
            effect,
            kind,
            path,
        } = self.note;
        // Paths may contain names that a client chose.
        let printable = path.chars().filter(|sign| !sign.is_control()).take(PATH);
        let path: String = printable.collect();
        let more = match self.more {
            0 => String::new(),
            more => format!(" and {more} like it"),
        };
        let done = match kind {
            NoteKind::Approximated | NoteKind::Carried => "would be changed",
            NoteKind::Dropped => "would be left out",
            NoteKind::Refused => "would not be passed on",
        };
        let (code, effect) = (code.replace('_', " "), effect.as_str());
        format!("{path}{more} {done} ({code}; {effect})")
    }
}

/// The losses that count, the worst first; equal losses in many places are merged.
fn losses(notes: &[Note], strict: NoteEffect) -> Vec<Loss<'_>> {
    let alike = |one: &Note, other: &Note| {
        (&one.code, one.effect, one.kind, in_conversation(one))
            == (
                &other.code,
                other.effect,
                other.kind,
                in_conversation(other),
            )
    };
    let counts = |note: &&Note| note.kind != NoteKind::Carried && note.effect >= strict;
    let mut losses: Vec<Loss<'_>> = Vec::new();
    for note in notes.iter().filter(counts) {
        match losses.iter_mut().find(|loss| alike(loss.note, note)) {
            // Each setting has to be changed separately.
            Some(loss) if in_conversation(note) => loss.more += 1,
            Some(_) | None => losses.push(Loss { more: 0, note }),
        }
    }
    losses.sort_by_key(|loss| Reverse(loss.note.effect));
    losses
}

/// Advice on how to continue.
///
/// A loss in the conversation recurs with every later request, and its history cannot be changed: so the advice
/// must work with the conversation as it is.
fn remedy(losses: &[Loss<'_>], worst: NoteEffect) -> String {
    let weaker = match worst {
        NoteEffect::Cosmetic => "be strict about cost only",
        NoteEffect::Cost => "be strict about quality only",
        NoteEffect::Quality => "be strict about meaning only",
        NoteEffect::Meaning => "do not be strict",
    };
    let conversation = losses.iter().any(|loss| in_conversation(loss.note));
    let others = losses.iter().any(|loss| !in_conversation(loss.note));
    match (conversation, others) {
        (false, _) => format!("leave that out or change it, or {weaker}"),
        (true, false) => format!(
            "what stands in the conversation is sent with every question: {weaker}, ask a model that can \
             be told it (state goes back to the model that made it alone), or begin another conversation"
        ),
        (true, true) => format!(
            "{weaker}; or leave out or change what does not stand in the conversation, and ask a model \
             that can be told what does, or begin another"
        ),
    }
}

/// Whether a note concerns the conversation, and not the settings or tools.
fn in_conversation(note: &Note) -> bool {
    note.path.starts_with("messages")
}

/// The most characters of a path that are shown.
const PATH: usize = 120;
/// The most losses that are named.
const SHOWN: usize = 4;
