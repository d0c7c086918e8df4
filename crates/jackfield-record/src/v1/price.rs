//! Forms of prices.

use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates, ServiceTier};
use serde::{Deserialize, Serialize};

use super::stored::{Invalid, Stored};

/// A price. Its usual rates stand beside its other fields, as they did when they were all that it had.
#[derive(Deserialize, Serialize)]
pub(crate) struct PriceForm {
    currency: Arc<str>,
    date: Arc<str>,
    #[serde(flatten)]
    rates: RatesForm,
    source: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    variants: Vec<PriceVariantForm>,
}

impl Stored for Price {
    type Form = PriceForm;

    fn form(&self) -> PriceForm {
        PriceForm {
            currency: Arc::clone(&self.currency),
            date: Arc::clone(&self.date),
            rates: self.rates.form(),
            source: Arc::clone(&self.source),
            variants: self.variants.form(),
        }
    }

    fn of(form: PriceForm) -> Result<Self, Invalid> {
        Ok(Self {
            currency: form.currency,
            date: form.date,
            rates: Stored::of(form.rates)?,
            source: form.source,
            variants: Stored::of(form.variants)?,
        })
    }
}

stored_struct! { PriceVariant as PriceVariantForm { rates: Rates; maybe tier: ServiceTier; zero above } }

stored_struct! { Rates as RatesForm {
    cache_read: Money, cache_write: Money, input: Money, output: Money;
    maybe
        audio_input: Money,
        audio_output: Money,
        cache_write_long: Money,
        image_input: Money,
        image_output: Money
} }

stored_enum! { ServiceTier as ServiceTierForm { Batch, Fast, Flex, Other, Priority, Ultrafast } }
