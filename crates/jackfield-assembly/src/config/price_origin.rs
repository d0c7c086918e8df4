//! What is known of the price of a model, and from where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::price::{ListPrices, Price, PriceList};
use jackfield_domain::request::ModelRef;
use jackfield_domain::time::WallTime;
use jackfield_engine::near::did_you_mean;
use jackfield_prices::{Catalogue, Listing};
use url::Url;

use super::{Config, ProviderConfig};
use crate::place::{ConfigProblem, ValueSource};
use crate::presets::PRESETS;
use crate::prices::{CURRENCY, local};

/// The price of a model, and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KnownPrice {
    /// Where it stands.
    pub origin: PriceOrigin,
    /// The price.
    pub price: Price,
}

/// Where a price stands; an earlier one wins over those after it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PriceOrigin {
    /// `[prices]` of a file.
    Configured(ValueSource),
    /// The server is one's own.
    Local,
    /// The list that was imported.
    Imported(Arc<Path>),
    /// The list that comes with Jackfield.
    BuiltIn,
}

/// The list prices of providers at their vendors' addresses, and servers of one's own.
#[derive(Debug)]
struct ProviderPrices {
    currency: Arc<str>,
    imported: Option<(Arc<Catalogue>, Arc<Path>)>,
    providers: BTreeMap<Arc<str>, ProviderPrice>,
}

/// What says the prices of a provider.
#[derive(Debug)]
enum ProviderPrice {
    /// Nothing is to be paid.
    Local,
    /// The list, under this kind.
    Vendor(Arc<str>),
}

impl ProviderPrices {
    fn of(config: &Config) -> Self {
        let providers = config.providers.iter().filter_map(|(name, provider)| {
            let kind = provider.kind.as_ref().map_or(name, |(kind, _)| kind);
            let base_url = provider.base_url.as_deref();
            if local::is_local(kind, base_url) {
                return Some((Arc::clone(name), ProviderPrice::Local));
            }
            let is_listed = &*config.currency == CURRENCY && config.is_at_vendor(kind, provider);
            is_listed.then(|| (Arc::clone(name), ProviderPrice::Vendor(Arc::clone(kind))))
        });
        Self {
            currency: Arc::clone(&config.currency),
            imported: config.imported_prices.clone(),
            providers: providers.collect(),
        }
    }

    fn known(&self, model: &ModelRef) -> Option<KnownPrice> {
        match self.providers.get(&model.provider)? {
            ProviderPrice::Local => Some(KnownPrice {
                origin: PriceOrigin::Local,
                price: local::price(&model.model, &self.currency)?,
            }),
            ProviderPrice::Vendor(kind) => {
                let (listing, origin) = self.listing(kind, &model.model)?;
                let price = listing.price;
                Some(KnownPrice { origin, price })
            }
        }
    }

    fn listing(&self, kind: &str, model: &str) -> Option<(Listing, PriceOrigin)> {
        let imported = self.imported.as_ref().and_then(|(catalogue, path)| {
            let listing = catalogue.get(kind, model)?;
            Some((listing, PriceOrigin::Imported(Arc::clone(path))))
        });
        imported.or_else(|| {
            let listing = Catalogue::built_in().get(kind, model)?;
            Some((listing, PriceOrigin::BuiltIn))
        })
    }
}

impl ListPrices for ProviderPrices {
    fn price(&self, model: &ModelRef) -> Option<Price> {
        self.known(model).map(|known| known.price)
    }
}

/// Whether an address is one to which the vendor's list applies.
fn is_vendors(kind: &str, base_url: &str) -> bool {
    let hosts: &[&str] = match kind {
        "azure" => &[
            ".cognitiveservices.azure.com",
            ".openai.azure.com",
            ".services.ai.azure.com",
        ],
        "claude-bedrock" => &[".amazonaws.com", ".api.aws"],
        "claude-foundry" => &[".services.ai.azure.com"],
        _ => &[],
    };
    let preset = PRESETS.iter().find(|preset| preset.kind == kind);
    let usual = match kind {
        "claude" => Some("https://api.anthropic.com"),
        _ => preset.and_then(|preset| preset.base_url),
    };
    if usual.is_some_and(|usual| usual == base_url.trim_end_matches('/')) {
        return true;
    }
    let url = Url::parse(base_url);
    let host = url.as_ref().ok().and_then(Url::host_str);
    host.is_some_and(|host| hosts.iter().any(|end| host.ends_with(end)))
}

impl Config {
    /// Whether a provider is at an address to which the vendor's list applies.
    fn is_at_vendor(&self, kind: &str, provider: &ProviderConfig) -> bool {
        // Other locations of Vertex AI than the global one cost more.
        let location = provider.options.get("location");
        let location = location.and_then(|(value, _)| value.as_str());
        let location = location.or(self.google_location.as_deref());
        if kind == "gemini-vertex" && location.is_some_and(|location| location != "global") {
            return false;
        }
        let base_url = provider.base_url.as_deref();
        base_url.is_none_or(|base_url| is_vendors(kind, base_url))
    }

    /// The known prices of models: those of files, over the imported list prices of the vendors, over those that come
    /// with Jackfield. A server of one's own costs nothing.
    ///
    /// List prices apply only at the vendor's own address, and in the currency of the list.
    #[must_use]
    pub fn prices(&self) -> PriceList {
        let mut list = PriceList::of(Arc::new(ProviderPrices::of(self)));
        for (model, listed) in &self.prices {
            let price = listed.price(&self.currency);
            list.set(Arc::clone(&model.provider), Arc::clone(&model.model), price);
        }
        list
    }

