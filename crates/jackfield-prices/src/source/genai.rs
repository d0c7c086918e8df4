//! The data of genai-prices, `prices/new_data/v2/data.json`: dollars for a million tokens, by provider (0.2.3).

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::price::ServiceTier;
use serde_json::value::RawValue;

use super::json::{self, Items, line_of};
use super::partial::{PartialPrice, Unit};
use super::{Match, PriceFile, Source, SourceModel, decimal};

pub(super) fn read(text: &str, day: &str) -> PriceFile {
    let mut reader = Reader {
        day,
        file: PriceFile {
            source: Source::GenaiPrices,
            ..PriceFile::default()
        },
        text,
        unknown: BTreeSet::new(),
    };
    match serde_json::from_str::<Items<'_>>(text) {
        Ok(providers) => {
            let mut seen = BTreeSet::new();
            for provider in providers.0 {
                reader.provider(provider, &mut seen);
            }
        }
        Err(error) => {
            let what = format!("this is not JSON: {error}");
            reader.file.problem(true, || error.line(), "", what);
        }
    }
    reader.file
}

struct Reader<'a> {
    day: &'a str,
    file: PriceFile,
    text: &'a str,
    unknown: BTreeSet<String>,
}

impl Reader<'_> {
    fn provider(&mut self, value: &RawValue, seen: &mut BTreeSet<String>) {
        let Some(fields) = json::fields(value) else {
            self.wrong(value, "", "a provider is not an object");
            return;
        };
        let (mut id, mut list) = (String::new(), None);
        for (key, value) in fields {
            match &*key {
                "id" => id = json::string(value).unwrap_or_default(),
                "models" => list = Some(value),
                key if PROVIDER_FIELDS.contains(&key) => {}
                key => self.unknown(value, &id, key),
            }
        }
        let models = list.map_or_else(|| Some(Vec::new()), json::items);
        if models.is_none() {
            self.wrong(list.unwrap_or(value), &id, "`models` is not a list");
        }
        for value in models.unwrap_or_default() {
            let Some(name) = self.model(&id, value) else {
                continue;
            };
            if !seen.insert(format!("{id}/{name}")) {
                self.wrong(value, &format!("{id}/{name}"), "is there twice");
            }
        }
    }

    fn model(&mut self, provider: &str, value: &RawValue) -> Option<String> {
        let Some(fields) = json::fields(value) else {
            self.wrong(value, provider, "a model is not an object");
            return None;
        };
        let field = |name: &str| {
            fields
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| *value)
        };
        let id = field("id").and_then(json::string).unwrap_or_default();
        let name = format!("{provider}/{id}");
        let (mut matches, mut seen) = (Match::Never, BTreeSet::new());
        let mut partial = PartialPrice::default();
        let mut is_whole = !id.is_empty();
        let before = self.file.problems.len();
        for (key, value) in &fields {
            if !seen.insert(key) {
                self.wrong(value, &name, &format!("`{key}` is there twice"));
                is_whole = false;
            }
            match &**key {
                "match" => match clause(value, MOST_CLAUSES) {
                    Some(clause) => matches = clause,
                    None => {
                        self.wrong(value, &name, NO_CLAUSE);
                        is_whole = false;
                    }
                },
                "prices" => is_whole &= self.prices(&mut partial, value, &name).is_some(),
                "price_variants" => is_whole &= self.variants(&mut partial, value, &name).is_some(),
                key if MODEL_FIELDS.contains(&key) => {}
                key => self.unknown(value, &name, key),
            }
        }
        if !is_whole && self.file.problems.len() == before {
            self.wrong(value, &name, "its prices have a form that is not known");
        }
        // What only embeds has no output.
        if id.contains("embed") && partial.get(Unit::Output).is_none() {
            partial.set(None, 0, Unit::Output, jackfield_domain::price::Money::ZERO);
        }
        if let (true, Some(price)) = (is_whole, partial.price()) {
            self.file.models.push(SourceModel {
                matches,
                name: id.as_str().into(),
                price,
                provider: Arc::from(provider),
                retires: None,
            });
        }
        Some(id)
    }

    /// Sets the usual prices: the newest that hold on the day, and by the hour the highest. `None` if something is wrong.
    fn prices(&mut self, partial: &mut PartialPrice, value: &RawValue, name: &str) -> Option<()> {
        let Some(dated) = json::items(value) else {
            return self.table(partial, None, value, name);
        };
        let (mut newest, mut holding) = (String::new(), Vec::new());
        for entry in dated {
            let fields = json::fields(entry)?;
            let (mut constraint, mut prices) = (None, None);
            for (key, value) in fields {
                match &*key {
                    "constraint" => constraint = Some(value),
                    "prices" => prices = Some(value),
                    key => return self.not_read(value, name, key),
                }
            }
            let holds = match constraint {
                None => Holds::Since(String::new()),
                Some(value) => self.holds(value, name)?,
            };
            match holds {
                // What stands before it, at any hour, holds no more.
                Holds::Since(day) if day >= newest => {
                    newest = day;
                    holding = prices.into_iter().collect();
                }
                Holds::AtHours => holding.extend(prices),
                Holds::Since(_) | Holds::Never => {}
            }
        }
        let mut highest: Option<PartialPrice> = None;
        for prices in holding {
            let mut one = PartialPrice::default();
            self.table(&mut one, None, prices, name)?;
            if highest
                .as_ref()
                .is_none_or(|highest| sum(&one) > sum(highest))
            {
                highest = Some(one);
            }
        }
        partial.extend(highest?);
        Some(())
    }

    fn variants(&mut self, partial: &mut PartialPrice, value: &RawValue, name: &str) -> Option<()> {
        let mut known = BTreeSet::new();
        for variant in json::items(value)? {
            let (mut tier, mut prices, mut holds) = (None, None, Holds::Since(String::new()));
            for (key, value) in json::fields(variant)? {
                match &*key {
                    "when" => tier = self.tier(value, name),
                    "prices" => prices = Some(value),
                    "constraint" => holds = self.holds(value, name)?,
                    key => return self.not_read(value, name, key),
                }
            }
            // The first one that holds is the one that counts.
            if let (Some(tier), Some(prices), Holds::Since(_)) = (tier, prices, holds)
                && known.insert(tier)
            {
                self.table(partial, Some(tier), prices, name)?;
            }
        }
        Some(())
    }

    fn table(
        &mut self,
        partial: &mut PartialPrice,
        tier: Option<ServiceTier>,
        value: &RawValue,
        name: &str,
    ) -> Option<()> {
        for (key, value) in json::fields(value)? {
            let Some((_, unit)) = RATES.iter().find(|(rate, _)| *rate == key) else {
                if !NOT_TOKENS.contains(&&*key) {
                    return self.not_read(value, name, &key);
                }
                continue;
            };
            let Some(parts) = json::fields(value) else {
                let rate = self.rate(value, name, &key)?;
                partial.set(tier, 0, *unit, rate);
                continue;
            };
            for (part, value) in parts {
                match &*part {
                    "base" => partial.set(tier, 0, *unit, self.rate(value, name, &key)?),
                    "tiers" => {
                        for step in json::items(value)? {
                            let fields = json::fields(step)?;
                            let of = |name: &str| fields.iter().find(|(key, _)| key == name);
                            let start = of("start")?.1.get().parse().ok()?;
                            let rate = self.rate(of("price")?.1, name, &key)?;
                            partial.set(tier, start, *unit, rate);
                        }
                    }
                    part => return self.not_read(value, name, part),
                }
            }
        }
        Some(())
    }

    fn rate(
        &mut self,
        value: &RawValue,
        name: &str,
        key: &str,
    ) -> Option<jackfield_domain::price::Money> {
        let amount = decimal::amount(value.get(), MICROS);
        if let Err(what) = amount {
            self.wrong(value, name, &format!("`{key}` {what}"));
        }
        amount.ok()
    }

    /// The tier of a condition; `None` for the usual one, and for what no reply names.
    fn tier(&mut self, value: &RawValue, name: &str) -> Option<ServiceTier> {
        let fields = json::fields(value)?;
        let [(key, wanted)] = &fields[..] else {
            return None;
        };
        let wanted = json::string(wanted)?;
        match (&**key, &*wanted) {
            ("processing", "batch") => Some(ServiceTier::Batch),
            ("service_tier", "flex") => Some(ServiceTier::Flex),
            ("service_tier", "priority") => Some(ServiceTier::Priority),
            ("speed" | "service_tier", "fast") => Some(ServiceTier::Fast),
            ("service_tier", "default") | ("route" | "search_type", _) => None,
            (key, wanted) => {
                let file_text = self.text;
                let text = format!("the condition `{key}` = `{wanted}` is not known");
                self.file
                    .problem(false, || line_of(file_text, value), name, text);
                None
            }
        }
    }

    fn holds(&mut self, value: &RawValue, name: &str) -> Option<Holds> {
        let mut holds = None;
        for (key, wanted) in json::fields(value)? {
            holds = match (&*key, holds) {
                ("start_date", holds) => match (json::string(wanted)?, holds) {
                    (day, _) if *day > *self.day => Some(Holds::Never),
                    (_, Some(holds)) => Some(holds),
                    (day, None) => Some(Holds::Since(day)),
                },
                ("start_time" | "end_time", Some(Holds::Never)) => Some(Holds::Never),
                ("start_time" | "end_time", _) => Some(Holds::AtHours),
                (key, _) => return self.not_read(value, name, key),
            };
        }
        holds
    }

    fn unknown(&mut self, value: &RawValue, model: &str, key: &str) {
        if self.unknown.insert(key.to_owned()) {
            let (file_text, text) = (self.text, format!("`{key}` is not known"));
            self.file
                .problem(false, || line_of(file_text, value), model, text);
        }
    }

    /// An error, as the key may change a price.
    fn not_read<T>(&mut self, value: &RawValue, model: &str, key: &str) -> Option<T> {
        let what = format!("`{key}` is not known, and may be a price");
        self.wrong(value, model, &what);
        None
    }

    fn wrong(&mut self, value: &RawValue, model: &str, what: &str) {
        let text = self.text;
        self.file
            .problem(true, || line_of(text, value), model, what);
    }
}

