//! Prices of models, and the cost of a usage: exact, in integers, with each token priced once.

use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::money::{InvalidMoney, Money};
use crate::request::ModelRef;
use crate::usage::Usage;

/// The prices of a model, per token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Price {
    /// An input token that was read from a cache.
    pub cache_read: Money,
    /// An input token that was written to a cache.
    pub cache_write: Money,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The day on which the price was read from its source, such as `2026-11-01`.
    pub date: Arc<str>,
    /// Any other input token.
    pub input: Money,
    /// An output token, reasoning included.
    pub output: Money,
    /// The source: a URL or a name.
    pub source: Arc<str>,
}

impl Price {
    /// The cost of this usage. Each token is priced once: cached input is not also priced as fresh.
    ///
    /// If a server reports more cached tokens than input tokens, only the cached tokens are priced.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        self.input.times(usage.input.saturating_sub(cached))
            + self.cache_read.times(usage.cache_read)
            + self.cache_write.times(usage.cache_write)
            + self.output.times(usage.output)
    }

    /// The cost with its currency and its estimated part. Estimated tokens are never cached.
    #[must_use]
    pub fn bill(&self, usage: &Usage) -> Cost {
        Cost {
            amount: self.cost(usage),
            currency: Arc::clone(&self.currency),
            estimated: self.input.times(usage.estimated_input)
                + self.output.times(usage.estimated_output),
        }
    }

    /// The maximum cost of this many tokens: input at its highest price, that of a cache write if it is higher.
    #[must_use]
    pub fn reserve(&self, input: u64, output: u64) -> Money {
        self.input.max(self.cache_write).times(input) + self.output.times(output)
    }
}

/// The cost of a usage: by the price of its model, or else what the provider itself says; `None` if neither is known.
#[must_use]
pub fn cost_of(usage: &Usage, price: Option<&Price>) -> Option<Cost> {
    match (price, usage.billed) {
        (Some(price), _) => Some(price.bill(usage)),
        (None, Some(amount)) => Some(Cost {
            amount,
            currency: BILLED_IN.into(),
            estimated: Money::ZERO,
        }),
        (None, None) => None,
    }
}

/// A cost.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cost {
    /// The amount, including the estimated part.
    pub amount: Money,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The estimated part of the amount.
    pub estimated: Money,
}

/// The known prices, by provider and model.
///
/// The name [`PriceList::ANY`] applies to all models of a provider without a price of their own.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PriceList(BTreeMap<Arc<str>, BTreeMap<Arc<str>, Price>>);

impl PriceList {
    /// The model name that applies to all models of a provider without a price of their own.
    pub const ANY: &str = "*";

    /// Sets the price of a model; replaces an earlier one.
    pub fn set(&mut self, provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>, price: Price) {
        let models = self.0.entry(provider.into()).or_default();
        models.insert(model.into(), price);
    }

    /// The price of a model, if known. An unknown price is not zero.
    #[must_use]
    pub fn get(&self, model: &ModelRef) -> Option<&Price> {
        let models = self.0.get(&model.provider)?;
        models.get(&model.model).or_else(|| models.get(Self::ANY))
    }

    /// All prices: provider, model, price.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Price)> {
        self.0.iter().flat_map(|(provider, models)| {
            models
                .iter()
                .map(|(model, price)| (&**provider, &**model, price))
        })
    }
}

/// The currency of what providers say themselves.
const BILLED_IN: &str = "USD";