    /// The price of a model, and where it stands.
    #[must_use]
    pub fn known_price(&self, model: &ModelRef) -> Option<KnownPrice> {
        let any = ModelRef {
            model: PriceList::ANY.into(),
            provider: Arc::clone(&model.provider),
        };
        let own = self.prices.get(model).or_else(|| self.prices.get(&any));
        let own = own.map(|entry| KnownPrice {
            origin: PriceOrigin::Configured(entry.place.clone()),
            price: entry.price(&self.currency),
        });
        own.or_else(|| ProviderPrices::of(self).known(model))
    }

    /// Whether the list has a price for a model that does not hold, because its provider is not at the vendor's address.
    #[must_use]
    pub fn is_listed_elsewhere(&self, model: &ModelRef) -> bool {
        self.provider_of(model).is_some_and(|(kind, provider)| {
            let listed = Catalogue::built_in().get(kind, &model.model);
            listed.is_some() && !self.is_at_vendor(kind, provider)
        })
    }

    /// The day on which the vendor of a model retires it, such as `2027-02-15`, if it is known.
    #[must_use]
    pub fn retires(&self, model: &ModelRef) -> Option<Arc<str>> {
        let (kind, provider) = self.provider_of(model)?;
        let day = |list: &Catalogue| list.get(kind, &model.model)?.retires;
        let imported = self.imported_prices.as_ref();
        let imported = imported.and_then(|(catalogue, _)| day(catalogue));
        let known = imported.or_else(|| day(&Catalogue::built_in()));
        known.filter(|_| self.is_at_vendor(kind, provider))
    }

    /// The provider of a model, with its kind.
    fn provider_of(&self, model: &ModelRef) -> Option<(&str, &ProviderConfig)> {
        let (name, provider) = self.providers.get_key_value(&model.provider)?;
        let kind = provider.kind.as_ref();
        Some((kind.map_or(name, |(kind, _)| kind), provider))
    }

    /// The configured models that their vendors retire within 90 days, or have retired, each with the day.
    #[must_use]
    pub fn retiring(&self, now: WallTime) -> Vec<(ModelRef, Arc<str>)> {
        let until = now.after(NOTICE).to_rfc3339();
        let models = self.configured_models().into_iter();
        let dated = models.filter_map(|model| Some((self.retires(&model)?, model)));
        // Days of this form are in the order of their texts.
        let soon =
            dated.filter(|(day, _)| until.get(..day.len()).is_some_and(|until| **day <= *until));
        soon.map(|(day, model)| (model, day)).collect()
    }

    /// The models with a known price: of the providers that the configuration names, or of all.
    #[must_use]
    pub fn priced_models(&self, of_all: bool) -> BTreeSet<ModelRef> {
        let known = ProviderPrices::of(self);
        let built_in = Catalogue::built_in();
        let imported = self
            .imported_prices
            .as_ref()
            .map(|(catalogue, _)| &**catalogue);
        let named = self.named_providers();
        let mut models: BTreeSet<ModelRef> = self.prices.keys().cloned().collect();
        for (provider, price) in &known.providers {
            let ProviderPrice::Vendor(kind) = price else {
                continue;
            };
            if !of_all && !named.contains(provider) {
                continue;
            }
            let lists = [Some(&built_in), imported].into_iter().flatten();
            models.extend(
                lists
                    .flat_map(|list| list.models(kind))
                    .map(|model| ModelRef {
                        model: model.into(),
                        provider: Arc::clone(provider),
                    }),
            );
        }
        models
    }

    /// The providers that the configuration has a table for, or a model of.
    fn named_providers(&self) -> BTreeSet<Arc<str>> {
        let own = self
            .providers
            .iter()
            .filter(|(_, provider)| !provider.is_default());
        let own = own.map(|(name, _)| Arc::clone(name));
        let models = self.configured_models().into_iter();
        own.chain(models.map(|model| model.provider)).collect()
    }

    /// The models that the configuration names: the default one, those of aliases, assistants and routes.
    #[must_use]
    pub fn configured_models(&self) -> BTreeSet<ModelRef> {
        let assistants = self.assistants.values().map(|assistant| &assistant.options);
        let options = assistants.chain([&self.options]);
        let own =
            options.flat_map(|options| [&options.model].into_iter().chain(&options.fallbacks));
        let targets = self.routes.values().flat_map(|route| route.models());
        own.chain(self.aliases.values())
            .chain(targets)
            .cloned()
            .collect()
    }

    /// The prices of providers that do not exist.
    pub(crate) fn unused_prices(&self) -> Vec<ConfigProblem> {
        let providers: Vec<&Arc<str>> = self.providers.keys().collect();
        let idle = self
            .prices
            .iter()
            .filter(|(model, _)| !self.providers.contains_key(&model.provider));
        let idle = idle.map(|(model, listed)| {
            let name = &model.provider;
            let message = format!(
                "not used: there is no provider `{name}`{}",
                did_you_mean(name, &providers)
            );
            let help = format!(
                "write the price as `PROVIDER/MODEL`, or add the provider under [providers.{name}]"
            );
            ConfigProblem::new(listed.place.clone(), message).with_help(help)
        });
        idle.collect()
    }
}

/// How long before a model is retired its users hear of it.
const NOTICE: Duration = Duration::from_hours(90 * 24);
