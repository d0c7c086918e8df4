//! The line of a model in a catalogue.
//!
//! `KIND/MODEL SOURCE RATES VARIANT... until=DAY`, as in `claude/a B 0.1/0.5/0.01/0.125/0.2 >100000=0.5/2.5 batch*0.5`.
//! Rates are US dollars per million tokens: input, output, cache read, cache write, longer cache write; what is empty or
//! missing costs as much as input. `+audio:` and `+image:` follow, each with input and output. A variant has the tier,
//! and the input tokens above which it holds; `TIER*FACTOR` is all usual rates times a factor.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates, ServiceTier};

/// A model with its list price.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listing {
    /// The kind of provider and the model, as in `claude/claude-opus-5-5`.
    pub name: Arc<str>,
    /// The price, in US dollars.
    pub price: Price,
    /// The day on which the vendor retires the model, such as `2027-02-15`, if it is known.
    pub retires: Option<Arc<str>>,
}

/// Writes the line of a listing, whose source has this letter.
#[must_use]
pub(crate) fn write(listing: &Listing, source: char) -> String {
    let price = &listing.price;
    let mut line = format!("{} {source} {}", listing.name, rates_text(&price.rates));
    let usual = by_threshold(price, None);
    for (above, rates) in usual.iter().filter(|(above, _)| **above > 0) {
        let _infallible = write!(line, " >{above}={}", rates_text(rates));
    }
    for (name, tier) in ServiceTier::NAMES {
        let own = by_threshold(price, Some(*tier));
        if own.is_empty() {
            continue;
        }
        if let Some(factor) = factor_between(&usual, &own) {
            let _infallible = write!(line, " {name}*{}", thousandths_text(factor));
            continue;
        }
        for (above, rates) in &own {
            let over = if *above > 0 {
                format!(">{above}")
            } else {
                String::new()
            };
            let _infallible = write!(line, " {name}{over}={}", rates_text(rates));
        }
    }
    if let Some(day) = &listing.retires {
        let _infallible = write!(line, " until={day}");
    }
    line
}

/// Reads a line; `origin` gives the day and the source of a letter. `None` if it is no line of this form.
pub(crate) fn read(
    line: &str,
    origin: impl Fn(&str) -> Option<(Arc<str>, Arc<str>)>,
) -> Option<Listing> {
    let mut fields = line.split(' ');
    let name = fields.next().filter(|name| name.contains('/'))?;
    let (date, source) = origin(fields.next()?)?;
    let rates = read_rates(fields.next()?)?;
    let (mut retires, mut variants, mut factors) = (None, Vec::new(), Vec::new());
    for field in fields {
        if let Some(day) = field.strip_prefix("until=") {
            retires = Some(is_day(day).then(|| day.into())?);
        } else if let Some((condition, text)) = field.split_once('=') {
            let (tier, above) = condition.split_once('>').unwrap_or((condition, "0"));
            let tier = match tier {
                "" => None,
                tier => Some(tier_of(tier)?),
            };
            let (above, rates) = (above.parse().ok()?, read_rates(text)?);
            variants.push(PriceVariant { above, rates, tier });
        } else {
            let (tier, factor) = field.split_once('*')?;
            factors.push((tier_of(tier)?, read_thousandths(factor)?));
        }
    }
    let mut price = Price {
        currency: CURRENCY.into(),
        date,
        rates,
        source,
        variants,
    };
    let usual = by_threshold(&price, None);
    for (tier, factor) in factors {
        for (above, rates) in &usual {
            price.variants.push(PriceVariant {
                above: *above,
                rates: scaled(rates, factor)?,
                tier: Some(tier),
            });
        }
    }
    Some(Listing {
        name: name.into(),
        price,
        retires,
    })
}

fn tier_of(name: &str) -> Option<ServiceTier> {
    let mut tiers = ServiceTier::NAMES.iter();
    tiers
        .find(|(known, _)| *known == name)
        .map(|(_, tier)| *tier)
}

/// The rates of a tier by threshold; those of the usual one begin with 0.
pub(crate) fn by_threshold(price: &Price, tier: Option<ServiceTier>) -> BTreeMap<u64, Rates> {
    let usual = tier.is_none().then(|| (0, price.rates.clone()));
    let own = price.variants.iter().filter(|one| one.tier == tier);
    let own = own.map(|one| (one.above, one.rates.clone()));
    usual.into_iter().chain(own).collect()
}

