//! Reads `[prices]`, per million tokens, and says what models cost.

mod imported;
pub(crate) mod local;

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceList, PriceVariant, Rates, ServiceTier};
use jackfield_domain::request::ModelRef;
use toml::de::DeValue;

pub use self::imported::PricesFile;
use crate::document::Section;
use crate::form::{self, ValueForm};
use crate::place::{ConfigProblem, ValueSource};
use crate::values::{filled, money, parse_model, whole};

/// The prices of a model as written, before the currency is known.
#[derive(Clone, Debug)]
pub(crate) struct PriceEntry {
    date: Arc<str>,
    /// Its place.
    pub(crate) place: ValueSource,
    rates: Rates,
    source: Arc<str>,
    variants: Vec<PriceVariant>,
}

impl PriceEntry {
    /// The price in this currency.
    pub(crate) fn price(&self, currency: &Arc<str>) -> Price {
        Price {
            currency: Arc::clone(currency),
            date: Arc::clone(&self.date),
            rates: self.rates.clone(),
            source: Arc::clone(&self.source),
            variants: self.variants.clone(),
        }
    }
}

/// Prices by model.
pub(crate) type Prices = BTreeMap<ModelRef, PriceEntry>;

/// The rates of a table. Cached input costs the same as other input by default.
#[derive(Default)]
struct WrittenRates {
    audio_input: Option<Money>,
    audio_output: Option<Money>,
    cache_read: Option<Money>,
    cache_write: Option<Money>,
    cache_write_long: Option<Money>,
    image_input: Option<Money>,
    image_output: Option<Money>,
    input: Option<Money>,
    output: Option<Money>,
}

/// A variant as it is written.
struct WrittenVariant {
    above: u64,
    tier: Option<ServiceTier>,
    written: WrittenRates,
}

impl WrittenRates {
    /// The rates of a variant: what the table does not say changes as much as the input, or the output.
    fn rates_beside(&self, usual: &Rates) -> Option<Rates> {
        let (input, output) = (self.input?, self.output?);
        let with = |own: Option<Money>, usual: Money, (from, to): (Money, Money)| {
            own.unwrap_or_else(|| changed(usual, from, to))
        };
        let (inputs, outputs) = ((usual.input, input), (usual.output, output));
        let may = |own: Option<Money>, usual: Option<Money>, change| {
            own.or_else(|| usual.map(|usual| with(None, usual, change)))
        };
        Some(Rates {
            audio_input: may(self.audio_input, usual.audio_input, inputs),
            audio_output: may(self.audio_output, usual.audio_output, outputs),
            cache_read: with(self.cache_read, usual.cache_read, inputs),
            cache_write: with(self.cache_write, usual.cache_write, inputs),
            cache_write_long: may(self.cache_write_long, usual.cache_write_long, inputs),
            image_input: may(self.image_input, usual.image_input, inputs),
            image_output: may(self.image_output, usual.image_output, outputs),
            input,
            output,
        })
    }

    fn rates(&self) -> Option<Rates> {
        self.rates_beside(&Rates::new(self.input?, self.output?))
    }
}

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
        let amount = || form::of(ValueForm::Amount, rate);
        let mut written = WrittenRates::default();
        form::keys! { table over written;
            audio_input: amount(), "What a million input tokens of audio cost";
            audio_output: amount(), "What a million output tokens of audio cost";
            cache_read: amount(), "What a million input tokens cost that are read from a cache";
            cache_write: amount(), "What a million input tokens cost that are written to a cache";
            cache_write_long: amount(), "What a million input tokens cost that are written to a cache for longer than by default";
            image_input: amount(), "What a million input tokens of images cost";
            image_output: amount(), "What a million output tokens of images cost";
            input: amount(), "What a million input tokens cost";
            output: amount(), "What a million output tokens cost";
        }
        form::keys! { let table;
            date: form::filled("2026-11-01"), "The day on which the price was read";
            source: form::filled("https://prices.example"), "Where the price was read";
            variants: form::of(ValueForm::PriceVariants, variants), "What longer requests and other service tiers cost";
        }
        table.finish();
        let Some(rates) = written.rates() else {
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
        let variants = variants.map(|(variants, _)| variants).unwrap_or_default();
        let variants = variants.into_iter().filter_map(|variant| {
            let rates = variant.written.rates_beside(&rates)?;
            Some(PriceVariant {
                above: variant.above,
                rates,
                tier: variant.tier,
            })
        });
        let variants = variants.collect();
        let listed = PriceEntry {
            date: date.map_or_else(|| UNDATED.into(), |(date, _)| date),
            place,
            rates,
            source: source.map_or_else(|| OWN.into(), |(source, _)| source),
            variants,
        };
        prices.insert(model, listed);
    }
}

