//! The scripted MCP server over Streamable HTTP (MCP specification, "Transports", revisions 2025-03-26 to 2026-07-28,
//! read 2026-11-26), in this process and on a free port.
//!
//! The field `http` of the script is an object with these optional fields:
//!
//! | field | meaning |
//! |---|---|
//! | `answers` | `"json"`, or `"events"` for streams of events, the default |
//! | `faults` | what goes wrong with the next messages of a method, in order: `{"tools/call": [fault, …]}`, see below |
//! | `listens` | offers the stream of its own messages, in the older era; `"never"` takes the request for it and does not answer |
//! | `old` | speaks only the transport of 2024-11-05 |
//! | `sessionless` | gives no session id, in the older era |
//! | `sign_in` | wants a token that its own authorization server has given: see the source of `sign_in` |
//! | `token` | the value of `authorization` that it wants |
//!
//! A fault is an object: `{"status": 500, "type": "text/html", "body": text, "location": url}` (an answer without
//! looking at the message), `{"close": true}` (no answer at all), `{"run_and_close": true}` (no answer, but the message
//! is acted on), `{"forget": true}` (forgets all sessions first), `{"other_id": true}` (the answer is that to another
//! request), `{"silence": true}` (a stream of comments that never has an event), `{"break": true}` (the stream breaks
//! after an empty event with an id, and can be taken up again), `{"mismatch": true}` (the error for headers that do not
//! repeat the body). With `"until": path`, nothing is done with the message until there is such a file. An empty object is
//! no fault.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use serde_json::{Value, json};

use self::sign_in::SignIns;
use super::{DURING, MODERN, SUBSCRIPTION, ScriptedMcpServer};

mod exchange;
mod sign_in;
mod wire;

/// A scripted MCP server over HTTP. Dropping it closes its port.
pub struct ScriptedMcpHttp {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    front: Arc<HttpFront>,
}

impl ScriptedMcpHttp {
    /// Starts a server with this script on a free port of the loopback address.
    ///
    /// # Errors
    ///
    /// If no port can be opened.
    pub fn start(script: Value) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let front = Arc::new(HttpFront::default());
        let server = Arc::new(ScriptedMcpServer::new(script, Some(Arc::clone(&front))));
        server.log("start over HTTP");
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    let server = Arc::clone(&server);
                    std::thread::spawn(move || exchange::serve(&server, stream));
                }
            }
        });
        Ok(Self {
            address,
            ended,
            front,
        })
    }

    /// The URL of its endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The headers of all requests so far: the method, and the headers by their names in lower case.
    #[must_use]
    pub fn requests(&self) -> Vec<(String, HashMap<String, String>)> {
        self.front.state().requests.clone()
    }

    /// Ends every access token; refresh tokens stay good.
    pub fn end_access(&self) {
        self.front.sign_ins().end_access();
    }

    pub fn end_sign_ins(&self) {
        self.front.sign_ins().end_all();
    }

    /// Releases the answers to renewals, the held ones and all later ones.
    pub fn release_renewals(&self) {
        self.front.release_renewals();
    }

    /// Forgets all sessions, as after a restart.
    pub fn forget_sessions(&self) {
        self.front.state().sessions.clear();
    }

    /// Ends the streams of the server's own messages.
    pub fn end_streams(&self) {
        self.front.end_streams();
    }
}

impl Drop for ScriptedMcpHttp {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.front.break_off();
        self.front.release_renewals();
        // The thread waits for a connection.
        let _woken = TcpStream::connect(self.address);
    }
}

impl std::fmt::Debug for ScriptedMcpHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedMcpHttp")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Carries the server's messages to the requests that they belong to.
#[derive(Default)]
pub(super) struct HttpFront {
    next: AtomicU64,
    released: Condvar,
    renewals_released: Mutex<bool>,
    sign_ins: Mutex<SignIns>,
    state: Mutex<FrontState>,
}

#[derive(Default)]
struct FrontState {
    /// The streams that broke, by the id of their last event.
    broken: HashMap<String, (Value, mpsc::Receiver<Carried>)>,
    /// The number of faults used so far, by method.
    faults: HashMap<String, usize>,
    /// The requests without an answer.
    open: Vec<OpenRequest>,
    requests: Vec<(String, HashMap<String, String>)>,
    sessions: HashSet<String>,
    /// The streams of the server's own messages.
    streams: Vec<mpsc::Sender<Carried>>,
}

struct OpenRequest {
    id: Value,
    output: mpsc::Sender<Carried>,
    token: Value,
}

/// What a request's connection is to do.
enum Carried {
    BreakOff,
    Message(Value),
}

impl HttpFront {
    fn state(&self) -> MutexGuard<'_, FrontState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sign_ins(&self) -> MutexGuard<'_, SignIns> {
        self.sign_ins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the test releases the answers to renewals.
    fn wait_for_release(&self) {
        let is_released = &self.renewals_released;
        let is_released = is_released.lock().unwrap_or_else(PoisonError::into_inner);
        let _released = self.released.wait_while(is_released, |released| !*released);
    }

    fn release_renewals(&self) {
        let is_released = &self.renewals_released;
        *is_released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.released.notify_all();
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Carries a message of the server.
    pub(super) fn carry(&self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let mut state = self.state();
        let token = &message["params"]["progressToken"];
        let subscription = &message["params"]["_meta"][SUBSCRIPTION];
        let during = &message["params"]["_meta"][DURING];
        let place = state.open.iter().position(|request| {
            let is_answer = message["method"].is_null() && request.id == message["id"];
            is_answer
                || (!token.is_null() && request.token == *token)
                || (!subscription.is_null() && request.id == *subscription)
                || (!during.is_null() && request.id == *during)
        });
        match place {
            Some(place) if message["method"].is_null() => {
                let request = state.open.swap_remove(place);
                let _gone = request.output.send(Carried::Message(message));
            }
            Some(place) => {
                if let Some(request) = state.open.get(place) {
                    let _gone = request.output.send(Carried::Message(message));
                }
            }
            None if !message["method"].is_null() => {
                let is_there = |stream: &mpsc::Sender<Carried>| {
                    stream.send(Carried::Message(message.clone())).is_ok()
                };
                state.streams.retain(is_there);
            }
            None => {}
        }
    }

    /// Closes every connection without an answer.
    pub(super) fn break_off(&self) {
        let mut state = self.state();
        for request in state.open.drain(..) {
            let _gone = request.output.send(Carried::BreakOff);
        }
        drop(state);
        self.end_streams();
    }

    fn end_streams(&self) {
        for stream in self.state().streams.drain(..) {
            let _gone = stream.send(Carried::BreakOff);
        }
    }

    /// The fault for the next message of this method.
    fn fault(&self, script: &Value, method: &str) -> Value {
        let faults = script["http"]["faults"][method].as_array();
        let mut state = self.state();
        let used = state.faults.entry(method.to_owned()).or_default();
        let fault = faults.and_then(|faults| faults.get(*used)).cloned();
        *used += 1;
        fault.unwrap_or_else(|| json!({}))
    }
}
