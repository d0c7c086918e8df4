//! Puts the model's arguments into a request.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use jackfield_provider_kit::guarded::GuardedRequest;
use jackfield_provider_kit::secret::Secret;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::config::{BodyForm, ParameterPlace, header_value};
use crate::tool::{PlacedParameter, WebTool};

impl WebTool {
    /// The request for these arguments, with this idempotency key if the tool is configured to send one.
    ///
    /// # Errors
    ///
    /// A sentence for the model about an argument that cannot be sent.
    pub(crate) fn request(
        &self,
        arguments: &Map<String, Value>,
        key: &str,
    ) -> Result<GuardedRequest, String> {
        let is_unknown = |name: &&String| !self.placed.iter().any(|placed| *placed.name == ***name);
        if let Some(unknown) = arguments.keys().find(is_unknown) {
            return Err(format!("there is no parameter `{unknown}`"));
        }
        let mut supplied: Vec<(&PlacedParameter, &Value)> = Vec::new();
        for placed in &self.placed {
            let chosen = arguments.get(&*placed.name).or(placed.default.as_ref());
            match chosen.filter(|value| !value.is_null()) {
                Some(value) => supplied.push((placed, value)),
                None if placed.required => return Err(format!("`{}` is missing", placed.name)),
                None => {}
            }
        }
        let (mut templated, mut query) = (Vec::new(), Vec::new());
        let (mut fields, mut headers) = (Vec::new(), HeaderMap::new());
        for (placed, value) in supplied {
            match placed.part {
                ParameterPlace::Path | ParameterPlace::Query if placed.templated => {
                    templated.push((&*placed.name, joined(placed, value)?));
                }
                ParameterPlace::Path | ParameterPlace::Query => {
                    let values = list_items(placed, value)?;
                    query.extend(values.into_iter().map(|value| (&*placed.wire, value)));
                }
                ParameterPlace::Body => fields.push((placed, value)),
                ParameterPlace::Header => {
                    let name = HeaderName::from_bytes(placed.wire.as_bytes());
                    let value = joined(placed, value)?;
                    if value.len() > MAX_HEADER {
                        return Err(format!(
                            "`{}` goes into a header, which takes {MAX_HEADER} bytes at most",
                            placed.name
                        ));
                    }
                    let value = header_value(&value);
                    let (Ok(name), Some(value)) = (name, value) else {
                        return Err(format!(
                            "`{}` goes into a header, which takes letters, digits and signs of ASCII alone",
                            placed.name
                        ));
                    };
                    headers.insert(name, value);
                }
            }
        }
        let value = |name: &str| {
            let mut values = templated.iter();
            let found = values.find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        };
        let more: Vec<(&str, &str)> = query.iter().map(|(name, text)| (*name, &**text)).collect();
        let config = &self.config;
        let variable = |name: &str| self.variables.get(name).map(Secret::expose);
        let url = config.url.fill(value, variable, &more);
        let url = url.map_err(|unfit| unfit.to_string())?;
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static(ACCEPTED));
        let body = self.body(&fields, &mut headers)?;
        if config.idempotency_key
            && let Ok(key) = HeaderValue::from_str(key)
        {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        // Configured headers take precedence over the model's.
        for header in &self.headers {
            headers.insert(header.name.clone(), header.value.clone());
        }
        Ok(GuardedRequest {
            body,
            headers,
            method: config.method.clone(),
            url,
        })
    }

    fn body(
        &self,
        fields: &[(&PlacedParameter, &Value)],
        headers: &mut HeaderMap,
    ) -> Result<Bytes, String> {
        if !self
            .placed
            .iter()
            .any(|placed| placed.part == ParameterPlace::Body)
        {
            return Ok(Bytes::new());
        }
        let (media_type, body) = match self.config.body {
            BodyForm::Form => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                for (placed, value) in fields {
                    for value in list_items(placed, value)? {
                        form.append_pair(&placed.wire, &value);
                    }
                }
                (FORM, form.finish())
            }
            BodyForm::Json => {
                let fields = fields
                    .iter()
                    .map(|(placed, value)| (placed.wire.to_string(), (*value).clone()));
                (JSON, Value::Object(fields.collect()).to_string())
            }
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Ok(body.into())
    }
}

/// One string: the elements of a list joined by commas.
fn joined(placed: &PlacedParameter, value: &Value) -> Result<String, String> {
    Ok(list_items(placed, value)?.join(","))
}

/// One string for each element of a list, or a single one for another value.
fn list_items(placed: &PlacedParameter, value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| scalar(&placed.name, item))
            .collect(),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) | Value::String(_) => {
            Ok(vec![scalar(&placed.name, value)?])
        }
    }
}

fn scalar(name: &Arc<str>, value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null => Ok(String::new()),
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(_) | Value::Object(_) => Err(format!(
            "`{name}` is a text, a number, true or false, or a list of these"
        )),
    }
}

const ACCEPTED: &str = "application/json, text/*;q=0.9, */*;q=0.5";
const FORM: &str = "application/x-www-form-urlencoded";
/// draft-ietf-httpapi-idempotency-key-header; as used by Stripe and others.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The longest header value in bytes. Servers accept 8 KiB for all headers together.
const MAX_HEADER: usize = 4_096;
const JSON: &str = "application/json";