/// A rate that changes as another one does.
fn changed(rate: Money, from: Money, to: Money) -> Money {
    match from.as_picos() {
        0 => to,
        from => rate.in_ratio(to.as_picos(), from),
    }
}

/// Parses what longer requests and other tiers cost.
fn variants(value: &DeValue<'_>) -> Result<Vec<WrittenVariant>, String> {
    let items = value.as_array();
    let items = items.ok_or_else(|| "this must be a list of tables".to_owned())?;
    let mut variants: Vec<WrittenVariant> = Vec::new();
    for item in items.iter() {
        let variant = variant(item.get_ref())?;
        let is_same = |one: &WrittenVariant| (one.above, one.tier) == (variant.above, variant.tier);
        if variants.iter().any(is_same) {
            return Err("two variants hold for the same requests".to_owned());
        }
        variants.push(variant);
    }
    Ok(variants)
}

fn variant(value: &DeValue<'_>) -> Result<WrittenVariant, String> {
    let table = value.as_table();
    let table = table.ok_or_else(|| "a variant must be a table".to_owned())?;
    let (mut above, mut tier, mut written) = (0, None, WrittenRates::default());
    for (key, value) in table {
        let (key, value) = (key.get_ref().as_ref(), value.get_ref());
        let set = |slot: &mut Option<Money>| rate(value).map(|rate| *slot = rate);
        let read = match key {
            "above" => whole(value).map(|tokens| above = tokens),
            "audio_input" => set(&mut written.audio_input),
            "audio_output" => set(&mut written.audio_output),
            "cache_read" => set(&mut written.cache_read),
            "cache_write" => set(&mut written.cache_write),
            "cache_write_long" => set(&mut written.cache_write_long),
            "image_input" => set(&mut written.image_input),
            "image_output" => set(&mut written.image_output),
            "input" => set(&mut written.input),
            "output" => set(&mut written.output),
            "tier" => filled(value).and_then(|name| {
                tier = Some(tier_of(&name)?);
                Ok(())
            }),
            _ => Err("a variant has no such key: it has `above`, `tier` and rates".to_owned()),
        };
        read.map_err(|why| format!("`{key}`: {why}"))?;
    }
    if above == 0 && tier.is_none() {
        return Err(
            "a variant has `above`, `tier` or both: without them, its rates are those of the price"
                .to_owned(),
        );
    }
    if written.input.is_none() || written.output.is_none() {
        return Err("a variant has `input` and `output`".to_owned());
    }
    Ok(WrittenVariant {
        above,
        tier,
        written,
    })
}

fn tier_of(name: &str) -> Result<ServiceTier, String> {
    let known = || {
        ServiceTier::NAMES
            .iter()
            .filter(|(_, tier)| *tier != ServiceTier::Other)
    };
    let found = known().find(|(known, _)| *known == name);
    found.map(|(_, tier)| *tier).ok_or_else(|| {
        let names: Vec<&str> = known().map(|(name, _)| *name).collect();
        format!("there is no tier `{name}`: there are {}", names.join(", "))
    })
}

/// Converts an amount per million tokens to one per token.
fn rate(value: &DeValue<'_>) -> Result<Option<Money>, String> {
    let amount = money(value)?;
    let picos = amount.as_picos();
    if picos.is_multiple_of(MILLION) {
        Ok(Some(Money::from_picos(picos / MILLION)))
    } else {
        Err(format!("{amount} has more than six decimals"))
    }
}

/// The currency of the vendors' lists.
pub(crate) const CURRENCY: &str = "USD";

const MILLION: u64 = 1_000_000;
/// The default source of a price in a file.
const OWN: &str = "configuration";
/// The default date of a price in a file.
const UNDATED: &str = "undated";
