//! Makes a catalogue of the files of others.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates};

use crate::catalogue::{Catalogue, InvalidCatalogue};
use crate::kinds;
use crate::line::{self, Listing, by_threshold};
use crate::source::{PriceFile, Source, SourceModel};

/// A catalogue that was made, and on which models its sources differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Merged {
    /// The catalogue.
    pub catalogue: Catalogue,
    /// The models on which the sources, or two entries of LiteLLM's, differ.
    pub differences: Vec<Difference>,
    /// Models whose price of nothing was not believed.
    pub free: Vec<Arc<str>>,
}

/// A model on which the sources, or two entries of LiteLLM's with its name, differ.
///
/// Of two entries the higher price is taken. Of two sources LiteLLM's is, as its file changes each day; but the higher
/// one if LiteLLM's is nothing, or if it is Claude at Bedrock without a profile, which costs what a region does.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The kind of provider, and the model.
    pub name: Arc<str>,
    /// What is not taken: the source, and the rates in the form of a line.
    pub other: String,
    /// What is taken.
    pub taken: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, other, taken } = self;
        write!(f, "{name}: {taken} (taken), {other}")
    }
}

/// Makes a catalogue of one or two files, read on this day, and of a catalogue that wins over both.
///
/// # Errors
///
/// [`InvalidCatalogue`] if a name of a file has letters that a line cannot have.
pub fn merge(
    files: &[PriceFile],
    own: Option<&Catalogue>,
    day: &str,
) -> Result<Merged, InvalidCatalogue> {
    let mut merged: BTreeMap<Arc<str>, (Listing, char)> = BTreeMap::new();
    let (mut differences, mut free) = (Vec::new(), Vec::new());
    let of = |source| files.iter().filter(move |file| file.source == source);
    let genai: Vec<&SourceModel> = of(Source::GenaiPrices)
        .flat_map(|file| &file.models)
        .collect();
    let models = of(Source::LiteLlm).flat_map(|file| &file.models);
    for (name, named) in by_name(models, &mut differences) {
        let Named {
            kind,
            model,
            retires,
            short,
        } = named;
        let mut listing = Listing {
            name: Arc::clone(&name),
            price: model.price.clone(),
            retires,
        };
        let other = kinds::genai_provider(kind).and_then(|of| same_model(&genai, of, &short));
        let letter = match other {
            None => LITELLM,
            Some(other) if agree(&model.price, &other.price) => {
                add_missing(&mut listing.price, &other.price);
                BOTH
            }
            Some(other) => {
                let lite = format!("LiteLLM {}", usual_text(&model.price));
                let genai = format!("genai-prices {}", usual_text(&other.price));
                let is_regional = kind == "bedrock" && short.starts_with("anthropic.");
                let is_higher = height(&other.price)[0] > height(&model.price)[0];
                let (letter, taken, other) = if is_higher && (is_regional || is_free(&model.price))
                {
                    listing.price = with_variants(other.price.clone(), &model.price);
                    (GENAI, genai, lite)
                } else {
                    (LITELLM, lite, genai)
                };
                let name = Arc::clone(&name);
                differences.push(Difference { name, other, taken });
                letter
            }
        };
        merged.insert(name, (listing, letter));
    }
    for model in genai {
        let Some((kind, short)) = kinds::name_of(Source::GenaiPrices, model) else {
            continue;
        };
        let others = model.matches.names();
        let others = others
            .into_iter()
            .filter(|_| kind != "fireworks" && kind != "huggingface");
        let names = std::iter::once(short.as_str()).chain(others);
        let kinds = [Some(kind), (kind == "gemini").then_some("gemini-vertex")];
        for short in names {
            for kind in kinds.into_iter().flatten() {
                let name: Arc<str> = format!("{kind}/{short}").into();
                merged.entry(Arc::clone(&name)).or_insert_with(|| {
                    let listing = Listing {
                        name,
                        price: model.price.clone(),
                        retires: None,
                    };
                    (listing, GENAI)
                });
            }
        }
    }
    merged.retain(|name, (listing, letter)| {
        let is_free = is_free(&listing.price) && *letter != BOTH && !name.ends_with(":free");
        if is_free {
            free.push(Arc::clone(name));
        }
        !is_free
    });
    let mut text = head(files, day);
    let mut lines: BTreeMap<Arc<str>, String> = merged
        .into_iter()
        .map(|(name, (listing, letter))| (name, line::write(&listing, letter)))
        .collect();
    if let Some(own) = own {
        for line in own.text().lines() {
            match line.split_once(' ') {
                Some((name, _)) if !line.starts_with(['#', '@']) => {
                    lines.insert(name.into(), line.to_owned());
                }
                _ if line.starts_with('@') => text = text + line + "\n",
                _ => {}
            }
        }
    }
    for line in lines.values() {
        text = text + line + "\n";
    }
    Ok(Merged {
        catalogue: Catalogue::parse(text)?,
        differences,
        free,
    })
}

