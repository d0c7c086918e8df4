//! What a usage and a price have since replies name their service tiers.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, Late};
use jackfield_domain::price::{Money, PriceVariant, Rates, ServiceTier};
use jackfield_domain::usage::Usage;

use super::{MODEL_ATTEMPT, late, turn_opened_priced, usage};

/// A usage with all of its parts.
pub(crate) fn late_detailed() -> Envelope {
    let usage = Usage {
        audio_input: 30,
        audio_output: 5,
        billed: Some(Money::from_picos(1_250_000_000)),
        cache_write_long: 8,
        image_input: 40,
        image_output: 6,
        tier: Some(ServiceTier::Priority),
        ..usage()
    };
    let attempt = MODEL_ATTEMPT;
    Envelope {
        facts: vec![Fact::Late(Late::Usage { attempt, usage })],
        ..late()
    }
}

/// A price with rates of long requests and of another tier.
pub(crate) fn turn_opened_tiered() -> Envelope {
    let mut envelope = turn_opened_priced();
    let [input, output] = [2_000_000, 10_000_000].map(Money::from_picos);
    let rates = Rates {
        audio_input: Some(output),
        cache_write_long: Some(Money::from_picos(4_000_000)),
        ..Rates::new(input, output)
    };
    let variant = |above, tier| PriceVariant {
        above,
        rates: rates.clone(),
        tier,
    };
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact
            && let Some(price) = &mut Arc::make_mut(setup).price
        {
            price.variants = vec![variant(272_000, None), variant(0, Some(ServiceTier::Batch))];
        }
    }
    envelope
}
