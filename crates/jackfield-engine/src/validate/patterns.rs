//! Untrusted regular expressions, matched against texts that may be untrusted, too.
//!
//! A match cannot be interrupted, so it is bounded in advance: the larger the compiled pattern, the shorter the
//! texts that it is matched with, and shortest for patterns that need backtracking (`(?=…)`, `\1`). In the
//! worst case a match takes some hundred thousand million steps, which is minutes, and blocks only its own
//! toolbox; ordinary patterns take microseconds.

use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::{Keyword, PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::{Map, Value};

use super::schema::PATTERN;
use super::watch::{WorkStopped, long_step, stop};

/// The memory budget of all compiled patterns of a schema.
pub(super) struct PatternBudget {
    left: AtomicUsize,
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self {
            left: AtomicUsize::new(MAX_TOTAL),
        }
    }
}

impl PatternBudget {
    fn reserve(&self, bytes: usize) -> bool {
        let left = |left: usize| left.checked_sub(bytes);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        taken.is_ok()
    }
}

/// How a pattern is compiled.
#[derive(Clone, Copy)]
struct PatternCompiler {
    /// Whether it needs backtracking.
    backtracks: bool,
    /// The maximum compiled size, in bytes.
    size: usize,
}

impl PatternCompiler {
    fn limit(self, options: ValidationOptions<'_>) -> ValidationOptions<'_> {
        let Self {
            backtracks: back,
            size,
        } = self;
        if back {
            let limits = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKING);
            options.with_pattern_options(limits.size_limit(size).dfa_size_limit(size.max(CACHE)))
        } else {
            let limits = PatternOptions::regex().size_limit(size);
            options.with_pattern_options(limits.dfa_size_limit(size.max(CACHE)))
        }
    }

    /// The maximum length of a text to match.
    const fn max_text_len(self) -> usize {
        if self.backtracks {
            // Backtracking may scan the rest of the text from each position.
            (MAX_STEPS_BACK / self.size).isqrt()
        } else {
            MAX_STEPS / self.size
        }
    }
}

/// A compiled pattern for texts.
pub(super) struct Pattern {
    matcher: Validator,
    compiler: PatternCompiler,
}

impl Pattern {
    /// Compiles a pattern with the cheapest engine and size limit that it fits.
    pub(super) fn new(
        pattern: &Value,
        budget: &PatternBudget,
    ) -> Result<Self, ValidationError<'static>> {
        let alone = Value::Object(Map::from_iter([(PATTERN.to_owned(), pattern.clone())]));
        let full = || ValidationError::custom("it has more patterns than there is room for");
        let mut fault = None;
        for back in [false, true] {
            for size in SIZES {
                long_step();
                let compiler = PatternCompiler {
                    backtracks: back,
                    size,
                };
                match compiler.limit(jsonschema::options()).build(&alone) {
                    Ok(_) if !budget.reserve(size + CACHE) => return Err(full()),
                    Ok(matcher) => return Ok(Self { matcher, compiler }),
                    Err(error) => fault = Some(error),
                }
            }
        }
        Err(fault.unwrap_or_else(full))
    }

    /// Stops the check if a match could take too long.
    fn check_length(&self, value: &Value) {
        long_step();
        if value
            .as_str()
            .is_some_and(|text| text.len() > self.compiler.max_text_len())
        {
            stop(WorkStopped::TooLong);
        }
    }
}

impl<'i> Keyword<'i> for Pattern {
    fn is_valid(&self, value: &'i Value) -> bool {
        self.check_length(value);
        self.matcher.is_valid(value)
    }

    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        self.check_length(value);
        self.matcher.validate(value)
    }
}

/// The patterns for property names. The library matches each name with each pattern, without a step in between.
pub(super) struct Names {
    count: usize,
    compiler: PatternCompiler,
}

impl Names {
    /// Collects the patterns for property names anywhere in a schema.
    ///
    /// # Errors
    ///
    /// Why one of them cannot be used, as the end of a sentence about it.
    pub(super) fn collect(schema: &Value, budget: &PatternBudget) -> Result<Self, String> {
        let mut names = Self {
            count: 0,
            compiler: PatternCompiler {
                backtracks: false,
                size: SMALLEST,
            },
        };
        names.add(schema, budget)?;
        Ok(names)
    }

    fn add(&mut self, schema: &Value, budget: &PatternBudget) -> Result<(), String> {
        match schema {
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, budget)),
            Value::Object(fields) => fields.iter().try_for_each(|(keyword, field)| {
                let named = field.as_object().filter(|_| keyword == "patternProperties");
                for name in named.into_iter().flat_map(Map::keys) {
                    let pattern = Pattern::new(&Value::String(name.clone()), budget);
                    let compiler = pattern.map_err(|error| error.to_string())?.compiler;
                    self.count += 1;
                    self.compiler = PatternCompiler {
                        backtracks: self.compiler.backtracks || compiler.backtracks,
                        size: self.compiler.size.max(compiler.size),
                    };
                }
                self.add(field, budget)
            }),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// Applies the compile limits that all of them need.
    pub(super) fn limit<'a>(&self, options: ValidationOptions<'a>) -> ValidationOptions<'a> {
        self.compiler.limit(options)
    }

    /// Whether the names of a value can be matched with them in time.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        let mut left = if self.compiler.backtracks {
            MAX_NAMES_BACK_LENGTH
        } else {
            MAX_NAMES_LENGTH
        };
        self.count == 0 || self.names_fit(value, &mut left)
    }

    fn names_fit(&self, value: &Value, left: &mut usize) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| self.names_fit(item, left)),
            Value::Object(fields) => fields.iter().all(|(name, field)| {
                let cost = self.count.saturating_mul(name.len() + 1);
                let taken = left.checked_sub(cost).map(|less| *left = less);
                let short = name.len() <= MAX_NAME.min(self.compiler.max_text_len());
                taken.is_some() && short && self.names_fit(field, left)
            }),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => true,
        }
    }
}

/// The memory that a pattern needs for matching, besides its compiled form, in bytes.
const CACHE: usize = 64 << 10;
/// The maximum length of a name that is matched with patterns.
const MAX_NAME: usize = 1024;
/// The backtracking limit of one match.
const MAX_BACKTRACKING: usize = 30_000;
/// The maximum size of all compiled patterns of a schema, in bytes.
const MAX_TOTAL: usize = 64 << 20;
/// The maximum bytes of names times the number of patterns for names.
const MAX_NAMES_LENGTH: usize = 16 << 20;
/// Like `MAX_NAMES_LENGTH`, if one of the patterns needs backtracking.
const MAX_NAMES_BACK_LENGTH: usize = 256 << 10;
/// The maximum of pattern size times text length.
const MAX_STEPS: usize = 1 << 38;
/// The maximum of pattern size times the square of the text length, for backtracking.
const MAX_STEPS_BACK: usize = 1 << 41;
/// The compiled size limits that are tried in order, in bytes.
const SIZES: [usize; 3] = [SMALLEST, 256 << 10, 10 << 20];
const SMALLEST: usize = 16 << 10;
