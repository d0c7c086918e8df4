//! A vendor that keeps the responses of its API.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream};
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct Vendor(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The responses, and how often each was asked for.
    kept: BTreeMap<String, (Value, usize)>,
    made: usize,
    seen: Vec<Seen>,
}

/// A request.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) body: String,
    /// Its method, path and query.
    pub(super) route: String,
}

impl Vendor {
    /// What it was sent since the last call.
    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.locked().seen)
    }

    /// Keeps a response that did not come from a gateway.
    pub(super) fn keep(&self, id: &str) -> String {
        let response = response(id, "gpt", "completed");
        self.locked().kept.insert(id.to_owned(), (response, 0));
        id.to_owned()
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic under the lock")
    }
}

impl State {
    fn make(&mut self, body: &str) -> (&'static str, String) {
        let asked: Value = serde_json::from_str(body).expect("JSON");
        self.made += 1;
        let id = format!("resp_{}", self.made);
        let model = asked["model"].as_str().expect("a model");
        let is_background = asked["background"] == true;
        let status = if is_background { "queued" } else { "completed" };
        let made = response(&id, model, status);
        if asked["store"] != false {
            self.kept.insert(id.clone(), (made.clone(), 0));
        }
        if asked["stream"] == true {
            return (EVENTS, events(&id, model));
        }
        (JSON, made.to_string())
    }

    fn show(&mut self, id: &str, query: &str) -> Option<(&'static str, String)> {
        let (response, times) = self.kept.get_mut(id)?;
        *times += 1;
        let model = response["model"].as_str().expect("a model").to_owned();
        if query.contains("stream=true") {
            return Some((EVENTS, events(id, &model)));
        }
        if response["status"] == "queued" {
            let status = ["in_progress", "completed"][usize::from(*times > 1)];
            return Some((JSON, self::response(id, &model, status).to_string()));
        }
        Some((JSON, response.to_string()))
    }

    fn answer(&mut self, request: &Seen) -> Option<(&'static str, String)> {
        let (path, query) = request
            .route
            .split_once('?')
            .unwrap_or((&request.route, ""));
        let (method, path) = path.split_once(' ').expect("a method");
        let mut parts = path
            .strip_prefix("/v1/responses")
            .expect("a path")
            .split('/');
        let (_, id, action) = (parts.next(), parts.next(), parts.next());
        match (method, id, action) {
            ("POST", None, None) => Some(self.make(&request.body)),
            ("GET", Some(id), None) => self.show(id, query),
            ("DELETE", Some(id), None) => {
                self.kept.remove(id)?;
                let deleted = json!({ "id": id, "object": "response", "deleted": true });
                Some((JSON, deleted.to_string()))
            }
            ("POST", Some(id), Some("cancel")) => self.show(id, ""),
            ("GET", Some(id), Some("input_items")) => {
                self.kept.get(id)?;
                let items = json!({ "object": "list", "data": [{ "id": "msg_1" }] });
                Some((JSON, items.to_string()))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[async_trait]
impl Upstream for Vendor {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        const {
            &[
                Cow::Borrowed("/v1/responses"),
                Cow::Borrowed("/v1/responses/*"),
            ]
        }
    }

    async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError> {
        assert!(self.serves(&request.path), "{}", request.path);
        let query = request.query.map(|query| format!("?{query}"));
        let query = query.unwrap_or_default();
        let seen = Seen {
            body: String::from_utf8(request.body.to_vec()).expect("text"),
            route: format!("{} {}{query}", request.method, request.path),
        };
        let mut state = self.locked();
        let (status, (kind, body)) = match state.answer(&seen) {
            Some(answer) => (StatusCode::OK, answer),
            None => (StatusCode::NOT_FOUND, (JSON, NOT_FOUND.to_owned())),
        };
        state.seen.push(seen);
        Ok(RawReply {
            body: Box::new(Pieces(body.into())),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
            status,
        })
    }
}

/// A body in short pieces.
struct Pieces(Bytes);

#[async_trait]
impl RawBody for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let length = self.0.len().min(50);
        Ok((length > 0).then(|| self.0.split_to(length)))
    }
}

fn response(id: &str, model: &str, status: &str) -> Value {
    let usage = json!({
        "input_tokens": 3, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 8,
    });
    let usage = if status == "completed" {
        usage
    } else {
        Value::Null
    };
    json!({
        "id": id, "object": "response", "model": model, "status": status, "output": [], "usage": usage,
    })
}

/// The events of a response.
pub(super) fn events(id: &str, model: &str) -> String {
    let event = |nth: usize, name: &str, status: &str| {
        let data = json!({
            "type": name, "sequence_number": nth, "response": response(id, model, status),
        });
        format!("event: {name}\ndata: {data}\n\n")
    };
    event(0, "response.created", "in_progress") + &event(1, "response.completed", "completed")
}

/// Its answer for a response that it does not have.
pub(super) const NOT_FOUND: &str = r#"{"error":{"message":"none","type":"invalid_request_error"}}"#;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