/// Whether a text has the form of a day, `YYYY-MM-DD`.
pub(crate) fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            0..=3 | 5 | 6 | 8.. => byte.is_ascii_digit(),
        })
}

/// What all rates of a tier are of the usual ones, in thousandths.
fn factor_between(usual: &BTreeMap<u64, Rates>, own: &BTreeMap<u64, Rates>) -> Option<u64> {
    let (base, first) = (usual.get(&0)?, own.get(&0)?);
    let thousandths = first.input.as_picos().checked_mul(1000)?;
    let factor = thousandths.checked_div(base.input.as_picos())?;
    let all: Option<BTreeMap<u64, Rates>> = usual
        .iter()
        .map(|(above, rates)| Some((*above, scaled(rates, factor)?)))
        .collect();
    (all.as_ref() == Some(own)).then_some(factor)
}

/// Rates times thousandths; `None` if one of them is not exact.
fn scaled(rates: &Rates, thousandths: u64) -> Option<Rates> {
    let scale = |rate: Money| {
        let picos = rate.as_picos().checked_mul(thousandths)?;
        picos
            .is_multiple_of(1000)
            .then(|| Money::from_picos(picos / 1000))
    };
    let maybe = |rate: Option<Money>| rate.map_or(Some(None), |rate| scale(rate).map(Some));
    Some(Rates {
        audio_input: maybe(rates.audio_input)?,
        audio_output: maybe(rates.audio_output)?,
        cache_read: scale(rates.cache_read)?,
        cache_write: scale(rates.cache_write)?,
        cache_write_long: maybe(rates.cache_write_long)?,
        image_input: maybe(rates.image_input)?,
        image_output: maybe(rates.image_output)?,
        input: scale(rates.input)?,
        output: scale(rates.output)?,
    })
}

fn rates_text(rates: &Rates) -> String {
    let or_input = |rate: Money| (rate != rates.input).then_some(rate);
    let parts = [
        Some(rates.input),
        Some(rates.output),
        or_input(rates.cache_read),
        or_input(rates.cache_write),
        rates.cache_write_long,
    ];
    let mut text = parts.map(rate_text).join("/");
    text.truncate(text.trim_end_matches('/').len());
    for (name, input, output) in [
        ("+audio:", rates.audio_input, rates.audio_output),
        ("+image:", rates.image_input, rates.image_output),
    ] {
        if input.or(output).is_some() {
            text = text + name + &rate_text(input) + "/" + &rate_text(output);
        }
    }
    text
}

fn rate_text(rate: Option<Money>) -> String {
    rate.map_or_else(String::new, |rate| rate.times(MILLION).to_string())
}

fn read_rates(text: &str) -> Option<Rates> {
    let mut parts = text.split('+');
    let mut usual = parts.next()?.split('/').map(read_rate);
    let mut next = || usual.next().unwrap_or(Some(None));
    let (input, output) = (next()??, next()??);
    let (cache_read, cache_write, cache_write_long) = (next()?, next()?, next()?);
    if usual.next().is_some() {
        return None;
    }
    let mut rates = Rates {
        cache_read: cache_read.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
        cache_write_long,
        ..Rates::new(input, output)
    };
    for part in parts {
        let (name, pair) = part.split_once(':')?;
        let (input, output) = pair.split_once('/')?;
        let (input, output) = (read_rate(input)?, read_rate(output)?);
        match name {
            "audio" => (rates.audio_input, rates.audio_output) = (input, output),
            "image" => (rates.image_input, rates.image_output) = (input, output),
            _ => return None,
        }
    }
    Some(rates)
}

/// A rate for a million tokens; the inner `None` is an empty one.
fn read_rate(text: &str) -> Option<Option<Money>> {
    if text.is_empty() {
        return Some(None);
    }
    let picos = Money::parse(text).ok()?.as_picos();
    let whole = picos.is_multiple_of(MILLION);
    whole.then(|| Some(Money::from_picos(picos / MILLION)))
}

fn thousandths_text(factor: u64) -> String {
    Money::from_picos(factor * THOUSANDTH).to_string()
}

fn read_thousandths(text: &str) -> Option<u64> {
    let picos = Money::parse(text).ok()?.as_picos();
    picos
        .is_multiple_of(THOUSANDTH)
        .then_some(picos / THOUSANDTH)
}

/// The currency of all catalogues.
pub(crate) const CURRENCY: &str = "USD";
const MILLION: u64 = 1_000_000;
/// A thousandth, as an amount of money has it.
const THOUSANDTH: u64 = 1_000_000_000;
