//! What batches and their results say that they used.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use jackfield_dialect_claude::wire as claude;
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::price::{Price, ServiceTier};
use jackfield_domain::usage::Usage;

use super::super::batch_addresses::{elements, objects};
use super::super::json::{self, Member};
use super::super::language::Language;
use super::BatchUsage;

/// A batch, as its provider describes it.
pub(super) struct Batch {
    /// The file of its results, if they are in one.
    pub(super) file: Option<String>,
    pub(super) id: String,
    /// What it used, if it says that.
    pub(super) used: Vec<BatchUsage>,
}

/// The price of a model.
pub(super) type PriceOf<'a> = &'a dyn Fn(&str) -> Option<Price>;

/// Results of a batch in the order of their lines.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of a line.
    begun: Vec<u8>,
    /// Whether the line is longer than what is read.
    is_too_long: bool,
    used: Sums,
}

impl Lines {
    pub(super) fn push(&mut self, piece: &[u8], price: PriceOf<'_>) {
        let mut lines = piece.split(|byte| *byte == b'\n');
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            self.add(line);
            self.end(price);
        }
        self.add(rest);
    }

    /// All of it; nothing if the last line is cut off.
    pub(super) fn finish(mut self, price: PriceOf<'_>) -> Vec<BatchUsage> {
        let last = std::str::from_utf8(&self.begun).map(str::trim);
        if last.is_ok_and(|last| !last.is_empty() && json::members(last).is_none()) {
            return Vec::new();
        }
        self.end(price);
        self.used.finish()
    }

    fn add(&mut self, part: &[u8]) {
        self.is_too_long |= self.begun.len() + part.len() > MAX_LINE;
        if self.is_too_long {
            self.begun.clear();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    /// Reads the line.
    fn end(&mut self, price: PriceOf<'_>) {
        if self.is_too_long {
            tracing::warn!("a result of a batch is too long to be counted");
        }
        if let Ok(line) = std::str::from_utf8(&self.begun)
            && let Some(members) = json::members(line)
        {
            self.used.add_result(&members, price);
        }
        self.begun.clear();
        self.is_too_long = false;
    }
}

/// The batches of a reply: one, or those of a list.
pub(super) fn batches(reply: &str, price: PriceOf<'_>) -> impl Iterator<Item = Batch> {
    objects(reply)
        .into_iter()
        .filter_map(move |one| batch(&json::members(one)?, price))
}

fn batch(members: &[Member<'_>], price: PriceOf<'_>) -> Option<Batch> {
    let text = |name| Some(json::string(json::only(members, name)?.value)?.into_owned());
    let mut used = Sums::default();
    if let Some(metadata) = inner(members, "metadata")
        && let Some(id) = text("name")
    {
        // Gemini's: an operation.
        let output = inner(&metadata, "output").unwrap_or_default();
        let results = inner(&output, "inlinedResponses").unwrap_or_default();
        let results = elements(&results, "inlinedResponses").unwrap_or_default();
        for result in results {
            if let Some(result) = json::members(result.get()) {
                used.add_result(&result, price);
            }
        }
        let file = json::only(&output, "responsesFile");
        let file = file.and_then(|file| json::string(file.value));
        return Some(Batch {
            file: file.map(Into::into),
            id,
            used: used.finish(),
        });
    }
    let id = text("id")?;
    let is_over = text("status").is_some_and(|status| OVER.contains(&&*status));
    // One that does not name its model is counted by its results.
    if is_over
        && let Some(usage) = usage(Language::Chat, members)
        && let Some(model) = text("model")
    {
        used.add(Key::whole(&model), usage);
    }
    let file = text("output_file_id").filter(|_| is_over);
    Some(Batch {
        file,
        id,
        used: used.finish(),
    })
}

/// Which requests have the same rates. The order is that of their first results.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Key {
    above: u64,
    model: Arc<str>,
}

impl Key {
    /// All requests of a batch that has one model.
    fn whole(model: &str) -> Self {
        Self {
            above: 0,
            model: model_name(model),
        }
    }
}

/// Sums of usage.
#[derive(Default)]
struct Sums {
    places: BTreeMap<Key, usize>,
    sums: Vec<BatchUsage>,
}

impl Sums {
    /// Adds what a result says: a message of Claude's, a response of OpenAI's with its status, or one of Gemini's.
    fn add_result(&mut self, members: &[Member<'_>], price: PriceOf<'_>) {
        if let Some(result) = inner(members, "result") {
            if let Some(message) = inner(&result, "message") {
                self.add_by_model(Language::Claude, &message, price);
            }
            return;
        }
        let Some(response) = inner(members, "response") else {
            return;
        };
        let Some(body) = inner(&response, "body") else {
            return self.add_by_model(Language::Gemini, &response, price);
        };
        if let Some(usage) = usage(Language::Chat, &body) {
            // All have one model. What its batch says as a whole has to be the same.
            let first = self.sums.first().map(|first| Arc::clone(&first.model));
            let model = first.unwrap_or_else(|| model_of(Language::Chat, &body));
            self.add(Key { above: 0, model }, usage);
        }
    }

    /// Adds what a reply says, apart from those of other models and lengths, whose rates differ.
    fn add_by_model(&mut self, language: Language, reply: &[Member<'_>], price: PriceOf<'_>) {
        let Some(usage) = usage(language, reply) else {
            return;
        };
        let model = model_of(language, reply);
        let price = price(&model);
        let above = price.map_or(0, |price| price.threshold(usage.input));
        self.add(Key { above, model }, usage);
    }

    fn add(&mut self, key: Key, usage: Usage) {
        let Self { places, sums } = self;
        let is_full = sums.len() >= MAX_PARTS;
        let place = match places.entry(key) {
            Entry::Occupied(known) => *known.get(),
            // A batch has a few models.
            Entry::Vacant(_) if is_full => sums.len() - 1,
            Entry::Vacant(new) => {
                let Key { above, model } = new.key().clone();
                sums.push(BatchUsage {
                    above,
                    model,
                    usage: Usage::default(),
                });
                *new.insert(sums.len() - 1)
            }
        };
        if let Some(sum) = sums.get_mut(place) {
            sum.usage += usage;
            sum.usage.tier = Some(ServiceTier::Batch);
        }
    }

    fn finish(self) -> Vec<BatchUsage> {
        self.sums
    }
}

/// What a reply says that it used.
fn usage(language: Language, reply: &[Member<'_>]) -> Option<Usage> {
    let usage = json::only(reply, language.usage_member())?;
    let mut reports = UsageReports::new(false);
    language.read_usage(usage.value, &mut claude::Usage::default(), &mut reports);
    reports.usage().filter(|usage| usage.total() > 0)
}

fn model_of(language: Language, reply: &[Member<'_>]) -> Arc<str> {
    let model = json::only(reply, language.model_member());
    let model = model.and_then(|model| json::string(model.value));
    model_name(&model.unwrap_or_default())
}

/// The name of a model, which Gemini begins with its kind.
fn model_name(name: &str) -> Arc<str> {
    let name = name.strip_prefix("models/").unwrap_or(name);
    let end = name.floor_char_boundary(MAX_MODEL);
    name.get(..end).unwrap_or_default().into()
}

fn inner<'a>(members: &[Member<'a>], name: &str) -> Option<Vec<Member<'a>>> {
    json::members(json::only(members, name)?.value)
}

/// The states in which a batch of OpenAI's uses no more.
const OVER: [&str; 4] = ["completed", "failed", "expired", "cancelled"];
/// The maximum length of a result that is read, in bytes.
const MAX_LINE: usize = 16 << 20;
/// The maximum length of a model's name, in bytes.
const MAX_MODEL: usize = 256;
/// How many parts of a batch are counted apart.
const MAX_PARTS: usize = 64;
