//! Reads the web APIs that are tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderName, Method};
use jackfield_tools_web::{
    BodyForm, Parameter, ParameterPlace, Template, ToolConfig, WebTool, header_name,
};
use serde_json::{Map, Value};
use toml::de::DeValue;
use url::Url;

use crate::config::Config;
use crate::document::{Section, TableEntry};
use crate::file::{Trust, trust_help};
use crate::form::{self, ValueForm};
use crate::place::{ConfigProblem, ValueSource};
use crate::values::{any, filled, flag, text};
use crate::web::{EngineKind, Web, WebApi, WebSearch};
use jackfield_engine::near::did_you_mean;

/// Reads `[web]`. A tool replaces an earlier one of the same name entirely.
pub(crate) fn read(web: &mut Web, mut section: Section<'_>, trust: Trust) {
    form::keys! { let section;
        prefix: form::of(ValueForm::Text("web_"), prefix), "What the names of these tools begin with";
    }
    if let Some((prefix, place)) = prefix {
        if trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found does not name the tools of others";
            section.problem(ConfigProblem::new(place, message).with_help(help));
        }
        web.prefix = Some(prefix);
    }
    form::keys! { let section;
        read_pages: form::flag(), "Whether models can read public pages as text";
    }
    if let Some((read_pages, place)) = read_pages {
        own_only(&section, &place, trust);
        web.read_pages = read_pages;
    }
    search(web, section.section("search"), trust);
    let tools = section.section("tools");
    section.finish();
    let names = tools.again();
    for entry in tools.entries() {
        let table = Section::of(&names, &entry);
        let Some(mut api) = tool(&names, entry, table, trust) else {
            continue;
        };
        let name = Arc::clone(api.tool.name());
        if trust == Trust::Found {
            // Its claims about effects are not trusted, like those of an untrusted server.
            api.tool = api.tool.untrusted();
            web.found.insert(name, api);
        } else {
            web.tools.insert(name, api);
        }
    }
    if web.tools.len() + web.found.len() > LIMIT
        && let Some(place) = names.first_place()
    {
        let message = format!("there are more than {LIMIT} web APIs");
        names.problem(ConfigProblem::new(place, message));
    }
}

/// Reads `[web.search]`.
fn search(web: &mut Web, mut section: Section<'_>, trust: Trust) {
    let first = section.first_place();
    if let Some(place) = &first {
        own_only(&section, place, trust);
    }
    let engines = [
        ("brave", EngineKind::Brave),
        ("searxng", EngineKind::SearXng),
        ("serpapi", EngineKind::SerpApi),
        ("tavily", EngineKind::Tavily),
    ];
    let address = |value: &DeValue<'_>| {
        let text = filled(value)?;
        let url = Url::parse(&text).map_err(|error| error.to_string())?;
        if matches!(url.scheme(), "http" | "https") {
            Ok(url)
        } else {
            Err("an address with http:// or https:// is expected".to_owned())
        }
    };
    form::keys! { let section;
        engine: form::one_of(&engines), "The search engine";
        api_key_env: form::filled("TAVILY_API_KEY"), "The environment variable with its key";
        url: form::of(ValueForm::Text("http://localhost:8888"), address), "The address of a SearXNG server, or of a proxy";
    }
    section.finish();
    let (Some(place), Some((engine, _))) = (first, engine) else {
        return;
    };
    web.search = Some(WebSearch {
        engine,
        key_env: api_key_env.map(|(name, _)| name),
        place,
        url: url.map(|(url, _)| url),
    });
}

/// Refuses a setting that only the user's own files may have.
fn own_only(section: &Section<'_>, place: &ValueSource, trust: Trust) {
    if trust == Trust::Found {
        let help = trust_help(place);
        let message = "a file that was merely found gives models no access to the internet";
        section.problem(ConfigProblem::new(place.clone(), message).with_help(help));
    }
}

/// Records the raw values of web APIs for [`Config::explain`], where the last definition of an API counts
/// entirely.
pub(crate) fn whole(
    config: &mut Config,
    mut said: Vec<(Value, ValueSource)>,
    trust: Trust,
) -> Vec<(Value, ValueSource)> {
    let tool = |key: &str| {
        let name = key.strip_prefix("web.tools.")?.split('.').next()?;
        Some(name.to_owned())
    };
    let of = |place: &ValueSource| place.key.as_deref().and_then(tool);
    if trust == Trust::Found {
        // The user's own API of this name is the one that is shown.
        let own = &config.web.tools;
        said.retain(|(_, place)| of(place).is_none_or(|name| !own.contains_key(&*name)));
    } else {
        let new: Vec<String> = said.iter().filter_map(|(_, place)| of(place)).collect();
        let old = &mut config.raw_values.0;
        old.retain(|key, _| tool(key).is_none_or(|name| !new.contains(&name)));
    }
    said
}

