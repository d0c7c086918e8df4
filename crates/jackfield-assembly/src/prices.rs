//! Reads price tables, the user's and the built-in one: per million tokens, each with date and source.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceList, Rates};
use jackfield_domain::request::ModelRef;

use crate::document::{DocumentReader, Section};
use crate::form::{self, ValueForm};
use crate::place::{ConfigProblem, ValueSource};
use crate::values::{money, parse_model};

/// The prices of a model as written, before the currency is known.
#[derive(Clone, Debug)]
pub(crate) struct PriceEntry {
    cache_read: Option<Money>,
    cache_write: Option<Money>,
    date: Arc<str>,
    input: Money,
    output: Money,
    /// Its place.
    pub(crate) place: ValueSource,
    source: Arc<str>,
}

impl PriceEntry {
    /// The price in this currency. Cached input costs the same as other input by default.
    pub(crate) fn price(&self, currency: &Arc<str>) -> Price {
        Price {
            currency: Arc::clone(currency),
            date: Arc::clone(&self.date),
            rates: Rates {
                cache_read: self.cache_read.unwrap_or(self.input),
                cache_write: self.cache_write.unwrap_or(self.input),
                ..Rates::new(self.input, self.output)
            },
            source: Arc::clone(&self.source),
            variants: Vec::new(),
        }
    }
}

/// Prices by model.
pub(crate) type Prices = BTreeMap<ModelRef, PriceEntry>;

/// Reads `[prices]`.
pub(crate) fn read(prices: &mut Prices, section: Section<'_>) {
    let names = section.again();
    for entry in section.entries() {
        let mut table = Section::of(&names, &entry);
        let place = entry.place.clone();
        // A value that is present but invalid is reported as such.
        let mut said = Section::of(&names, &entry);
        let mut is_said = |name| said.place_of(name).is_some();
        let is_whole = is_said("input") && is_said("output");
        let amount = || form::of(ValueForm::Amount, per_million);
        form::keys! { let table;
            cache_read: amount(), "What a million input tokens cost that are read from a cache";
            cache_write: amount(), "What a million input tokens cost that are written to a cache";
            input: amount(), "What a million input tokens cost";
            output: amount(), "What a million output tokens cost";
            date: form::filled("2026-11-01"), "The day on which the price was read";
            source: form::filled("https://prices.example"), "Where the price was read";
        }
        table.finish();
        let (Some((input, _)), Some((output, _))) = (input, output) else {
            let problem = ConfigProblem::new(entry.place, "a price has `input` and `output`");
            if !is_whole {
                names.problem(problem.with_help(
                    "write what a million tokens of each cost; 0 is a price, and no table is none",
                ));
            }
            continue;
        };
        // Without a slash, the price applies to all models of a provider.
        let model = parse_model(&entry.name).unwrap_or_else(|| ModelRef {
            model: PriceList::ANY.into(),
            provider: entry.name,
        });
        let is_part = model.model.contains('*') && &*model.model != PriceList::ANY;
        let provider = &*model.provider;
        if is_part || provider.trim().is_empty() || provider.contains(['*', '/']) {
            let message = "a price is that of one model, or of all models of a provider";
            names.problem(ConfigProblem::new(place, message).with_help(
                "write `PROVIDER/MODEL`, or the name of the provider alone; `*` stands for no part of a name",
            ));
            continue;
        }
        let listed = PriceEntry {
            cache_read: cache_read.map(|(amount, _)| amount),
            cache_write: cache_write.map(|(amount, _)| amount),
            date: date.map_or_else(|| UNDATED.into(), |(date, _)| date),
            input,
            output,
            place,
            source: source.map_or_else(|| OWN.into(), |(source, _)| source),
        };
        prices.insert(model, listed);
    }
}

/// The built-in prices in US dollars, by kind of provider and model.
pub(crate) fn built_in() -> Prices {
    let mut prices = Prices::new();
    let reader = DocumentReader::new(Path::new("prices.toml"), BUILT_IN);
    let _read = reader.read(|root| read(&mut prices, root));
    prices
}

/// Converts an amount per million tokens to one per token.
fn per_million(value: &toml::de::DeValue<'_>) -> Result<Money, String> {
    let amount = money(value)?;
    let picos = amount.as_picos();
    if picos.is_multiple_of(MILLION) {
        Ok(Money::from_picos(picos / MILLION))
    } else {
        Err(format!("{amount} has more than six decimals"))
    }
}

/// The currency of [`built_in`].
pub(crate) const CURRENCY: &str = "USD";

const BUILT_IN: &str = include_str!("prices.toml");
const MILLION: u64 = 1_000_000;
/// The default source of a price in a file.
const OWN: &str = "configuration";
/// The default date of a price in a file.
const UNDATED: &str = "undated";
