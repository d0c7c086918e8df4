//! The forms of values: how each is parsed, and its JSON Schema.
//!
//! A key is stated once, where it is read: with its form, an example, and a description for editors.

use std::sync::Arc;
use std::time::Duration as Time;

use jackfield_domain::note::NoteEffect;
use jackfield_domain::price::ServiceTier;
use serde_json::{Value, json};
use toml::de::DeValue;

use crate::tool_modes::MODES;
use crate::values::{self, RATES};

/// Reads keys, each a line with its form and description: over the fields of the same names, or into variables.
macro_rules! keys {
    ($section:ident over $fields:expr; $($name:ident: $form:expr, $about:literal;)+) => {
        $($section.set(stringify!($name), $form, $about, &mut $fields.$name);)+
    };
    (let $section:ident; $($name:ident: $form:expr, $about:literal;)+) => {
        $(let $name = $section.take(stringify!($name), $form, $about);)+
    };
}

pub(crate) use keys;

/// The form of a value, and its parser.
pub(crate) struct Form<P> {
    pub(crate) parse: P,
    pub(crate) schema: ValueForm,
}

/// A function that parses a value.
type Parser<T> = fn(&DeValue<'_>) -> Result<T, String>;

/// A form with this parser.
pub(crate) const fn of<P>(schema: ValueForm, parse: P) -> Form<P> {
    Form { parse, schema }
}

/// Any value.
pub(crate) const fn any() -> Form<Parser<Value>> {
    of(ValueForm::Any, values::any)
}

/// A number in a range.
pub(crate) fn between(
    low: f64,
    high: f64,
) -> Form<impl FnOnce(&DeValue<'_>) -> Result<f64, String>> {
    of(ValueForm::Number(low, high), values::between(low, high))
}

/// A duration.
pub(crate) const fn duration(example: &'static str) -> Form<Parser<Time>> {
    of(ValueForm::Duration(example), values::duration)
}

/// A string that is not blank.
pub(crate) const fn filled(example: &'static str) -> Form<Parser<Arc<str>>> {
    of(ValueForm::Text(example), values::filled)
}

/// True or false.
pub(crate) const fn flag() -> Form<Parser<bool>> {
    of(ValueForm::Flag, values::flag)
}

/// One of these words.
pub(crate) fn one_of<T: Clone>(
    words: &[(&'static str, T)],
) -> Form<impl FnOnce(&DeValue<'_>) -> Result<T, String>> {
    let names = words.iter().map(|(name, _)| *name).collect();
    of(ValueForm::Words(names), values::one_of(words))
}

/// An integer of at least 1.
pub(crate) const fn positive() -> Form<Parser<u32>> {
    of(ValueForm::Whole(1), values::at_least_one)
}

/// A number of bytes, or a size.
pub(crate) const fn size(example: &'static str) -> Form<Parser<usize>> {
    of(ValueForm::Size(example), values::size)
}

/// A string.
pub(crate) const fn text(example: &'static str) -> Form<Parser<Arc<str>>> {
    of(ValueForm::Text(example), values::shared)
}

/// Several strings.
pub(crate) const fn texts(example: &'static str) -> Form<Parser<Vec<Arc<str>>>> {
    of(ValueForm::Texts(example), values::texts)
}

/// An integer of at least this.
pub(crate) fn whole<T: TryFrom<i128>>(least: i64) -> Form<Parser<T>> {
    of(ValueForm::Whole(least), values::whole)
}

/// The form of a value; some have an example.
#[derive(Debug)]
pub(crate) enum ValueForm {
    /// An amount of money.
    Amount,
    /// Any value.
    Any,
    /// A duration.
    Duration(&'static str),
    /// True or false.
    Flag,
    /// A table of tables with free names.
    Free,
    /// An amount of money, with an optional currency.
    Money,
    /// A number between two others.
    Number(f64, f64),
    /// What longer requests and other service tiers cost.
    PriceVariants,
    /// Whether a parameter is required, or a list of required fields.
    #[cfg_attr(
        not(feature = "web"),
        expect(dead_code, reason = "parameters of web APIs have it")
    )]
    Required,
    /// A response format.
    ResponseFormat,
    /// A number of bytes, or a size.
    Size(&'static str),
    /// A strictness.
    Strict,
    /// The targets of a route.
    Targets,
    /// A string.
    Text(&'static str),
    /// Several strings.
    Texts(&'static str),
    /// The thinking settings of a model.
    Thinking,
    /// Whether and how models are given tools.
    ToolMode,
    /// How models are given tools, by patterns of their names.
    ToolModes,
    /// A selection of tools.
    Tools,
    /// An integer of at least this.
    Whole(i64),
    /// One of these words.
    Words(Vec<&'static str>),
}

impl ValueForm {
    /// The schema, with the description of the value.
    pub(crate) fn schema(&self, about: &str) -> Value {
        let mut schema = self.bare();
        if let (Value::Object(fields), false) = (&mut schema, about.is_empty()) {
            fields.insert("description".to_owned(), about.into());
        }
        schema
    }

    fn bare(&self) -> Value {
        match self {
            Self::Amount => json!({ "type": "number", "minimum": 0, "examples": [2.5] }),
            Self::Any => json!({}),
            Self::Duration(example) => json!({ "type": "string", "examples": [example] }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Free => json!({
                "type": "object",
                "additionalProperties": { "type": "object" },
            }),
            Self::Money => json!({ "oneOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+([.][0-9]+)?( [A-Z]{3})?$" },
            ], "examples": [0.5, "0.50 USD"] }),
            Self::Number(low, high) => json!({
                "type": "number", "minimum": low, "maximum": high, "examples": [high],
            }),
            Self::PriceVariants => {
                let rates = RATES.map(|rate| (rate.to_owned(), Self::Amount.bare()));
                let mut fields = serde_json::Map::from_iter(rates);
                fields.insert("above".to_owned(), Self::Whole(0).bare());
                let tiers = ServiceTier::NAMES.iter().map(|(name, _)| *name);
                let tiers = tiers.filter(|name| *name != ServiceTier::Other.as_str());
                fields.insert("tier".to_owned(), Self::Words(tiers.collect()).bare());
                json!({
                    "type": "array",
                    "items": { "oneOf": [{
                        "type": "object",
                        "properties": fields,
                        "required": ["input", "output"],
                        "additionalProperties": false,
                    }] },
                    "examples": [[]],
                })
            }
            Self::Required => json!({ "type": ["boolean", "array"], "examples": [true] }),
            Self::ResponseFormat => json!({ "oneOf": [
                { "type": "string", "enum": ["json_object", "text"] },
                {
                    "type": "object",
                    "properties": {
                        "description": { "type": "string", "minLength": 1 },
                        "name": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" },
                        "schema": { "type": ["object", "string"] },
                        "strict": { "type": "boolean" },
                    },
                    "required": ["schema"],
                    "additionalProperties": false,
                },
            ], "examples": ["json_object", "text"] }),
            Self::Size(example) => json!({ "oneOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+ ?([kKmMgG][iI]?)?[bB]?$" },
            ], "examples": [example, 4096] }),
            Self::Strict => {
                let effects = NoteEffect::NAMES.iter().map(|(name, _)| json!(name));
                json!({ "enum": effects.chain([json!(false)]).collect::<Vec<_>>() })
            }
            Self::Targets => json!({
                "type": "array",
                "items": { "oneOf": [
                    { "type": "string", "minLength": 1 },
                    {
                        "type": "object",
                        "properties": {
                            "audio": { "type": "boolean" },
                            "documents": { "type": "boolean" },
                            "first_byte": { "type": "string", "examples": ["20s"] },
                            "images": { "type": "boolean" },
                            "model": { "type": "string", "minLength": 1 },
                            "tier": { "type": "integer", "minimum": 0 },
                            "tools": { "type": "boolean" },
                            "weight": { "type": "integer", "minimum": 1, "maximum": 1_000_000 },
                        },
                        "required": ["model"],
                        "additionalProperties": false,
                    },
                ] },
                "maxItems": 32,
                "examples": [["claude/claude-opus-5-5"]],
            }),
            Self::Text(example) => json!({ "type": "string", "examples": [example] }),
            Self::Texts(example) => json!({
                "type": "array", "items": { "type": "string" }, "examples": [[example]],
            }),
            Self::Thinking => json!({ "oneOf": [
                { "type": "string", "enum": ["adaptive", "off"] },
                { "type": "integer", "minimum": 1 },
            ], "examples": ["adaptive", "off", 4096] }),
            Self::ToolMode => {
                let modes = MODES.iter().map(|(name, _)| json!(name));
                let values: Vec<Value> = [json!(true), json!(false)]
                    .into_iter()
                    .chain(modes)
                    .collect();
                json!({ "enum": values })
            }
            Self::ToolModes => json!({
                "type": "object",
                "additionalProperties": { "enum": MODES.map(|(name, _)| name) },
            }),
            Self::Tools => json!({
                "type": ["string", "array"],
                "pattern": "^(all|none)$",
                "items": { "type": "string" },
                "examples": ["all", "none", ["builtin/*"]],
            }),
            Self::Whole(least) => json!({
                "type": "integer", "minimum": least, "examples": [least],
            }),
            Self::Words(words) => json!({ "type": "string", "enum": words }),
        }
    }
}
