//! A price of which a file says some rates, and what the others follow from.

use std::collections::BTreeMap;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates, ServiceTier};

use crate::line::CURRENCY;

/// What a rate is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    CacheWriteLong,
    AudioInput,
    AudioOutput,
    ImageInput,
    ImageOutput,
}

type Units = [Option<Money>; 9];

/// The rates that a file says, by tier and threshold.
#[derive(Debug, Default)]
pub(super) struct PartialPrice(BTreeMap<(Option<ServiceTier>, u64), Units>);

impl PartialPrice {
    pub(super) fn set(&mut self, tier: Option<ServiceTier>, above: u64, unit: Unit, rate: Money) {
        let units = self.0.entry((tier, above)).or_default();
        if let Some(slot) = units.get_mut(unit as usize) {
            *slot = Some(rate);
        }
    }

    /// Takes the rates of another one in place of its own.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn get(&self, unit: Unit) -> Option<Money> {
        let usual = self.0.get(&(None, 0))?;
        usual.get(unit as usize).copied().flatten()
    }

    /// All rates of a kind times a factor, in thousandths, as those of a tier; a rate that is there stays.
    pub(super) fn multiply(&mut self, tier: ServiceTier, thousandths: u64) {
        let usual: Vec<(u64, Units)> = self.usual().collect();
        for (above, units) in usual {
            let scaled = units.map(|rate| rate.map(|rate| rate.in_ratio(thousandths, 1000)));
            let own = self.0.entry((Some(tier), above)).or_default();
            for (slot, rate) in own.iter_mut().zip(scaled) {
                *slot = slot.or(rate);
            }
        }
    }

    /// The whole price; `None` if it says nothing for tokens of input and output.
    ///
    /// Above a threshold, and in a tier, a rate that is not said changes as much as that of input, or of output. A tier
    /// for which input or output is not said is left out.
    pub(super) fn price(&self) -> Option<Price> {
        let base = *self.0.get(&(None, 0))?;
        let mut usual = BTreeMap::from([(0, base)]);
        for (above, own) in self.usual().filter(|(above, _)| *above > 0) {
            usual.insert(above, completed(&own, &base, &base));
        }
        let mut variants = Vec::new();
        // Some files repeat the usual rates above a threshold.
        if usual.values().all(|units| rates(units) == rates(&base)) {
            usual.retain(|above, _| *above == 0);
        }
        for (above, units) in usual.iter().filter(|(above, _)| **above > 0) {
            variants.push(variant(None, *above, units)?);
        }
        for (_, tier) in ServiceTier::NAMES {
            let tier = Some(*tier);
            let Some(own) = self.0.get(&(tier, 0)) else {
                continue;
            };
            let [Some(_), Some(_), ..] = own else {
                continue;
            };
            variants.push(variant(tier, 0, &completed(own, &base, own))?);
            for (above, units) in usual.iter().filter(|(above, _)| **above > 0) {
                let long = self.0.get(&(tier, *above)).copied().unwrap_or_default();
                // What a longer request changes in the usual tier, it changes in this one.
                let ratios = completed(&long, units, &relative(own, &base, units));
                variants.push(variant(tier, *above, &ratios)?);
            }
        }
        Some(Price {
            currency: CURRENCY.into(),
            date: "".into(),
            rates: rates(&base)?,
            source: "".into(),
            variants,
        })
    }

    fn usual(&self) -> impl Iterator<Item = (u64, Units)> {
        let usual = self.0.iter().filter(|((tier, _), _)| tier.is_none());
        usual.map(|((_, above), units)| (*above, *units))
    }
}

/// The units that are there, and those of `base` in the ratio of input, or of output, of `anchor` to `base`.
fn completed(own: &Units, base: &Units, anchor: &Units) -> Units {
    let mut whole = *own;
    for (place, slot) in whole.iter_mut().enumerate() {
        let lead = usize::from(OUTPUTS.contains(&place));
        let rate = base.get(place).copied().flatten();
        let before = base.get(lead).copied().flatten();
        let after = own.get(lead).copied().flatten();
        let after = after.or_else(|| anchor.get(lead).copied().flatten());
        *slot = slot.or_else(|| {
            let (rate, before, after) = (rate?, before?, after.or(before)?);
            Some(match before.as_picos() {
                0 => rate,
                before => rate.in_ratio(after.as_picos(), before),
            })
        });
    }
    whole
}

/// Input and output of a tier for long requests: those of `long` in the ratio of `own` to `base`.
fn relative(own: &Units, base: &Units, long: &Units) -> Units {
    let mut anchor = Units::default();
    for (place, slot) in anchor.iter_mut().enumerate().take(2) {
        let pick = |units: &Units| units.get(place).copied().flatten();
        *slot = pick(long).and_then(|rate| {
            let (own, base) = (pick(own)?.as_picos(), pick(base)?.as_picos());
            Some(if base == 0 {
                rate
            } else {
                rate.in_ratio(own, base)
            })
        });
    }
    anchor
}

fn variant(tier: Option<ServiceTier>, above: u64, units: &Units) -> Option<PriceVariant> {
    let rates = rates(units)?;
    Some(PriceVariant { above, rates, tier })
}

fn rates(units: &Units) -> Option<Rates> {
    let [
        input,
        output,
        read,
        write,
        long,
        audio_input,
        audio_output,
        image_input,
        image_output,
    ] = *units;
    let (input, output) = (input?, output?);
    let other = |rate: Option<Money>, usual| rate.filter(|rate| *rate != usual);
    Some(Rates {
        audio_input: other(audio_input, input),
        audio_output: other(audio_output, output),
        cache_read: read.unwrap_or(input),
        cache_write: write.unwrap_or(input),
        cache_write_long: long,
        image_input: other(image_input, input),
        image_output: other(image_output, output),
        ..Rates::new(input, output)
    })
}

/// The places of output among the units.
const OUTPUTS: [usize; 3] = [
    Unit::Output as usize,
    Unit::AudioOutput as usize,
    Unit::ImageOutput as usize,
];
