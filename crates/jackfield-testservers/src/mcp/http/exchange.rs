//! One HTTP request of a client.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::steps::wait_for_file;
use super::sign_in::SignInAnswer;
use super::wire::{self, WireRequest};
use super::{Carried, HttpFront, MODERN, OpenRequest, SUBSCRIPTION, ScriptedMcpServer};

pub(super) fn serve(server: &Arc<ScriptedMcpServer>, stream: TcpStream) {
    let Some(front) = server.front.clone() else {
        return;
    };
    let Ok(request) = WireRequest::read(&stream) else {
        return;
    };
    if request.method.is_empty() {
        return;
    }
    let seen = (request.method.clone(), request.headers.clone());
    front.state().requests.push(seen);
    let connection = Connection {
        front,
        server,
        stream: &stream,
    };
    // A client that has gone away is no fault of the server.
    let _gone = connection.serve(&request);
    let _closed = stream.shutdown(Shutdown::Both);
}

struct Connection<'a> {
    front: Arc<HttpFront>,
    server: &'a Arc<ScriptedMcpServer>,
    stream: &'a TcpStream,
}

impl Connection<'_> {
    fn serve(&self, request: &WireRequest) -> io::Result<()> {
        let script = &self.server.script["http"];
        if let Some(token) = script["token"].as_str()
            && request.header("authorization") != token
        {
            let challenge = "www-authenticate: Bearer\r\n";
            return wire::answer(self.stream, 401, "text/plain", challenge, "who are you?");
        }
        if script["sign_in"].is_object()
            && let Some(answer) = self.sign_in(request)
        {
            if let Some(line) = answer.log {
                self.server.log(&line);
            }
            if answer.is_held {
                self.front.wait_for_release();
            }
            return wire::answer(
                self.stream,
                answer.status,
                JSON,
                &answer.extra,
                &answer.body,
            );
        }
        match request.method.as_str() {
            "POST" if script["old"] != true => self.post(request),
            "GET" => self.get(request),
            "DELETE" => {
                let session = request.header(SESSION);
                let known = self.front.state().sessions.remove(session);
                self.server.log("the session is ended");
                wire::answer(self.stream, if known { 200 } else { 404 }, "", "", "")
            }
            _ => wire::answer(self.stream, 405, "text/plain", "", "no such method"),
        }
    }

    /// The answer of the authorization server, or to a request without a good token.
    fn sign_in(&self, request: &WireRequest) -> Option<SignInAnswer> {
        let script = &self.server.script["http"]["sign_in"];
        let base = format!("http://{}", request.header("host"));
        let mut sign_ins = self.front.sign_ins();
        if !request.path.starts_with("/mcp") {
            return sign_ins.answer(script, &base, request);
        }
        let refusal = sign_ins.refusal(script, &base, request);
        drop(sign_ins);
        refusal
    }

    fn post(&self, request: &WireRequest) -> io::Result<()> {
        let Ok(mut message) = serde_json::from_slice::<Value>(&request.body) else {
            self.server.violated("a body is no JSON");
            return wire::answer(self.stream, 400, "", "", "");
        };
        let method = message["method"].as_str().unwrap_or_default();
        self.check_form(request, &message);
        let fault = self.front.fault(&self.server.script, method);
        if let Some(path) = fault["until"].as_str() {
            self.server.log(&format!("holds {method}"));
            wait_for_file(path);
        }
        if let Some(status) = fault["status"].as_u64() {
            let location = fault["location"].as_str();
            let location = location.map(|to| format!("location: {to}\r\n"));
            let media_type = fault["type"].as_str().unwrap_or("text/plain");
            let body = fault["body"].as_str().unwrap_or_default();
            let extra = location.unwrap_or_default();
            return wire::answer(self.stream, status, media_type, &extra, body);
        }
        if fault["close"] == true {
            return Ok(());
        }
        if fault["mismatch"] == true {
            let error = json!({ "code": -32020, "message": "the headers do not fit" });
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
            return wire::answer(self.stream, 400, JSON, "", &body.to_string());
        }
        if fault["forget"] == true {
            self.front.state().sessions.clear();
        }
        let is_modern = !message["params"]["_meta"][VERSION_IN_META].is_null();
        if let Err((status, reason)) = self.check_era(request, &message, is_modern) {
            let error = json!({ "code": -32000, "message": reason });
            let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
            return wire::answer(self.stream, status, JSON, "", &body.to_string());
        }
        let session = request.header(SESSION);
        if method.is_empty() || message["id"].is_null() {
            if method == "notifications/cancelled" {
                name_session(session, &mut message["params"]["requestId"]);
            }
            self.server.take(message);
            return wire::answer(self.stream, 202, "", "", "");
        }
        let method = method.to_owned();
        match is_modern {
            // Two clients may use the same id at once.
            true => name_session(
                &format!("request-{}", self.front.next()),
                &mut message["id"],
            ),
            false => name_session(session, &mut message["id"]),
        }
        let (output, carried) = mpsc::channel();
        let id = message["id"].clone();
        self.front.state().open.push(OpenRequest {
            id: id.clone(),
            output,
            token: message["params"]["_meta"]["progressToken"].clone(),
        });
        self.server.take(message);
        if fault["run_and_close"] == true {
            // It was acted on once its answer is there.
            let _answer = carried.recv();
            return Ok(());
        }
        if fault["silence"] == true {
            return self.be_silent();
        }
        if fault["break"] == true {
            wire::begin_events(self.stream)?;
            let last = format!("e{}", self.front.next());
            let mut state = self.front.state();
            state.broken.insert(last.clone(), (id, carried));
            drop(state);
            return wire::text(self.stream, &format!("id: {last}\nretry: 5\ndata:\n\n"));
        }
        if is_modern {
            self.watch(&id)?;
        }
        let in_events = self.server.script["http"]["answers"] != "json";
        let is_first = method == "initialize" || method == "server/discover";
        if in_events && !is_first {
            return self.answer_in_events(&id, &carried, fault["other_id"] == true);
        }
        loop {
            match carried.recv() {
                Ok(Carried::Message(message)) if message["method"].is_null() => {
                    return self.answer_in_json(message, &method, is_modern, &fault);
                }
                // An answer in JSON has no room for notifications.
                Ok(Carried::Message(_)) => {}
                Ok(Carried::BreakOff) | Err(_) => return self.broke_off(&id),
            }
        }
    }

    fn answer_in_json(
        &self,
        mut message: Value,
        method: &str,
        is_modern: bool,
        fault: &Value,
    ) -> io::Result<()> {
        let mut extra = String::new();
        let is_given = self.server.script["http"]["sessionless"] != true;
        if method == "initialize" && !message["result"].is_null() && is_given {
            let session = format!("session-{}", self.front.next());
            extra = format!("{SESSION}: {session}\r\n");
            self.front.state().sessions.insert(session);
            self.server.log("a session is begun");
        }
        let status = match message["error"]["code"].as_i64() {
            Some(-32601) if is_modern => 404,
            Some(-32602) if is_modern => 400,
            _ => 200,
        };
        match fault["other_id"] == true {
            true => message["id"] = json!("another"),
            false => strip_session(&mut message["id"]),
        }
        wire::answer(self.stream, status, JSON, &extra, &message.to_string())
    }

    fn answer_in_events(
        &self,
        id: &Value,
        carried: &mpsc::Receiver<Carried>,
        is_of_another: bool,
    ) -> io::Result<()> {
        wire::begin_events(self.stream)?;
        loop {
            match carried.recv() {
                Ok(Carried::Message(mut message)) => {
                    let is_last = message["method"].is_null();
                    let meta = message.pointer_mut("/params/_meta");
                    if let Some(subscription) = meta.and_then(|meta| meta.get_mut(SUBSCRIPTION)) {
                        strip_session(subscription);
                    }
                    if is_last {
                        match is_of_another {
                            true => message["id"] = json!("another"),
                            false => strip_session(&mut message["id"]),
                        }
                    }
                    wire::event(self.stream, None, &message.to_string())?;
                    if is_last {
                        return Ok(());
                    }
                }
                Ok(Carried::BreakOff) | Err(_) => return self.broke_off(id),
            }
        }
    }

    /// Sends comments until the client has had enough.
    fn be_silent(&self) -> io::Result<()> {
        wire::begin_events(self.stream)?;
        loop {
            wire::text(self.stream, ": still there\n\n")?;
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn broke_off(&self, id: &Value) -> io::Result<()> {
        self.server.state().open.remove(&id.to_string());
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// In the newer era, a request whose connection closes is cancelled.
    fn watch(&self, id: &Value) -> io::Result<()> {
        let (stream, id) = (self.stream.try_clone()?, id.clone());
        let (front, server) = (Arc::clone(&self.front), Arc::clone(self.server));
        std::thread::spawn(move || {
            wire::wait_for_close(&stream);
            let mut state = front.state();
            let open = state.open.iter().position(|request| request.id == id);
            let request = open.map(|place| state.open.swap_remove(place));
            drop(state);
            if request.is_some() {
                server.heed("notifications/cancelled", &json!({ "requestId": id }));
            }
        });
        Ok(())
    }

    fn get(&self, request: &WireRequest) -> io::Result<()> {
        let script = &self.server.script["http"];
        if request.header("accept") != "text/event-stream" {
            self.server.violated("a GET does not accept events alone");
        }
        if script["old"] == true {
            wire::begin_events(self.stream)?;
            let endpoint = "event: endpoint\ndata: /messages?id=1\n\n";
            wire::text(self.stream, endpoint)?;
            wire::wait_for_close(self.stream);
            return Ok(());
        }
        let last = request.header("last-event-id");
        if !last.is_empty() {
            let broken = self.front.state().broken.remove(last);
            let Some((id, carried)) = broken else {
                return wire::answer(self.stream, 400, "text/plain", "", "no such event");
            };
            self.server.log("a stream is taken up again");
            return self.answer_in_events(&id, &carried, false);
        }
        if script["listens"] == "never" {
            self.server.log("a stream is asked for");
            wire::wait_for_close(self.stream);
            return Ok(());
        }
        if script["listens"] != true {
            return wire::answer(self.stream, 405, "text/plain", "", "no stream here");
        }
        if let Err((status, reason)) = self.check_session(request) {
            return wire::answer(self.stream, status, "text/plain", "", reason);
        }
        let (output, carried) = mpsc::channel();
        self.front.state().streams.push(output);
        wire::begin_events(self.stream)?;
        self.server.log("a stream is open");
        while let Ok(Carried::Message(message)) = carried.recv() {
            let id = format!("s{}", self.front.next());
            wire::event(self.stream, Some(&id), &message.to_string())?;
        }
        Ok(())
    }

    /// Checks what holds for each message.
    fn check_form(&self, request: &WireRequest, message: &Value) {
        let accepted = request.header("accept");
        if !accepted.contains(JSON) || !accepted.contains("text/event-stream") {
            self.server
                .violated("a POST does not accept both forms of an answer");
        }
        if request.header("content-type") != JSON {
            self.server.violated("a POST has no JSON");
        }
        if !message.is_object() {
            self.server.violated("a POST is not one message");
        }
        if request.path != "/mcp" {
            self.server.log(&format!("path {}", request.path));
        }
    }

    /// Checks the headers of the message's era.
    fn check_era(
        &self,
        request: &WireRequest,
        message: &Value,
        is_modern: bool,
    ) -> Result<(), (u64, &'static str)> {
        let method = message["method"].as_str().unwrap_or_default();
        if is_modern {
            if !self.server.speaks("modern") {
                return Err((400, "Bad Request: Server not initialized"));
            }
            let name = match method {
                "prompts/get" | "tools/call" => message["params"]["name"].as_str(),
                "resources/read" => message["params"]["uri"].as_str(),
                _ => None,
            };
            let expected = [
                (VERSION, Some(MODERN)),
                ("mcp-method", Some(method)),
                ("mcp-name", name),
            ];
            for (header, expected) in expected {
                if request.header(header) != expected.unwrap_or_default() {
                    self.server
                        .violated(&format!("{header} is not that of the body"));
                }
            }
            if !request.header(SESSION).is_empty() {
                self.server.violated("a session in the newer era");
            }
            return Ok(());
        }
        if method == "initialize" {
            return Ok(());
        }
        if !self.server.speaks("legacy") {
            return Err((400, "the version is missing"));
        }
        self.check_session(request)?;
        let version = self.server.script["version"].as_str();
        if request.header(VERSION) != version.unwrap_or("2025-11-25") {
            self.server
                .violated("the version is not the negotiated one");
        }
        Ok(())
    }

    fn check_session(&self, request: &WireRequest) -> Result<(), (u64, &'static str)> {
        if self.server.script["http"]["sessionless"] == true {
            return Ok(());
        }
        let session = request.header(SESSION);
        if session.is_empty() {
            self.server.violated("a message has no session");
            return Err((400, "Bad Request: no session"));
        }
        if !self.front.state().sessions.contains(session) {
            return Err((404, "Session not found"));
        }
        Ok(())
    }
}

/// Makes the id of a request one of its session: each session counts its requests from the beginning.
fn name_session(session: &str, id: &mut Value) {
    if !session.is_empty() {
        *id = json!(format!("{session} {id}"));
    }
}

/// The id as the client gave it.
fn strip_session(id: &mut Value) {
    let named = id.as_str().and_then(|id| id.split_once(' '));
    if let Some(own) = named.and_then(|(_, own)| serde_json::from_str(own).ok()) {
        *id = own;
    }
}

const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";