/// A model of LiteLLM's under the name that is asked for.
struct Named<'a> {
    kind: &'static str,
    model: &'a SourceModel,
    retires: Option<Arc<str>>,
    short: String,
}

/// The models of LiteLLM's by name; of several with one name, that with the higher price.
fn by_name<'a>(
    models: impl Iterator<Item = &'a SourceModel>,
    differences: &mut Vec<Difference>,
) -> BTreeMap<Arc<str>, Named<'a>> {
    let mut named: BTreeMap<Arc<str>, Named<'a>> = BTreeMap::new();
    for model in models {
        let Some((kind, short)) = kinds::name_of(Source::LiteLlm, model) else {
            continue;
        };
        let name: Arc<str> = format!("{kind}/{short}").into();
        let Some(known) = named.get_mut(&name) else {
            let retires = model.retires.clone();
            let one = Named {
                kind,
                model,
                retires,
                short,
            };
            named.insert(name, one);
            continue;
        };
        known.retires = known.retires.take().or_else(|| model.retires.clone());
        if known.model.price == model.price {
            continue;
        }
        let is_higher = height(&model.price) > height(&known.model.price);
        let (taken, other) = if is_higher {
            (model, known.model)
        } else {
            (known.model, model)
        };
        known.model = taken;
        let said = |of: &SourceModel| format!("LiteLLM {} ({})", text(&of.price), of.name);
        differences.push(Difference {
            name,
            other: said(other),
            taken: said(taken),
        });
    }
    named
}

/// How high a price is, to compare it with another one: its usual rates first, then those of long requests and tiers.
fn height(price: &Price) -> [u128; 3] {
    let sum =
        |rates: &Rates| u128::from(rates.input.as_picos()) + u128::from(rates.output.as_picos());
    let caches = [price.rates.cache_read, price.rates.cache_write];
    [
        sum(&price.rates),
        caches.iter().map(|rate| u128::from(rate.as_picos())).sum(),
        price.variants.iter().map(|one| sum(&one.rates)).sum(),
    ]
}

/// The model of genai-prices with this name.
fn same_model<'a>(
    models: &[&'a SourceModel],
    provider: &str,
    name: &str,
) -> Option<&'a SourceModel> {
    let name = name.to_ascii_lowercase();
    let own = || models.iter().filter(|model| &*model.provider == provider);
    let exact = own().find(|model| model.name.eq_ignore_ascii_case(&name));
    exact
        .or_else(|| own().find(|model| model.matches.is_match(&name)))
        .copied()
}

/// Whether two prices have the same usual rates for input, output and cache reads, also of long requests.
fn agree(one: &Price, other: &Price) -> bool {
    let rates = |price: &Price| {
        let usual = by_threshold(price, None);
        let usual = usual.into_iter();
        usual
            .map(|(above, rates)| (above, rates.input, rates.output, rates.cache_read))
            .collect::<Vec<_>>()
    };
    rates(one) == rates(other)
}

/// Adds what only the other source says: tiers, and cache writes.
fn add_missing(price: &mut Price, other: &Price) {
    let known: Vec<_> = price.variants.iter().map(|one| one.tier).collect();
    let more = other
        .variants
        .iter()
        .filter(|one| !known.contains(&one.tier));
    price
        .variants
        .extend(more.filter(|one| one.tier.is_some()).cloned());
    let (mine, theirs) = (by_threshold(price, None), by_threshold(other, None));
    let usual: BTreeMap<u64, Rates> = mine
        .into_iter()
        .map(|(above, rates)| {
            let rates = match theirs.get(&above) {
                Some(other) => with_writes(rates, other),
                None => rates,
            };
            (above, rates)
        })
        .collect();
    for variant in &mut price.variants {
        if let Some(usual) = usual.get(&variant.above) {
            variant.rates = with_writes(variant.rates.clone(), usual);
        }
    }
    price.rates = with_writes(price.rates.clone(), &other.rates);
}

