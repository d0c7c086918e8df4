//! Forms of prices.

use std::sync::Arc;

use jackfield_domain::price::{Money, Price, PriceVariant, Rates, ServiceTier};
use serde::{Deserialize, Serialize};

use super::stored::{Invalid, Stored};

/// A price. Its usual rates stand among its other fields, in the order that they had when they were all that it had.
#[derive(Deserialize, Serialize)]
pub(crate) struct PriceForm {
    cache_read: MoneyForm,
    cache_write: MoneyForm,
    currency: Arc<str>,
    date: Arc<str>,
    input: MoneyForm,
    output: MoneyForm,
    source: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audio_input: Option<MoneyForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    audio_output: Option<MoneyForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write_long: Option<MoneyForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image_input: Option<MoneyForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image_output: Option<MoneyForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    variants: Vec<PriceVariantForm>,
}

type MoneyForm = <Money as Stored>::Form;

impl Stored for Price {
    type Form = PriceForm;

    fn form(&self) -> PriceForm {
        let RatesForm {
            cache_read,
            cache_write,
            input,
            output,
            audio_input,
            audio_output,
            cache_write_long,
            image_input,
            image_output,
        } = self.rates.form();
        PriceForm {
            cache_read,
            cache_write,
            currency: Arc::clone(&self.currency),
            date: Arc::clone(&self.date),
            input,
            output,
            source: Arc::clone(&self.source),
            audio_input,
            audio_output,
            cache_write_long,
            image_input,
            image_output,
            variants: self.variants.form(),
        }
    }

    fn of(form: PriceForm) -> Result<Self, Invalid> {
        Ok(Self {
            currency: form.currency,
            date: form.date,
            rates: Stored::of(RatesForm {
                cache_read: form.cache_read,
                cache_write: form.cache_write,
                input: form.input,
                output: form.output,
                audio_input: form.audio_input,
                audio_output: form.audio_output,
                cache_write_long: form.cache_write_long,
                image_input: form.image_input,
                image_output: form.image_output,
            })?,
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
