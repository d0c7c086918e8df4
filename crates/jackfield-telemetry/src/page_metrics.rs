//! The page of metrics as OpenTelemetry's metrics: the figures are kept once, in the form of Prometheus.
//!
//! This reads what this crate writes (OpenMetrics 1.0, "Text Format"), and skips what it does not.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
    metric, number_data_point,
};

use crate::names::OPENTELEMETRY;
use crate::span_parts::attribute;

type Labels = Vec<(String, String)>;

/// The times of a reading, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingTimes {
    pub(crate) now: u64,
    pub(crate) start: u64,
}

pub(crate) fn read(page: &str, times: ReadingTimes) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut family: Option<Family> = None;
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (Some(key), Some(name)) = (words.next(), words.next()) else {
                continue;
            };
            let text = words.next().unwrap_or_default();
            if family.as_ref().is_none_or(|family| family.name != name) {
                let before = family.replace(Family::new(name));
                metrics.extend(before.and_then(|family| family.metric(times)));
            }
            if let Some(family) = &mut family {
                match key {
                    "HELP" => text.clone_into(&mut family.help),
                    "TYPE" => text.clone_into(&mut family.kind),
                    "UNIT" => text.clone_into(&mut family.unit),
                    _ => {}
                }
            }
        } else if let (Some(family), Some(sample)) = (&mut family, Sample::parse(line)) {
            family.add(sample);
        }
    }
    metrics.extend(family.and_then(|family| family.metric(times)));
    metrics
}

/// A metric with its series.
#[derive(Debug, Default)]
struct Family {
    help: String,
    histograms: BTreeMap<Labels, Buckets>,
    kind: String,
    name: String,
    unit: String,
    values: Vec<(Labels, f64)>,
}

/// A series of a histogram.
#[derive(Debug, Default)]
struct Buckets {
    /// The upper bounds, and how many values are below each.
    below: Vec<(f64, u64)>,
    count: u64,
    sum: f64,
}

impl Family {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn add(&mut self, sample: Sample<'_>) {
        let Some(suffix) = sample.name.strip_prefix(self.name.as_str()) else {
            return;
        };
        let Sample {
            mut labels, value, ..
        } = sample;
        match (self.kind.as_str(), suffix) {
            ("counter", "_total") | ("gauge", "") | ("info", "_info") => {
                self.values.push((labels, value));
            }
            ("histogram", "_bucket") => {
                let Some(place) = labels.iter().position(|(name, _)| name == "le") else {
                    return;
                };
                let (_, bound) = labels.remove(place);
                let buckets = self.histograms.entry(labels).or_default();
                if let Ok(bound) = bound.parse::<f64>()
                    && bound.is_finite()
                {
                    buckets.below.push((bound, whole(value)));
                }
            }
            ("histogram", "_count") => {
                self.histograms.entry(labels).or_default().count = whole(value);
            }
            ("histogram", "_sum") => self.histograms.entry(labels).or_default().sum = value,
            _ => {}
        }
    }

    fn metric(self, times: ReadingTimes) -> Option<Metric> {
        let cumulative = AggregationTemporality::Cumulative.into();
        let numbers = self
            .values
            .into_iter()
            .map(|(labels, value)| NumberDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: times.start,
                time_unix_nano: times.now,
                value: Some(number_data_point::Value::AsDouble(value)),
                ..NumberDataPoint::default()
            });
        let data = match self.kind.as_str() {
            "counter" => metric::Data::Sum(Sum {
                aggregation_temporality: cumulative,
                data_points: numbers.collect(),
                is_monotonic: true,
            }),
            "gauge" | "info" => metric::Data::Gauge(Gauge {
                data_points: numbers.collect(),
            }),
            "histogram" => {
                let points = self.histograms.into_iter();
                let points = points.map(|(labels, buckets)| buckets.point(labels, times));
                metric::Data::Histogram(Histogram {
                    aggregation_temporality: cumulative,
                    data_points: points.collect(),
                })
            }
            _ => return None,
        };
        let name = self.name.strip_suffix(&self.unit).unwrap_or(&self.name);
        let name = name.strip_suffix('_').unwrap_or(name);
        Some(Metric {
            data: Some(data),
            description: self.help,
            name: opentelemetry_name(name).to_owned(),
            unit: match self.unit.as_str() {
                "seconds" => "s".to_owned(),
                _ => self.unit,
            },
            ..Metric::default()
        })
    }
}

impl Buckets {
    fn point(self, labels: Labels, times: ReadingTimes) -> HistogramDataPoint {
        let mut lower = 0;
        let counts = self.below.iter().map(|(_, below)| {
            let own = below.saturating_sub(lower);
            lower = *below;
            own
        });
        let mut bucket_counts: Vec<u64> = counts.collect();
        bucket_counts.push(self.count.saturating_sub(lower));
        HistogramDataPoint {
            attributes: attributes(labels),
            bucket_counts,
            count: self.count,
            explicit_bounds: self.below.into_iter().map(|(bound, _)| bound).collect(),
            start_time_unix_nano: times.start,
            sum: Some(self.sum),
            time_unix_nano: times.now,
            ..HistogramDataPoint::default()
        }
    }
}

/// A line with a value.
struct Sample<'p> {
    labels: Labels,
    name: &'p str,
    value: f64,
}

impl<'p> Sample<'p> {
    fn parse(line: &'p str) -> Option<Self> {
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at_checked(end)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(labels) => parse_labels(labels)?,
            None => (Vec::new(), rest),
        };
        let value = value.split_whitespace().next()?.parse().ok()?;
        Some(Self {
            labels,
            name,
            value,
        })
    }
}

/// The labels up to the closing brace, and what follows it.
fn parse_labels(mut text: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        text = text.trim_start_matches(',');
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, quoted) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut signs = quoted.char_indices();
        let end = loop {
            match signs.next()? {
                (place, '"') => break place,
                (_, '\\') => value.push(match signs.next()?.1 {
                    'n' => '\n',
                    sign => sign,
                }),
                (_, sign) => value.push(sign),
            }
        };
        labels.push((name.to_owned(), value));
        text = quoted.get(end + 1..)?;
    }
}

fn attributes(labels: Labels) -> Vec<KeyValue> {
    let labels = labels.into_iter().map(|(name, value)| {
        let value = any_value::Value::StringValue(value);
        attribute(opentelemetry_name(&name), value)
    });
    labels.collect()
}

fn opentelemetry_name(name: &str) -> &str {
    let mut known = OPENTELEMETRY.iter();
    known
        .find(|(own, _)| *own == name)
        .map_or(name, |(_, known)| known)
}

/// A count, which is written as a number with a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are small and not negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