/// A price with the variants that only the other one has, as much higher as its input is.
fn with_variants(mut price: Price, other: &Price) -> Price {
    let (part, whole) = (price.rates.input.as_picos(), other.rates.input.as_picos());
    let scaled = |rate: Money| rate.in_ratio(part, whole);
    for variant in other.variants.iter().filter(|_| whole > 0) {
        let of = |one: &PriceVariant| (one.tier, one.above);
        if price.variants.iter().any(|one| of(one) == of(variant)) {
            continue;
        }
        let mut variant = variant.clone();
        let rates = &mut variant.rates;
        for rate in [
            &mut rates.input,
            &mut rates.output,
            &mut rates.cache_read,
            &mut rates.cache_write,
        ] {
            *rate = scaled(*rate);
        }
        for rate in [
            &mut rates.audio_input,
            &mut rates.audio_output,
            &mut rates.cache_write_long,
            &mut rates.image_input,
            &mut rates.image_output,
        ] {
            *rate = rate.map(scaled);
        }
        price.variants.push(variant);
    }
    price
}

/// Rates with the cache writes of others, in the ratio of input, where they have none of their own.
fn with_writes(mut rates: Rates, other: &Rates) -> Rates {
    let (own, theirs) = (rates.input.as_picos(), other.input.as_picos());
    let scaled = |rate: Money| rate.in_ratio(own, theirs);
    if rates.cache_write == rates.input {
        rates.cache_write = scaled(other.cache_write);
    }
    let long = other.cache_write_long.map(scaled);
    rates.cache_write_long = rates.cache_write_long.or(long);
    rates
}

fn is_free(price: &Price) -> bool {
    price.rates.input == Money::ZERO && price.rates.output == Money::ZERO
}

/// The usual rates, as a line has them.
fn usual_text(price: &Price) -> String {
    let usual = price.variants.iter().filter(|one| one.tier.is_none());
    text(&Price {
        variants: usual.cloned().collect(),
        ..price.clone()
    })
}

/// A price, as a line has it.
fn text(price: &Price) -> String {
    let listing = Listing {
        name: "".into(),
        price: price.clone(),
        retires: None,
    };
    let line = line::write(&listing, BOTH);
    line.trim_start_matches([' ', BOTH]).to_owned()
}

fn head(files: &[PriceFile], day: &str) -> String {
    let (mut text, mut sources) = (HEAD.to_owned(), Vec::new());
    for (letter, source, place, licence) in [
        (LITELLM, Source::LiteLlm, LITELLM_PLACE, LITELLM_LICENCE),
        (GENAI, Source::GenaiPrices, GENAI_PLACE, GENAI_LICENCE),
    ] {
        if files.iter().any(|file| file.source == source) {
            text = text + "# " + place + ": " + licence + "\n";
            sources.push((letter, place));
        }
    }
    if let [(_, one), (_, two)] = &sources[..] {
        text = format!("{text}@{BOTH} {day} {one} and {two}\n");
    }
    for (letter, place) in sources {
        text = format!("{text}@{letter} {day} {place}\n");
    }
    text
}

const BOTH: char = 'B';
const GENAI: char = 'G';
const LITELLM: char = 'L';
const GENAI_PLACE: &str = "https://github.com/pydantic/genai-prices";
const LITELLM_PLACE: &str = "https://github.com/BerriAI/litellm";
const GENAI_LICENCE: &str = "MIT, Copyright (c) Pydantic Services Inc. 2025 to present";
const LITELLM_LICENCE: &str = "MIT, Copyright (c) 2023 Berri AI";
const HEAD: &str = "\
# What models cost, in US dollars for a million tokens: a line for each, in the order of names.
# KIND/MODEL SOURCE INPUT/OUTPUT/CACHE_READ/CACHE_WRITE/LONGER_CACHE_WRITE; what is missing costs as much as input.
# >TOKENS=... is for requests with more input, TIER=... for a service tier, TIER*FACTOR all of the usual rates times that.
# until=DAY is the day on which the vendor retires the model. SOURCE is one of the letters below, each with a day.
# Made by `cargo xtask prices` or `jackfield prices import`; not to be changed by hand.
";
