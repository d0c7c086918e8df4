//! Prices of models, and the cost of a usage: exact, in integers, with each token priced once.

mod list;

use std::sync::Arc;

pub use self::list::{ListPrices, PriceList};
pub use crate::money::{InvalidMoney, Money};
use crate::opaque::Extension;
use crate::settings::Settings;
pub use crate::usage::ServiceTier;
use crate::usage::Usage;

/// The prices of a model, per token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Price {
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The day on which the price was read from its source, such as `2026-11-01`.
    pub date: Arc<str>,
    /// The usual rates.
    pub rates: Rates,
    /// The source: a URL or a name.
    pub source: Arc<str>,
    /// The rates of long requests and of other service tiers, in any order.
    pub variants: Vec<PriceVariant>,
}

/// What the tokens of a request cost, each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rates {
    /// An input token of audio; `None` is that of any input token.
    pub audio_input: Option<Money>,
    /// An output token of audio; `None` is that of any output token.
    pub audio_output: Option<Money>,
    /// An input token that was read from a cache.
    pub cache_read: Money,
    /// An input token that was written to a cache, for as long as the vendor keeps it by default.
    pub cache_write: Money,
    /// An input token that was written to a cache for longer; `None` is `cache_write`.
    pub cache_write_long: Option<Money>,
    /// An input token of an image; `None` is that of any input token.
    pub image_input: Option<Money>,
    /// An output token of an image; `None` is that of any output token.
    pub image_output: Option<Money>,
    /// Any other input token.
    pub input: Money,
    /// Any other output token, reasoning included.
    pub output: Money,
}

/// The rates of a whole request under a condition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PriceVariant {
    /// The input tokens above which they hold for the whole request, cached ones included; 0 is any.
    pub above: u64,
    /// The rates.
    pub rates: Rates,
    /// The service tier; `None` is the usual one.
    pub tier: Option<ServiceTier>,
}

impl Settings {
    /// The service tier that they ask for; `None` is the usual one.
    #[must_use]
    pub fn tier(&self) -> Option<ServiceTier> {
        // Claude has another name for it.
        let is_speed = |one: &&Extension| one.path == "/speed";
        let speed = self.extensions.iter().find(is_speed);
        let speed = speed.and_then(|speed| speed.json.as_str());
        let speed = speed.and_then(ServiceTier::of_word);
        speed.or_else(|| ServiceTier::of_word(self.service_tier.as_deref()?))
    }
}

impl Rates {
    /// Rates at which cached input, audio and images cost as much as any other token.
    #[must_use]
    pub const fn new(input: Money, output: Money) -> Self {
        Self {
            audio_input: None,
            audio_output: None,
            cache_read: input,
            cache_write: input,
            cache_write_long: None,
            image_input: None,
            image_output: None,
            input,
            output,
        }
    }

    /// The most that so many tokens can cost.
    fn most(&self, input: u64, output: u64) -> Money {
        let highest = |usual: Money, others: &[Option<Money>]| {
            let others = others.iter().copied().flatten();
            others.fold(usual, Money::max)
        };
        let inputs = [
            Some(self.cache_write),
            self.cache_write_long,
            self.audio_input,
            self.image_input,
        ];
        let outputs = [self.audio_output, self.image_output];
        highest(self.input, &inputs).times(input) + highest(self.output, &outputs).times(output)
    }

    /// What a usage costs. Each token is priced once: cached input is not also priced as fresh.
    fn cost(&self, usage: &Usage) -> Money {
        let long = usage.cache_write_long.min(usage.cache_write);
        let other_input = usage.cache_read.saturating_add(usage.cache_write);
        let other_input = other_input.saturating_add(usage.audio_input);
        let other_input = other_input.saturating_add(usage.image_input);
        let other_output = usage.audio_output.saturating_add(usage.image_output);
        self.input.times(usage.input.saturating_sub(other_input))
            + self.cache_read.times(usage.cache_read)
            + self.cache_write.times(usage.cache_write - long)
            + self
                .cache_write_long
                .unwrap_or(self.cache_write)
                .times(long)
            + self
                .audio_input
                .unwrap_or(self.input)
                .times(usage.audio_input)
            + self
                .image_input
                .unwrap_or(self.input)
                .times(usage.image_input)
            + self.output.times(usage.output.saturating_sub(other_output))
            + self
                .audio_output
                .unwrap_or(self.output)
                .times(usage.audio_output)
            + self
                .image_output
                .unwrap_or(self.output)
                .times(usage.image_output)
    }
}

impl Price {
    /// The rates of a request in this tier with so many input tokens, cached ones included; `None` if those of the tier
    /// are not known.
    #[must_use]
    pub fn rates_of(&self, tier: Option<ServiceTier>, input: u64) -> Option<&Rates> {
        let of = |tier| {
            let variants = self.variants.iter().filter(|one| one.tier == tier);
            let variants = variants.filter(|one| one.above == 0 || input > one.above);
            variants.max_by_key(|one| one.above)
        };
        // One unit of OpenAI has both names.
        let priority = Some(ServiceTier::Priority).filter(|_| tier == Some(ServiceTier::Fast));
        let variant = of(tier).or_else(|| of(Some(priority?)));
        let usual = tier.is_none().then_some(&self.rates);
        variant.map(|variant| &variant.rates).or(usual)
    }

