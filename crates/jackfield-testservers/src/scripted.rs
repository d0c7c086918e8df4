//! The common part of all scripted servers.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::{Value, json};

use crate::script::{Script, ScriptAnswer, ScriptRequest};
use crate::vendor::{Post, Vendor, VendorRefusal};

/// A scripted server. Dropping it closes its port, and fails the test if there are violations that were not read.
pub struct ScriptedServer {
    server: TestServer,
    shared: Arc<Mutex<ScriptState>>,
}

/// The requests so far, and the remaining script.
struct ScriptState {
    bodies: Vec<Value>,
    looked_at: bool,
    script: Script,
    vendor: Box<dyn Vendor>,
    violations: Vec<String>,
}

impl ScriptedServer {
    /// Starts a server on a free port of the loopback address.
    ///
    /// Its replies are in the order of the script; a request without a remaining reply is a violation.
    ///
    /// # Panics
    ///
    /// If no port can be opened.
    pub(crate) async fn start(vendor: impl Vendor, script: Script) -> Self {
        let shared = Arc::new(Mutex::new(ScriptState {
            bodies: Vec::new(),
            looked_at: false,
            script,
            vendor: Box::new(vendor),
            violations: Vec::new(),
        }));
        let own = Arc::clone(&shared);
        let server = TestServer::start_with(move |request| lock(&own).answer(request)).await;
        Self { server, shared }
    }

    /// The base URL, as `http://127.0.0.1:port`.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The bodies of all model requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.shared).bodies.clone()
    }

    /// The underlying server, for access to headers and connections.
    #[must_use]
    pub const fn server(&self) -> &TestServer {
        &self.server
    }

    /// The violations so far, each with its request and place.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut shared = lock(&self.shared);
        shared.looked_at = true;
        shared.violations.clone()
    }

    /// The number of turns of the script that are unused so far.
    #[must_use]
    pub fn unused(&self) -> usize {
        lock(&self.shared).script.unused()
    }
}

impl Drop for ScriptedServer {
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

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedServer")
            .field("base_url", &self.base_url())
            .finish_non_exhaustive()
    }
}

impl ScriptState {
    fn answer(&mut self, request: &RecordedRequest) -> Response {
        let path = request.path.split('?').next().unwrap_or_default();
        let told = match (request.method.as_str(), path) {
            ("POST", path) if self.vendor.takes(path) => return self.reply(request, path),
            // For clients of the server as a process.
            ("GET", "/scripted/requests") => Some(json!(self.bodies)),
            ("GET", "/scripted/unused") => Some(json!(self.script.unused())),
            ("GET", "/scripted/violations") => Some(json!(self.violations)),
            ("GET", path) => self.vendor.tell(path),
            (_, _) => None,
        };
        match told {
            Some(told) => Response::json(200, told.to_string()),
            None => self
                .vendor
                .refuse(&VendorRefusal::NotFound, self.bodies.len()),
        }
    }

    fn reply(&mut self, request: &RecordedRequest, path: &str) -> Response {
        let nth = self.bodies.len();
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.bodies.push(body.clone());
        let post = Post {
            body: &body,
            nth,
            path,
            request,
        };
        let broken = self.vendor.judge(&post);
        if !broken.is_empty() {
            let lines = broken
                .iter()
                .map(|violation| format!("request {nth}: {violation}"));
            self.violations.extend(lines);
            return self.vendor.refuse(&VendorRefusal::Broken(&broken), nth);
        }
        let asked = ScriptRequest {
            body: &body,
            last_text: self.vendor.last_text(&post),
            nth,
        };
        let Some(turn) = self.script.next(&asked) else {
            let problem = "the script has nothing to say to this";
            self.violations.push(format!("request {nth}: {problem}"));
            return self.vendor.refuse(&VendorRefusal::Server(problem), nth);
        };
        let response = match &turn.says {
            ScriptAnswer::Reply(reply) => self.vendor.say(&post, reply),
            ScriptAnswer::Wire(response) => response.clone(),
        };
        turn.befall(response)
    }
}

fn lock(shared: &Mutex<ScriptState>) -> MutexGuard<'_, ScriptState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