fn tool(
    names: &Section<'_>,
    entry: TableEntry<'_>,
    mut table: Section<'_>,
    trust: Trust,
) -> Option<WebApi> {
    let mut places: BTreeMap<String, ValueSource> = BTreeMap::new();
    let missing = |key: &str, what: &str| {
        let message = format!("`{key}` is missing: {what}");
        names.problem(ConfigProblem::new(entry.place.clone(), message));
    };
    let has = table.again().entries();
    let has = |key: &str| has.iter().any(|entry| &*entry.name == key);
    let words = form::filled("The weather of a city");
    let parse =
        |value: &DeValue<'_>| Template::parse(&filled(value)?).map_err(|error| error.to_string());
    form::keys! { let table;
        description: words, "What the tool does and when to use it, for the model";
        url: form::of(ValueForm::Text("https://api.example.com/v1/{city}"), parse), "The address";
        method: form::one_of(METHODS), "The method";
        result: form::filled("/current"), "Which part of the answer is the outcome";
    }
    if description.is_none() && !has("description") {
        missing(
            "description",
            "what the tool does and when to use it, for the model",
        );
    }
    if url.is_none() && !has("url") {
        missing(
            "url",
            "the address, such as \"https://api.example.com/v1/{city}\"",
        );
    }
    if trust == Trust::Found
        && let Some((url, place)) = &url
        && url.variables().next().is_some()
    {
        no_variables(names, place);
    }
    let mut kept = |key: &str, place: ValueSource| places.insert(key.to_owned(), place);
    // An unusable API is parsed to the end, to report its other problems.
    let usable = description.is_some() && url.is_some();
    let (description, _) = description.unwrap_or_else(|| ("".into(), entry.place.clone()));
    let (url, place) = match url {
        Some(url) => url,
        None => (
            Template::parse("https://localhost").ok()?,
            entry.place.clone(),
        ),
    };
    kept("url", place);
    let mut config = ToolConfig::new(Arc::clone(&entry.name), description, url);
    let bodies = [("form", BodyForm::Form), ("json", BodyForm::Json)];
    form::keys! { table over config;
        body: form::one_of(&bodies), "The form of the body";
        icon: form::filled("☀"), "A sign for people";
        idempotency_key: form::flag(), "Whether the key of a call is sent along";
        idempotent: form::flag(), "Whether a call may be repeated";
        read_only: form::flag(), "Whether it changes nothing";
        timeout: form::duration("10s"), "How long a call may take";
        title: form::filled("Weather"), "Its name for people";
    }
    if let Some((method, place)) = method {
        config.method = method;
        kept("method", place);
    }
    if let Some((result, place)) = result {
        config.result = Some(result);
        kept("result", place);
    }
    let headers = headers(table.section("headers"), trust);
    let parameters = table.section("parameters");
    table.finish();
    let tables = parameters.again();
    for entry in parameters.entries() {
        let table = Section::of(&tables, &entry);
        let key = format!("parameters.{}", entry.name);
        kept(&key, entry.place.clone());
        let read = parameter(Arc::clone(&entry.name), table, |field, place| {
            kept(&format!("{key}.{field}"), place);
        });
        config.parameters.push(read);
    }
    if !usable {
        return None;
    }
    let tool = WebTool::new(config).map_err(|faults| {
        for fault in faults {
            let place = place_of(&places, &fault.key).unwrap_or(&entry.place);
            names.problem(ConfigProblem::new(place.clone(), fault.message));
        }
    });
    Some(WebApi {
        headers,
        place: entry.place.clone(),
        tool: tool.ok()?,
    })
}

/// The place of a setting, or of the nearest table above it.
fn place_of<'a>(places: &'a BTreeMap<String, ValueSource>, key: &str) -> Option<&'a ValueSource> {
    places.get(key).or_else(|| {
        let (above, _) = key.rsplit_once('.')?;
        place_of(places, above)
    })
}

fn no_variables(section: &Section<'_>, place: &ValueSource) {
    let message = "a file that was merely found gets no variables";
    let problem = ConfigProblem::new(place.clone(), message);
    section.problem(problem.with_help(trust_help(place)));
}

