//! The known prices, by provider and model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Price;
use crate::request::ModelRef;

/// Prices that are looked up when they are asked for.
pub trait ListPrices: fmt::Debug + Send + Sync {
    /// The price of a model, if known.
    fn price(&self, model: &ModelRef) -> Option<Price>;
}

/// The known prices: own ones, over those of a list.
///
/// The name [`PriceList::ANY`] applies to all models of a provider without a price of their own.
#[derive(Clone, Debug, Default)]
pub struct PriceList {
    list: Option<Arc<dyn ListPrices>>,
    own: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Price>>,
}

impl PriceList {
    /// The model name that applies to all models of a provider without a price of their own.
    pub const ANY: &str = "*";

    /// The prices of a list alone.
    #[must_use]
    pub fn of(list: Arc<dyn ListPrices>) -> Self {
        Self {
            list: Some(list),
            own: BTreeMap::new(),
        }
    }

    /// Sets the own price of a model; replaces an earlier one.
    pub fn set(&mut self, provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>, price: Price) {
        let models = self.own.entry(provider.into()).or_default();
        models.insert(model.into(), price);
    }

    /// The price of a model, if known. An unknown price is not zero.
    #[must_use]
    pub fn get(&self, model: &ModelRef) -> Option<Price> {
        let own = self.own.get(&model.provider);
        let own = own.and_then(|models| models.get(&model.model).or_else(|| models.get(Self::ANY)));
        own.cloned().or_else(|| self.list.as_ref()?.price(model))
    }
}
