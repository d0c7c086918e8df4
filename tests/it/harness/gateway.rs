//! `jackfield serve` as a process, and a client that speaks nothing but HTTP.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Jackfield, Running, jackfield};

/// Where the sessions of one gateway after the other are kept.
pub(crate) struct Kept(TempDir);

impl Kept {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    /// The file.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("kept.db")
    }

    /// The binary with these arguments, on this file.
    pub(crate) fn run(&self, arguments: &[&str]) -> Jackfield {
        let run = jackfield([]).more(arguments);
        run.env("JACKFIELD_DB", self.file())
    }

    /// A gateway before it runs, on a free port. It offers every request all server tools, unless it is
    /// [plain](Jackfield::plain).
    pub(crate) fn gateway(&self) -> Jackfield {
        let mut serve = self.run(&["serve", "--bind", "127.0.0.1:0"]);
        serve.offers_all = true;
        serve
    }
}

/// This configuration, in which each request is offered all server tools.
pub(super) fn offering_all(text: &str) -> String {
    const TABLE: &str = "[serve]\n";
    const OFFER: &str = "[serve]\noffer = \"all\"\n";
    if text.contains(TABLE) {
        text.replacen(TABLE, OFFER, 1)
    } else if text.contains("\nserve.") {
        format!("serve.offer = \"all\"\n{text}")
    } else {
        format!("{text}\n{OFFER}")
    }
}

/// A gateway that listens.
pub(crate) struct Gateway {
    address: String,
    pub(crate) running: Running,
}

impl Gateway {
    /// Waits until it listens.
    pub(crate) async fn listening(mut running: Running) -> Self {
        running.err.until("listening on http").await;
        let said = running.err.so_far();
        let (_, behind) = said.split_once("listening on ").expect("it listens");
        let (_, behind) = behind.split_once("://").expect("an address");
        let end = behind.find([';', '"', '\n']).unwrap_or(behind.len());
        let address = behind[..end].trim().to_owned();
        Self { address, running }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Asks something.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Asking {
        self.raw("POST", path).body(body.to_string())
    }

    /// Looks at something.
    pub(crate) fn get(&self, path: &str) -> Asking {
        self.raw("GET", path)
    }

    /// A message of the newest revision of MCP, which says everything about itself: in `_meta`, what its client can be asked.
    pub(crate) fn modern(&self, id: u64, method: &str, mut params: Value) -> Asking {
        let askable = params["_meta"].take();
        let askable = if askable.is_null() {
            json!({})
        } else {
            askable
        };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "slice", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": askable,
        });
        let name = params["name"].as_str().or_else(|| params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post("/mcp", &message)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .header("mcp-name", &name)
    }

