//! Prices, for people and for programs.

use std::io::{self, Write};
use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates};
use jackfield_domain::time::WallTime;
use serde_json::{Map, Value, json};

use crate::render::plain::{DIM, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// A price to show.
#[derive(Clone, Debug)]
pub struct ShownPrice {
    /// The model.
    pub model: String,
    /// What it costs.
    pub price: Price,
    /// The day on which its vendor retires it.
    pub retires: Option<Arc<str>>,
    /// Where the price stands.
    pub said: String,
}

/// Prints a line for each model.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list(out: &mut impl Write, prices: &[ShownPrice], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &prices.iter().map(price_json).collect());
    }
    for shown in prices {
        let model = words::one_line(&shown.model);
        let Price {
            currency,
            rates,
            variants,
            ..
        } = &shown.price;
        let more = if variants.is_empty() {
            ""
        } else {
            " · and more"
        };
        let retires = shown.retires.as_ref();
        let retires =
            retires.map_or_else(String::new, |day| format!("  {WARM}until {day}{WARM:#}"));
        writeln!(
            out,
            "{NAME}{model}{NAME:#}  {} {} in, {} out{DIM}{more}{DIM:#}{retires}",
            million(rates.input),
            words::one_line(currency),
            million(rates.output)
        )?;
    }
    writeln!(
        out,
        "{DIM}for a million tokens each; `jackfield prices show MODEL` says more{DIM:#}"
    )?;
    out.flush()
}

/// The verb for a model that its vendor retires on this day.
pub(crate) fn retires(day: &str, now: WallTime) -> &'static str {
    let today = now.to_rfc3339();
    // Days of this form are in the order of their texts.
    let is_past = today.get(..day.len()).is_some_and(|today| *day < *today);
    if is_past { "retired" } else { "retires" }
}

/// Prints all of a price.
///
/// # Errors
///
/// The stream cannot be written.
pub fn one(
    out: &mut impl Write,
    shown: &ShownPrice,
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &price_json(shown));
    }
    let price = &shown.price;
    writeln!(out, "{NAME}{}{NAME:#}", words::one_line(&shown.model))?;
    writeln!(out, "  {}", rates_text(&price.rates, &price.currency))?;
    for variant in &price.variants {
        let condition = condition(variant);
        writeln!(
            out,
            "  {condition}: {}",
            rates_text(&variant.rates, &price.currency)
        )?;
    }
    if let Some(day) = &shown.retires {
        let verb = retires(day, now);
        writeln!(out, "  {WARM}its vendor {verb} it on {day}{WARM:#}")?;
    }
    let (date, source) = (words::one_line(&price.date), words::one_line(&price.source));
    writeln!(out, "  {DIM}{date} · {source}{DIM:#}")?;
    writeln!(
        out,
        "  {DIM}said by {}{DIM:#}",
        words::one_line(&shown.said)
    )?;
    writeln!(out, "{DIM}for a million tokens each{DIM:#}")?;
    out.flush()
}

fn condition(variant: &PriceVariant) -> String {
    let tier = variant.tier.map(|tier| format!("tier {}", tier.as_str()));
    let above = (variant.above > 0).then(|| format!("above {} tokens in", variant.above));
    let parts: Vec<String> = tier.into_iter().chain(above).collect();
    parts.join(", ")
}

fn rates_text(rates: &Rates, currency: &str) -> String {
    let mut text = format!(
        "{} {} in, {} out · cache: {} read, {} written",
        million(rates.input),
        words::one_line(currency),
        million(rates.output),
        million(rates.cache_read),
        million(rates.cache_write)
    );
    for (name, rate) in further(rates) {
        if let Some(rate) = rate {
            text = text + " · " + &name.replace('_', " ") + ": " + &million(rate);
        }
    }
    text
}

/// The rates that only some models have.
fn further(rates: &Rates) -> [(&'static str, Option<Money>); 5] {
    [
        ("cache_write_long", rates.cache_write_long),
        ("audio_input", rates.audio_input),
        ("audio_output", rates.audio_output),
        ("image_input", rates.image_input),
        ("image_output", rates.image_output),
    ]
}

fn price_json(shown: &ShownPrice) -> Value {
    let price = &shown.price;
    let mut json = rates_json(&price.rates);
    let variants = price.variants.iter().map(|variant| {
        let mut json = rates_json(&variant.rates);
        json.insert("above".to_owned(), variant.above.into());
        let tier = variant.tier.map(|tier| tier.as_str());
        json.insert("tier".to_owned(), tier.into());
        Value::Object(json)
    });
    let variants: Vec<Value> = variants.collect();
    for (key, value) in [
        ("model", json!(shown.model)),
        ("currency", json!(price.currency)),
        ("date", json!(price.date)),
        ("retires", json!(shown.retires)),
        ("said", json!(shown.said)),
        ("source", json!(price.source)),
        ("variants", variants.into()),
    ] {
        json.insert(key.to_owned(), value);
    }
    json.into()
}

fn rates_json(rates: &Rates) -> Map<String, Value> {
    let usual = [
        ("input", Some(rates.input)),
        ("output", Some(rates.output)),
        ("cache_read", Some(rates.cache_read)),
        ("cache_write", Some(rates.cache_write)),
    ];
    let all = usual.into_iter().chain(further(rates));
    all.filter_map(|(name, rate)| Some((name.to_owned(), million(rate?).into())))
        .collect()
}

fn million(per_token: Money) -> String {
    per_token.times(1_000_000).to_string()
}
