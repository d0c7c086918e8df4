//! A prompt cache that bills by prefix, as Claude's is documented (prompt caching page, 2026-11).
//!
//! Tools, system prompt and messages are one row of blocks. An entry is the row up to a cache point of an earlier
//! request; a request reads the longest entry that ends at one of its points, or at most 20 blocks before one, and writes
//! up to its last point. Stricter than the vendor, each block of a run of parallel tool blocks counts.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::price::{Money, Rates};
use jackfield_domain::usage::Usage;
use serde_json::Value;

/// The cache of a scripted server, and what it has billed. Clones are the same cache.
#[derive(Clone, Debug)]
pub struct PromptCache(Arc<Mutex<CacheState>>);

#[derive(Debug)]
struct CacheState {
    bills: Vec<Usage>,
    /// The entries by their hash: when each expires, and how long it is kept after it was read.
    entries: HashMap<u64, (Duration, Duration)>,
    /// The least that all bills could be.
    ideal: f64,
    now: Duration,
    paid: f64,
    rates: Rates,
    /// The beginnings of all requests, at each block.
    seen: HashSet<u64>,
}

/// A block of a request, in the order in which the vendor caches.
pub(crate) struct CacheBlock {
    /// What it says, and where.
    pub(crate) content: String,
    /// How long what ends with it is kept, if a cache point follows it.
    pub(crate) point: Option<Duration>,
}

impl PromptCache {
    /// An empty cache, which bills by these rates.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self(Arc::new(Mutex::new(CacheState {
            bills: Vec::new(),
            entries: HashMap::new(),
            ideal: 0.0,
            now: Duration::ZERO,
            paid: 0.0,
            rates,
            seen: HashSet::new(),
        })))
    }

    /// The input paid so far in shares of the ideal, in which each token is written once and read from then on.
    #[must_use]
    pub fn times_the_ideal(&self) -> f64 {
        let state = self.lock();
        state.paid / state.ideal
    }

    /// The usage of each request so far.
    #[must_use]
    pub fn bills(&self) -> Vec<Usage> {
        self.lock().bills.clone()
    }

    /// Lets time pass.
    pub fn wait(&self, time: Duration) {
        self.lock().now += time;
    }

    /// Bills a request to this model, which caches nothing below this many tokens.
    pub(crate) fn bill(&self, model: &str, least: u64, blocks: &[CacheBlock]) -> Usage {
        let state = &mut *self.lock();
        let mut hasher = DefaultHasher::new();
        model.hash(&mut hasher);
        let mut sum = 0;
        // The hash and the tokens of the row up to each block.
        let row: Vec<(u64, u64)> = blocks
            .iter()
            .map(|block| {
                block.content.hash(&mut hasher);
                sum += block.content.len() as u64 / BYTES_PER_TOKEN;
                (hasher.finish(), sum)
            })
            .collect();
        let points = blocks.iter().enumerate();
        let points: Vec<_> = points
            .filter_map(|(n, block)| Some((n, block.point?)))
            .collect();
        let ends = points.iter().map(|(n, _)| *n);
        let back = ends.flat_map(|n| n.saturating_sub(LOOK_BACK)..=n);
        let found = back.filter(|n| {
            let entry = row.get(*n).and_then(|(hash, _)| state.entries.get(hash));
            entry.is_some_and(|(expires, _)| state.now < *expires)
        });
        let found = found.max();
        let read = found
            .and_then(|n| row.get(n))
            .map_or(0, |(_, tokens)| *tokens);
        if let Some((hash, _)) = found.and_then(|n| row.get(n))
            && let Some((expires, kept)) = state.entries.get_mut(hash)
        {
            *expires = state.now + *kept;
        }
        let bill = |rate: Money, tokens: u64| rate.as_picos() as f64 * tokens as f64;
        let Rates {
            cache_read,
            cache_write,
            cache_write_long,
            input,
            ..
        } = state.rates;
        let (mut written, mut paid) = (read, bill(cache_read, read));
        for (n, kept) in points {
            let Some((hash, tokens)) = row.get(n).filter(|(_, tokens)| *tokens >= least) else {
                continue;
            };
            if *tokens > written {
                let long = cache_write_long.filter(|_| kept > FIVE_MINUTES);
                paid += bill(long.unwrap_or(cache_write), tokens - written);
                written = *tokens;
            }
            state.entries.insert(*hash, (state.now + kept, kept));
        }
        let known = row.iter().filter(|(hash, _)| state.seen.contains(hash));
        let known = known.map(|(_, tokens)| *tokens).max().unwrap_or_default();
        state.seen.extend(row.iter().map(|(hash, _)| *hash));
        state.ideal += if sum < least {
            bill(input, sum)
        } else {
            bill(cache_read, known) + bill(cache_write, sum - known)
        };
        state.paid += paid + bill(input, sum - written);
        let usage = Usage {
            cache_read: read,
            cache_write: written - read,
            input: sum,
            ..Usage::default()
        };
        state.bills.push(usage);
        usage
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a cache point of this lifetime keeps what it covers.
pub(crate) fn lifetime(point: &Value) -> Duration {
    if point.get("ttl").and_then(Value::as_str) == Some("1h") {
        Duration::from_hours(1)
    } else {
        FIVE_MINUTES
    }
}

const BYTES_PER_TOKEN: u64 = 4;
const FIVE_MINUTES: Duration = Duration::from_mins(5);
const LOOK_BACK: usize = 20;
