//! A server that speaks as Claude does, and says what a script says.

mod speak;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request::{self, Incoming};
use jackfield_dialect_claude::{DIALECT, validator};
use jackfield_domain::message::Messages;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_testkit::server::{RecordedRequest, Response, Server};
use serde_json::{Value, json};

use crate::checks::{self, Violation};
use crate::script::{Asked, Says, Script};

/// A scripted Claude. Dropping it closes its port, and fails the test if there are violations that
/// nobody looked at.
pub struct ScriptedClaude {
    server: Server,
    shared: Arc<Mutex<Shared>>,
}

/// What requests did, and what is yet to be said.
struct Shared {
    bodies: Vec<Value>,
    looked_at: bool,
    script: Script,
    violations: Vec<String>,
}

impl ScriptedClaude {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies come in the order of the script; a request that finds none left is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub async fn start(script: impl Into<Script>) -> Self {
        let shared = Arc::new(Mutex::new(Shared {
            bodies: Vec::new(),
            looked_at: false,
            script: script.into(),
            violations: Vec::new(),
        }));
        let own = Arc::clone(&shared);
        let server = Server::start_with(move |request| lock(&own).answer(request)).await;
        Self { server, shared }
    }

    /// Where it listens, as `http://127.0.0.1:port`.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The bodies that were posted to `/v1/messages` so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.shared).bodies.clone()
    }

    /// The server below, for whoever wants headers or connections.
    #[must_use]
    pub const fn server(&self) -> &Server {
        &self.server
    }

    /// The rules that requests broke so far, each with the request and the place.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut shared = lock(&self.shared);
        shared.looked_at = true;
        shared.violations.clone()
    }

    /// How many turns of the script were not used so far.
    #[must_use]
    pub fn unused(&self) -> usize {
        lock(&self.shared).script.unused()
    }
}

impl Drop for ScriptedClaude {
    fn drop(&mut self) {
        let shared = lock(&self.shared);
        let unseen = !shared.looked_at && !shared.violations.is_empty();
        assert!(
            !unseen || std::thread::panicking(),
            "requests broke the vendor's rules:\n{}",
            shared.violations.join("\n")
        );
    }
}

impl fmt::Debug for ScriptedClaude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedClaude")
            .field("base_url", &self.base_url())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn answer(&mut self, request: &RecordedRequest) -> Response {
        let path = request.path.split('?').next().unwrap_or_default();
        match (request.method.as_str(), path) {
            ("POST", "/v1/messages") => self.reply(request),
            ("GET", "/v1/models") => {
                let list =
                    json!({ "data": [], "has_more": false, "first_id": null, "last_id": null });
                Response::json(200, list.to_string())
            }
            // For those who have the server as a process.
            ("GET", "/scripted/requests") => Response::json(200, json!(self.bodies).to_string()),
            ("GET", "/scripted/violations") => {
                Response::json(200, json!(self.violations).to_string())
            }
            ("GET", "/scripted/unused") => {
                Response::json(200, json!(self.script.unused()).to_string())
            }
            (_, _) => speak::refuse(404, "not_found_error", "Not Found", self.bodies.len()),
        }
    }

    fn reply(&mut self, request: &RecordedRequest) -> Response {
        let nth = self.bodies.len();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.bodies.push(body.clone());
        let (incoming, broken) = read(request, &body);
        let Some(incoming) = incoming.filter(|_| broken.is_empty()) else {
            let report: Vec<String> = broken.iter().map(ToString::to_string).collect();
            let lines = report.iter().map(|line| format!("request {nth}: {line}"));
            self.violations.extend(lines);
            return speak::refuse(400, "invalid_request_error", &report.join("; "), nth);
        };
        let stream = incoming.stream;
        let model = Arc::clone(&incoming.model);
        let asked = Asked {
            body: &body,
            nth,
            request: &model_request(incoming),
        };
        let Some(turn) = self.script.next(&asked) else {
            let problem = "the script has nothing to say to this";
            self.violations.push(format!("request {nth}: {problem}"));
            return speak::refuse(500, "api_error", problem, nth);
        };
        let response = match &turn.says {
            Says::Reply(reply) => speak::respond(reply, nth, &model, stream),
            Says::Wire(response) => response.clone(),
        };
        turn.befall(response)
    }
}

/// The request in domain terms, and the rules that it breaks.
fn read(request: &RecordedRequest, body: &Value) -> (Option<Incoming>, Vec<Violation>) {
    let mut broken = checks::headers(|name| request.header(name));
    let version = request.header("anthropic-version").unwrap_or_default();
    broken.extend(checks::claude(body, version));
    let model = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // Two judges, and one report for each place.
    for violation in validator::check(body, &profile(model, version)) {
        if !broken.iter().any(|known| known.at == violation.path) {
            broken.push(Violation {
                at: violation.path,
                fault: violation.rule.to_string(),
            });
        }
    }
    let owner = StateOwner {
        dialect: DIALECT.into(),
        endpoint: "http://scripted".into(),
        model: model.into(),
    };
    let parsed = request::parse(&request.body);
    match parsed.and_then(|parsed| request::from_wire(parsed, &owner)) {
        Ok(incoming) => (Some(incoming), broken),
        Err(invalid) => {
            broken.push(Violation {
                at: invalid.path,
                fault: invalid.reason,
            });
            (None, broken)
        }
    }
}

/// What the vendor would take for this model under this version of the API.
fn profile(model: &str, version: &str) -> Profile {
    let profile = Profile::of(model);
    Profile {
        sampling: profile.sampling && version == checks::OLD_VERSION,
        ..profile
    }
}

fn model_request(incoming: Incoming) -> ModelRequest {
    ModelRequest {
        choice: incoming.choice,
        messages: Messages::from_iter(incoming.messages),
        model: ModelRef {
            model: incoming.model,
            provider: "scripted".into(),
        },
        settings: Arc::new(incoming.settings),
        strict: None,
        system: Arc::new(incoming.system),
        tools: Arc::new(incoming.tools.into_iter().map(Arc::new).collect()),
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
