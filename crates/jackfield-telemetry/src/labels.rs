//! The labels of a series, and a bound on their number.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use jackfield_domain::caller::tags::{Tag, TagNames};
use jackfield_domain::request::ModelRef;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use crate::names;

/// The labels of a series.
pub(crate) type Labels = Vec<(&'static str, String)>;

pub(crate) type Counters = Family<Labels, Counter>;

pub(crate) type Histograms = Family<Labels, Histogram, Buckets>;

/// The upper bounds of the buckets of a histogram: powers of a factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets {
    pub(crate) count: u16,
    pub(crate) factor: f64,
    pub(crate) first: f64,
}

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        let Self {
            count,
            factor,
            first,
        } = *self;
        Histogram::new(exponential_buckets(first, factor, count))
    }
}

/// Values of a label that clients, servers or models choose. After so many values, each new one is [`OTHER`], so that
/// no client can raise the number of series without a bound.
#[derive(Debug, Default)]
pub(crate) struct BoundedValues(Mutex<HashSet<String>>);

impl BoundedValues {
    /// Keeps a place for these values.
    pub(crate) fn expect<'v>(&self, values: impl IntoIterator<Item = &'v str>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(values.into_iter().map(str::to_owned));
    }

    pub(crate) fn bounded(&self, value: &str) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(value) {
            return value.to_owned();
        }
        if known.len() >= MAX_VALUES || value.len() > MAX_LENGTH {
            return OTHER.to_owned();
        }
        known.insert(value.to_owned());
        value.to_owned()
    }
}

#[derive(Debug, Default)]
pub(crate) struct ModelLabels(BoundedValues);

impl ModelLabels {
    /// Keeps a place for these models.
    pub(crate) fn expect(&self, models: &[ModelRef]) {
        self.0.expect(models.iter().map(|model| &*model.model));
    }

    pub(crate) fn of(&self, model: &ModelRef) -> Labels {
        vec![
            (names::PROVIDER, model.provider.to_string()),
            (names::MODEL, self.0.bounded(&model.model)),
        ]
    }
}

/// The values of the tags of some names.
#[derive(Debug, Default)]
pub(crate) struct TagLabels(BTreeMap<String, BoundedValues>);

impl TagLabels {
    pub(crate) fn new(names: &TagNames) -> Self {
        let names = names.iter();
        Self(
            names
                .map(|name| (name.to_owned(), BoundedValues::default()))
                .collect(),
        )
    }

    /// The labels of a tag, if it has one of the names.
    pub(crate) fn of(&self, tag: &Tag) -> Option<Labels> {
        let values = self.0.get(&*tag.name)?;
        Some(vec![
            (names::TAG, tag.name.to_string()),
            (names::VALUE, values.bounded(&tag.value)),
        ])
    }
}

/// Stands for all values over the bound. OpenTelemetry names it so for HTTP methods.
pub(crate) const OTHER: &str = "_OTHER";

/// The maximum number of values of a label.
const MAX_VALUES: usize = 500;

/// The maximum length of a value, in bytes: that of a tag's longest.
const MAX_LENGTH: usize = 256;
