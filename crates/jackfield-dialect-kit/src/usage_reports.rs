//! What a reply says that it used, in the same way for turns and for requests that are passed through.

use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::price::ServiceTier;
use jackfield_domain::usage::Usage;

/// The reports of one reply about its usage. They are totals so far: a repeated one counts once.
#[derive(Clone, Debug, Default)]
pub struct UsageReports {
    /// Whether the cost that the server states is what it charges, in US dollars.
    has_cost: bool,
    /// Whether a report contradicts itself or an earlier one.
    is_mended: bool,
    /// The provider's word for a tier that is not known.
    other_tier: Option<String>,
    tier: Option<ServiceTier>,
    usage: Option<Usage>,
}

impl UsageReports {
    /// No reports so far, of a server whose stated cost is what it charges, in US dollars, or is not read.
    #[must_use]
    pub fn new(has_cost: bool) -> Self {
        Self {
            has_cost,
            ..Self::default()
        }
    }

    /// Adds a report, with the total of tokens if the provider says it: what the parts lack of it is the one of them that
    /// is missing, or cached input that the input does not include, or else output that they leave out, such as reasoning.
    pub fn add(&mut self, reported: Usage, total: Option<u64>) {
        let total = total.filter(|total| *total <= MOST_TOKENS);
        if reported.total().max(reported.cache_read) > MOST_TOKENS {
            self.is_mended = true;
            return;
        }
        let mut usage = reported;
        usage.billed = usage.billed.filter(|_| self.has_cost);
        let lacking = total.unwrap_or_default().saturating_sub(usage.total());
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let of_input = match usage.input {
            0 => lacking,
            input if input < cached => lacking.min(cached),
            _ => 0,
        };
        usage.input = usage.input.saturating_add(of_input);
        usage.output = usage.output.saturating_add(lacking - of_input);
        let is_counted = reported.input > 0 && reported.output > 0 && of_input == 0;
        let mended = usage.mended();
        let counts = |usage: &Usage| [usage.cache_write, usage.input, usage.output];
        self.is_mended |= counts(&mended) != counts(&usage) || (lacking > 0 && !is_counted);
        self.usage = Some(self.usage.map_or(mended, |known| {
            let shrinks = |known, later| later > 0 && later < known;
            self.is_mended |=
                shrinks(known.input, mended.input) || shrinks(known.output, mended.output);
            known.larger(mended)
        }));
    }

    /// The provider's word for the service tier, if it says one; the last one holds.
    pub fn tier(&mut self, word: Option<&str>) {
        if let Some(word) = word {
            self.tier = ServiceTier::of_word(word);
            let is_other = self.tier == Some(ServiceTier::Other);
            self.other_tier = is_other.then(|| word.chars().take(MAX_WORD).collect());
        }
    }

    /// The usage so far; `None` if there is no report.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let tier = self.tier;
        self.usage.map(|usage| Usage { tier, ..usage })
    }

    /// What the usage does not have as the provider said it.
    pub fn notes(&self) -> impl Iterator<Item = Note> {
        let note = |kind, code, path| Note::new(kind, NoteEffect::Cost, code, path);
        let mended = self
            .is_mended
            .then(|| note(NoteKind::Approximated, "usage_mended", "usage".to_owned()));
        let other = self.other_tier.as_ref().filter(|_| self.usage.is_some());
        let other = other.map(|word| {
            let path = format!("usage.service_tier.{word}");
            note(NoteKind::Dropped, "service_tier_unpriced", path)
        });
        mended.into_iter().chain(other)
    }
}

/// The most tokens that a report may have: those of the largest batches. A report of more is none.
const MOST_TOKENS: u64 = 10_000_000_000;
/// How much of an unknown word is in a note, in characters.
const MAX_WORD: usize = 40;