fn headers(section: Section<'_>, trust: Trust) -> Vec<(HeaderName, Arc<str>)> {
    let table = section.again();
    let mut headers: Vec<(HeaderName, Arc<str>)> = Vec::new();
    for entry in section.entries() {
        let value = form::text("application/json");
        let about = "The value of a header; ${NAME} is filled in";
        let Some(value) = table.value(&entry, value, about) else {
            continue;
        };
        if trust == Trust::Found && value.contains("${") {
            no_variables(&table, &entry.place);
        }
        match header_name(&entry.name) {
            Ok(name) if headers.iter().any(|(other, _)| *other == name) => {
                let message = "this header is there already, in other letters";
                table.problem(ConfigProblem::new(entry.place, message));
            }
            Ok(name) => headers.push((name, value)),
            Err(message) => table.problem(ConfigProblem::new(entry.place, message)),
        }
    }
    headers
}

/// Parses a parameter: its place in the request, and its schema.
fn parameter(
    own: Arc<str>,
    mut table: Section<'_>,
    mut kept: impl FnMut(&str, ValueSource),
) -> Parameter {
    let parts = [
        ("body", ParameterPlace::Body),
        ("header", ParameterPlace::Header),
        ("path", ParameterPlace::Path),
        ("query", ParameterPlace::Query),
    ];
    let part = table.take("in", form::one_of(&parts), "Where the parameter goes");
    // On an object, `required` is a list, and belongs to the schema.
    let either = |value: &DeValue<'_>| {
        if value.is_array() {
            any(value)
        } else {
            flag(value).map(Value::Bool)
        }
    };
    let either = form::of(ValueForm::Required, either);
    form::keys! { let table;
        name: form::filled("q"), "What it is called there";
        required: either, "Whether it has to be given; of an object, what of it has to be";
    }
    let rest = table.again();
    let mut schema = Map::new();
    for entry in table.rest() {
        if !KEYWORDS.contains(&&*entry.name) {
            let known: Vec<&str> = KEYWORDS.iter().chain(OURS).copied().collect();
            let message = format!("unknown{}", did_you_mean(&entry.name, &known));
            rest.problem(ConfigProblem::new(entry.place, message));
            continue;
        }
        let Some(value) = rest.value(&entry, form::any(), "") else {
            continue;
        };
        if &*entry.name == "type" && !is_type(&value) {
            let given = value.as_str().unwrap_or_default();
            let message = format!("`{given}` is no type{}", did_you_mean(given, TYPES));
            rest.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        schema.insert(entry.name.to_string(), value);
        kept(&entry.name, entry.place);
    }
    let mut parameter = Parameter::new(own, Map::new());
    if let Some((part, place)) = part {
        parameter.part = Some(part);
        kept("in", place);
    }
    if let Some((wire, place)) = name {
        parameter.wire = Some(wire);
        kept("name", place);
    }
    match required {
        Some((Value::Bool(required), place)) => {
            parameter.required = Some(required);
            kept("required", place);
        }
        Some((list, _)) => {
            schema.insert("required".to_owned(), list);
        }
        None => {}
    }
    parameter.schema = schema;
    parameter
}

/// Whether the value is one type name or several.
fn is_type(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    value
        .as_array()
        .map_or_else(|| known(value), |types| types.iter().all(known))
}

/// Parses the prefix of tool names.
fn prefix(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = text(value)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.len() > MAX_PREFIX || !text.chars().all(fits) {
        return Err(format!(
            "a prefix has at most {MAX_PREFIX} letters, digits, `_` and `-`"
        ));
    }
    Ok(text.into())
}

/// The allowed JSON Schema (2020-12) keywords of a parameter; none that refers to other schemas.
pub(crate) const KEYWORDS: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "title",
    "type",
    "uniqueItems",
];
/// The maximum length of a prefix of tool names.
const MAX_PREFIX: usize = 32;
const METHODS: &[(&str, Method)] = &[
    ("DELETE", Method::DELETE),
    ("GET", Method::GET),
    ("HEAD", Method::HEAD),
    ("PATCH", Method::PATCH),
    ("POST", Method::POST),
    ("PUT", Method::PUT),
];
/// The maximum number of web APIs.
const LIMIT: usize = 200;
/// The keys of a parameter that are not part of its schema.
const OURS: &[&str] = &["in", "name"];
/// The types of JSON Schema.
const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];