    /// The metrics, once they have all of these samples: what is counted arrives there after the response.
    pub(crate) async fn metrics_with(&self, samples: &[&str]) {
        let mut page = String::new();
        let reading = async {
            loop {
                page = self.get("/metrics").answered().await.text().to_owned();
                if samples.iter().all(|sample| page.contains(sample)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(TIME_LIMIT, reading).await;
        assert!(found.is_ok(), "{samples:?}: {page}");
    }

    /// A request of this method.
    pub(crate) fn raw(&self, method: &str, path: &str) -> Asking {
        Asking::at(&self.address, method, path)
    }

    /// Ends it in order.
    pub(crate) async fn end(self) {
        self.running.terminate();
        let ran = self.running.end().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
}

/// A request, before it is sent.
#[must_use]
pub(crate) struct Asking {
    address: String,
    body: Vec<u8>,
    head: String,
    host: String,
}

impl Asking {
    /// A request of this method to whoever listens at this address.
    pub(crate) fn at(address: &str, method: &str, path: &str) -> Self {
        Self {
            address: address.to_owned(),
            body: Vec::new(),
            head: format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n"),
            host: address.to_owned(),
        }
    }

    /// Has this header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Has this body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Names another host.
    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Sends it, and waits for nothing.
    pub(crate) async fn sent(self) -> Sent {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        let length = self.body.len();
        let head = format!(
            "{}host: {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.head, self.host
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        // Who is refused early need not be heard to the end.
        let _refused = stream.write_all(&self.body).await;
        Sent {
            read: Vec::new(),
            stream,
        }
    }

    /// Sends it, and reads the whole answer.
    pub(crate) async fn answered(self) -> Answer {
        self.sent().await.answered().await
    }
}

/// A request that was sent.
pub(crate) struct Sent {
    read: Vec<u8>,
    stream: TcpStream,
}

impl Sent {
    /// Reads until this has come.
    pub(crate) async fn until(&mut self, text: &str) {
        self.until_times(text, 1).await;
    }

    /// Reads until this has come so often.
    pub(crate) async fn until_times(&mut self, text: &str, times: usize) {
        let reading = async {
            while self.times(text) < times {
                self.more().await;
            }
        };
        let came = tokio::time::timeout(TIME_LIMIT, reading).await;
        assert!(
            came.is_ok(),
            "not {times} times {text:?}: {}",
            self.so_far()
        );
    }

    /// How often this has come so far.
    pub(crate) fn times(&self, text: &str) -> usize {
        self.so_far().matches(text).count()
    }

    /// Reads the next piece.
    async fn more(&mut self) {
        let mut piece = [0; 4096];
        let reading = tokio::time::timeout(TIME_LIMIT, self.stream.read(&mut piece));
        let length = reading
            .await
            .expect("it answers in time")
            .expect("it answers");
        assert!(
            length > 0,
            "it ended: {}",
            String::from_utf8_lossy(&self.read)
        );
        self.read.extend_from_slice(&piece[..length]);
    }

    /// What came so far.
    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Reads the whole answer.
    pub(crate) async fn answered(mut self) -> Answer {
        let reading = self.stream.read_to_end(&mut self.read);
        let read = tokio::time::timeout(TIME_LIMIT, reading).await;
        // Who was refused early is reset by some systems.
        let _length = read.expect("it answers in time");
        Answer::parse(&self.read)
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) status: u16,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let place = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, rest) = bytes.split_at(place.expect("an answer has a head"));
        let body = &rest[4..];
        let head = String::from_utf8_lossy(head);
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let chunked = headers
            .get("transfer-encoding")
            .is_some_and(|how| how == "chunked");
        let body = if chunked {
            unchunked(body)
        } else {
            body.to_vec()
        };
        Self {
            body: String::from_utf8(body).expect("an answer is text"),
            headers,
            status: status
                .and_then(|status| status.parse().ok())
                .expect("a status"),
        }
    }

    /// It has this status; its body as JSON.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|fault| panic!("{fault}: {self:?}"))
    }

    /// Its body.
    pub(crate) fn text(&self) -> &str {
        &self.body
    }

    /// The words that it says: those of its events without the seams, as in how many pieces words come is a
    /// matter of time; without events, its body.
    #[track_caller]
    pub(crate) fn said(&self) -> String {
        let content_type = self.headers.get("content-type");
        if !content_type.is_some_and(|is| is.starts_with("text/event-stream")) {
            return self.body.clone();
        }
        let events = self.json_events();
        let pieces = events.iter().filter_map(|event| {
            let delta = &event["delta"];
            let chat = &event["choices"][0]["delta"]["content"];
            [delta, &delta["text"], chat]
                .into_iter()
                .find_map(Value::as_str)
        });
        pieces.collect()
    }

    /// The value of a header.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.unwrap_or_else(|| panic!("no header {name}: {self:?}"))
    }

    /// The data of its events, the last one included.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{self:?}");
        let lines = self.body.lines();
        lines
            .filter_map(|line| line.strip_prefix("data: "))
            .map(str::to_owned)
            .collect()
    }

    /// The JSON of its events.
    #[track_caller]
    pub(crate) fn json_events(&self) -> Vec<Value> {
        let events = self.events();
        let events = events.iter().filter(|data| *data != "[DONE]");
        events
            .map(|data| {
                serde_json::from_str(data).unwrap_or_else(|fault| panic!("{fault}: {data}"))
            })
            .collect()
    }
}

/// A body of chunks; one that breaks off is what came of it.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).expect("a size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        rest = &rest[line + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[(size + 2).min(rest.len())..];
    }
    body
}

/// The names of the tools that a request of ours offers a model.
pub(crate) fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    names.sort_unstable();
    names
}

/// How long anything may take, also where a provider's stand-in checks a conversation of 10,000 calls on a busy
/// machine: that costs it eight seconds of work.
const TIME_LIMIT: Duration = Duration::from_secs(180);
