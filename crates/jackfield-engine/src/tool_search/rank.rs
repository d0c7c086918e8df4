//! Ranks tools by how well their words fit a query: BM25 over names, descriptions and arguments.

use std::collections::HashMap;

use jackfield_domain::tool::{CatalogEntry, InputFormat};
use serde_json::Value;

use super::words::each_word;

/// The tools that fit a query best, the best first; of equal ones those of the first names. Tools that share no word
/// with the query are left out.
pub(super) fn best<'a>(
    tools: &[&'a CatalogEntry],
    query: &str,
    limit: usize,
) -> Vec<&'a CatalogEntry> {
    let mut terms: HashMap<String, usize> = HashMap::new();
    each_word(cut(query, MAX_QUERY), |word| {
        let next = terms.len();
        terms.entry(word.to_owned()).or_insert(next);
    });
    let counted: Vec<Counted> = tools
        .iter()
        .map(|tool| Counted::new(tool, &terms))
        .collect();
    let all = counted.len() as f64;
    let average = counted.iter().map(|tool| tool.length).sum::<f64>() / all.max(1.0);
    let weights: Vec<f64> = (0..terms.len())
        .map(|term| {
            let having = counted.iter().filter(|tool| tool.counts[term] > 0.0);
            let having = having.count() as f64;
            ((all - having + 0.5) / (having + 0.5)).ln_1p()
        })
        .collect();
    let mut scored: Vec<(f64, &CatalogEntry)> = counted
        .iter()
        .zip(tools)
        .map(|(counted, tool)| (counted.score(&weights, average), *tool))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    // Stable, and the tools are in the order of their names.
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    scored.truncate(limit);
    scored.into_iter().map(|(_, tool)| tool).collect()
}

/// How often a tool has each term of a query, by the weight of the place.
struct Counted {
    counts: Vec<f64>,
    length: f64,
}

impl Counted {
    fn new(tool: &CatalogEntry, terms: &HashMap<String, usize>) -> Self {
        let mut counted = Self {
            counts: vec![0.0; terms.len()],
            length: 0.0,
        };
        let mut add = |text: &str, weight: f64| {
            each_word(text, |word| {
                counted.length += weight;
                if let Some(term) = terms.get(word) {
                    counted.counts[*term] += weight;
                }
            });
        };
        add(&tool.origin.tool, NAME);
        add(tool.origin.toolbox.as_str(), TOOLBOX);
        add(tool.title.as_deref().unwrap_or_default(), TITLE);
        add(cut(&tool.definition.description, MAX_TEXT), DESCRIPTION);
        if let InputFormat::Json(schema) = &tool.definition.input {
            let mut left = MAX_TEXT;
            each_argument(schema, MAX_DEPTH, &mut |text| {
                let text = cut(text, left);
                left -= text.len();
                add(text, ARGUMENT);
            });
        }
        counted
    }

    fn score(&self, weights: &[f64], average: f64) -> f64 {
        let length = 1.0 - LENGTH + LENGTH * self.length / average.max(1.0);
        let terms = self.counts.iter().zip(weights);
        terms
            .map(|(count, weight)| {
                weight * count * (SATURATION + 1.0) / (count + SATURATION * length)
            })
            .sum()
    }
}

/// Calls `each` with the names and descriptions of the arguments in a schema, to this depth.
fn each_argument(schema: &Value, depth: usize, each: &mut impl FnMut(&str)) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, argument) in properties.into_iter().flatten() {
        each(name);
        if let Some(description) = argument.get("description").and_then(Value::as_str) {
            each(description);
        }
        if depth > 1 {
            each_argument(argument, depth - 1, each);
            if let Some(items) = argument.get("items") {
                each_argument(items, depth - 1, each);
            }
        }
    }
}

fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The weights of a word by its place.
const ARGUMENT: f64 = 0.5;
const DESCRIPTION: f64 = 1.0;
const NAME: f64 = 3.0;
const TITLE: f64 = 2.0;
const TOOLBOX: f64 = 1.0;
/// BM25's b: how much long texts count less.
const LENGTH: f64 = 0.75;
/// BM25's k1: how soon further occurrences add little.
const SATURATION: f64 = 1.2;
/// The most bytes of a query that are read.
const MAX_QUERY: usize = 1_000;
/// The most bytes of a description that are read, and of the arguments.
const MAX_TEXT: usize = 4 << 10;
/// How many levels of arguments are read.
const MAX_DEPTH: usize = 3;