/// When a price holds.
enum Holds {
    AtHours,
    Never,
    /// From this day on, always.
    Since(String),
}

/// How high a price is.
fn sum(price: &PartialPrice) -> u64 {
    let rates = [Unit::Input, Unit::Output].map(|unit| price.get(unit));
    let rates = rates.into_iter().flatten();
    rates.fold(0, |sum, rate| sum.saturating_add(rate.as_picos()))
}

/// A clause of at most this depth; `None` if its form is not known.
fn clause(value: &RawValue, depth: usize) -> Option<Match> {
    let deeper = depth.checked_sub(1)?;
    let fields = json::fields(value)?;
    let (key, value) = fields.first()?;
    let text = || json::string(value);
    let all = || -> Option<Vec<Match>> {
        let clauses = json::items(value)?.into_iter();
        clauses.map(|one| clause(one, deeper)).collect()
    };
    match &**key {
        "and" => all().map(Match::All),
        "contains" => text().map(Match::Contains),
        "ends_with" => text().map(Match::Ends),
        "equals" => text().map(Match::Equals),
        "or" => all().map(Match::Any),
        "starts_with" => text().map(Match::Starts),
        // A pattern is not tried: what it is for are the days of versions.
        _ => Some(Match::Never),
    }
}

/// How deep clauses may be in each other.
const MOST_CLAUSES: usize = 16;
const NO_CLAUSE: &str = "its `match` has a form that is not known, or is more than 16 clauses deep";
/// Picos for a token in a dollar for a million, as a power of ten.
const MICROS: i32 = 6;
const RATES: &[(&str, Unit)] = &[
    ("cache_read_mtok", Unit::CacheRead),
    ("cache_write_1h_mtok", Unit::CacheWriteLong),
    ("cache_write_5m_mtok", Unit::CacheWrite),
    ("cache_write_mtok", Unit::CacheWrite),
    ("input_audio_mtok", Unit::AudioInput),
    ("input_image_mtok", Unit::ImageInput),
    ("input_mtok", Unit::Input),
    ("output_audio_mtok", Unit::AudioOutput),
    ("output_image_mtok", Unit::ImageOutput),
    ("output_mtok", Unit::Output),
];
/// What is billed by other things than the tokens that a usage counts apart.
const NOT_TOKENS: &[&str] = &[
    "audio_hours",
    "cache_audio_read_mtok",
    "cache_image_read_mtok",
    "input_annotated_document_kpages",
    "input_audio_hours",
    "input_document_kpages",
    "input_mchars",
    "input_text_messages_kcount",
    "input_video_mtok",
    "output_citation_mtok",
    "output_reasoning_mtok",
    "output_video_mtok",
    "requests_kcount",
    "storage_searches_kcount",
    "web_searches_kcount",
];
const PROVIDER_FIELDS: &[&str] = &[
    "api_pattern",
    "description",
    "extractors",
    "fallback_model_providers",
    "model_match",
    "name",
    "price_comments",
    "pricing_urls",
    "provider_match",
    "tiers",
];
const MODEL_FIELDS: &[&str] = &[
    "context_window",
    "deprecated",
    "description",
    "id",
    "name",
    "price_comments",
];