    /// The highest threshold that a request with so many input tokens is above; 0 if there is none.
    #[must_use]
    pub fn threshold(&self, input: u64) -> u64 {
        let thresholds = self.variants.iter().map(|variant| variant.above);
        thresholds.filter(|above| input > *above).max().unwrap_or(0)
    }

    /// The price of requests that are above no higher threshold: that of their sum.
    #[must_use]
    pub fn up_to(mut self, threshold: u64) -> Self {
        self.variants.retain(|variant| variant.above <= threshold);
        self
    }

    /// The cost of this usage; `None` if the rates of its service tier are not known.
    ///
    /// If a server reports more cached tokens than input tokens, only the cached tokens are priced.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        Some(self.rates_of(usage.tier, usage.input)?.cost(usage))
    }

    /// The cost with its currency and its estimated part. Estimated tokens are never cached.
    #[must_use]
    pub fn bill(&self, usage: &Usage) -> Option<Cost> {
        let rates = self.rates_of(usage.tier, usage.input)?;
        Some(Cost {
            amount: rates.cost(usage),
            currency: Arc::clone(&self.currency),
            estimated: rates.input.times(usage.estimated_input)
                + rates.output.times(usage.estimated_output),
            listed: None,
        })
    }

    /// The maximum cost of a request for this tier with about so many tokens: of it and the usual one, in which a vendor
    /// may serve it, the higher one, by the rates of a long request if it may be one. Where the rates of the tier are not
    /// known, the highest of all: the provider may not have that tier, and the reply says which it was.
    #[must_use]
    pub fn reserve(&self, tier: Option<ServiceTier>, input: u64, output: u64) -> Money {
        // What was estimated may be counted as more.
        let longest = input.saturating_add(input / 2);
        let usual = self.rates_of(None, longest).unwrap_or(&self.rates);
        let usual = usual.most(input, output);
        let most = |most: Money, rates: &Rates| most.max(rates.most(input, output));
        match self.rates_of(tier, longest) {
            Some(named) => most(usual, named),
            None => {
                let reaches = |one: &&PriceVariant| one.above == 0 || longest > one.above;
                let reached = self.variants.iter().filter(reaches);
                reached.map(|one| &one.rates).fold(usual, most)
            }
        }
    }

    /// The maximum cost of a usage in any tier.
    #[must_use]
    pub fn most(&self, usage: &Usage) -> Money {
        let variants = self.variants.iter().map(|variant| &variant.rates);
        let most = |most: Money, rates: &Rates| most.max(rates.cost(usage));
        variants.fold(self.rates.cost(usage), most)
    }
}

/// The cost of a usage: what the provider itself says, or else by the price of its model; `None` if neither is known.
///
/// What it says is in US dollars, so it does not replace a price in another currency.
#[must_use]
pub fn cost_of(usage: &Usage, price: Option<&Price>) -> Option<Cost> {
    let listed = price.and_then(|price| price.bill(usage));
    match usage.billed {
        Some(amount) if price.is_none_or(|price| &*price.currency == BILLED_IN) => Some(Cost {
            amount,
            currency: BILLED_IN.into(),
            estimated: Money::ZERO,
            listed: listed.map(|listed| listed.amount),
        }),
        Some(_) | None => listed,
    }
}

/// What a usage counts for a budget: its cost, or what it costs at most in any tier if the rates of its tier are not known;
/// `None` without a price.
pub(crate) fn counted_of(usage: &Usage, price: Option<&Price>) -> Option<Cost> {
    let most = |price: &Price| Cost {
        amount: price.most(usage),
        ..Cost::zero(Arc::clone(&price.currency))
    };
    cost_of(usage, price).or_else(|| price.map(most))
}

/// Whether what the provider says that a reply cost stands for earlier ones of the turn without a cost, too: a provider
/// that stays between rounds says so with the last one.
pub(crate) fn covers_earlier(usage: &Usage) -> bool {
    usage.billed.is_some() && usage.total() > 0
}

/// The usage of a reply before one that covers earlier ones: nothing more is to be paid for it, unless it is an estimate
/// with a price, of which the provider does not know.
pub(crate) fn covered(usage: &Usage, price: Option<&Price>) -> Usage {
    let is_paid_later = usage.estimated() == 0 || price.is_none();
    let nothing = is_paid_later.then_some(Money::ZERO);
    Usage {
        billed: usage.billed.or(nothing),
        ..*usage
    }
}

/// A cost, or the sum of some in one currency.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cost {
    /// The amount, including the estimated part.
    pub amount: Money,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
    /// The estimated part of the amount.
    pub estimated: Money,
    /// What it would be by the prices of the models, where a provider itself says what it is.
    pub listed: Option<Money>,
}

impl Cost {
    /// Nothing of a currency.
    #[must_use]
    pub const fn zero(currency: Arc<str>) -> Self {
        Self {
            amount: Money::ZERO,
            currency,
            estimated: Money::ZERO,
            listed: None,
        }
    }

    /// Adds a cost in the same currency.
    pub fn add(&mut self, more: &Self) {
        if self.listed.is_some() || more.listed.is_some() {
            let of = |cost: &Self| cost.listed.unwrap_or(cost.amount);
            self.listed = Some(of(self) + of(more));
        }
        self.amount += more.amount;
        self.estimated += more.estimated;
    }
}

/// The currency of what providers say themselves.
const BILLED_IN: &str = "USD";
