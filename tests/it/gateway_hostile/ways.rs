//! The four ways in, and a gateway that is asked what nobody should ask.

use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Answer, Gateway, Kept};

/// One of the four ways in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    Api,
    Chat,
    Claude,
    Responses,
}

pub(super) const WAYS: [Way; 4] = [Way::Api, Way::Chat, Way::Claude, Way::Responses];

/// A gateway with short limits, in front of a model that has an answer to everything.
pub(super) struct Hostile {
    _claude: ScriptedClaude,
    _files: Kept,
    pub(super) gateway: Gateway,
    session: String,
}

impl Hostile {
    /// One that lets go of slow senders after a second.
    pub(super) async fn hurried() -> Self {
        Self::started("body = \"2MiB\"\nbody_time = \"1s\"\nheader_time = \"1s\"\n").await
    }

    pub(super) async fn started(limits: &str) -> Self {
        let files = Kept::new();
        let claude = ScriptedClaude::start(Script::by(|_| Some(ScriptTurn::text("Fine.")))).await;
        let limits = format!("[serve]\npassthrough = \"never\"\n[serve.limits]\n{limits}");
        let run = files.gateway().at_with(&claude.base_url(), &limits);
        let gateway = Gateway::listening(run.start()).await;
        let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
        let session = made.is(201)["id"].as_str().expect("an id").to_owned();
        Self {
            _claude: claude,
            _files: files,
            gateway,
            session,
        }
    }

    pub(super) fn path(&self, way: Way) -> String {
        match way {
            Way::Api => format!("/api/v1/sessions/{}/turns", self.session),
            Way::Chat => "/v1/chat/completions".to_owned(),
            Way::Claude => "/v1/messages".to_owned(),
            Way::Responses => "/v1/responses".to_owned(),
        }
    }

    pub(super) async fn posted(&self, way: Way, body: impl Into<Vec<u8>>) -> Answer {
        let asking = self.gateway.raw("POST", &self.path(way));
        asking.body(body).answered().await
    }

    /// Bytes as they are, on a connection of their own, and everything that comes back.
    pub(super) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connected().await;
        // Who is refused early need not be heard to the end.
        let _refused = stream.write_all(bytes).await;
        read(&mut stream).await
    }

    pub(super) async fn connected(&self) -> TcpStream {
        let stream = TcpStream::connect(self.gateway.address()).await;
        stream.expect("it listens")
    }

    /// It is well: it answers, and takes a whole request on each way in.
    pub(super) async fn is_well(&self) {
        for path in ["/healthz", "/readyz"] {
            assert_eq!(self.gateway.get(path).answered().await.status, 200);
        }
    }

    /// How long the processors have worked for the gateway so far, where the system tells.
    pub(super) fn worked(&self) -> Option<Duration> {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.gateway.running.id())).ok()?;
        // Behind the name of the program (proc_pid_stat(5)), in hundredths of a second.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
    }

    /// How many bytes of memory the gateway has, where the system tells.
    pub(super) fn resident(&self) -> Option<u64> {
        let status = format!("/proc/{}/status", self.gateway.running.id());
        let status = std::fs::read_to_string(status).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes: u64 = resident?.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes << 10)
    }

    pub(super) async fn end(self) {
        for way in WAYS {
            let answer = self.posted(way, way.asks("Hello").to_string()).await;
            answer.is(200);
        }
        self.gateway.end().await;
    }
}

pub(super) async fn read(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let reading = stream.read_to_end(&mut read);
    let in_time = tokio::time::timeout(TIME_LIMIT, reading).await;
    assert!(
        in_time.is_ok(),
        "it hangs: {}",
        String::from_utf8_lossy(&read)
    );
    String::from_utf8_lossy(&read).into_owned()
}

impl Way {
    /// A request that is right.
    pub(super) fn asks(self, text: &str) -> Value {
        match self {
            Self::Api => json!({ "message": text }),
            Self::Chat => {
                json!({ "model": MODEL, "messages": [{ "role": "user", "content": text }] })
            }
            Self::Claude => json!({ "model": MODEL, "max_tokens": 100,
                "messages": [{ "role": "user", "content": text }] }),
            Self::Responses => json!({ "model": MODEL, "input": text }),
        }
    }

    /// The same with this field in it, or in place of its own.
    pub(super) fn with(self, name: &str, value: Value) -> Value {
        let mut body = self.asks("Hello");
        body[name] = value;
        body
    }

    /// The same with these messages.
    pub(super) fn says(self, messages: Value) -> Value {
        let name = match self {
            Self::Api => "content",
            Self::Chat | Self::Claude => "messages",
            Self::Responses => "input",
        };
        self.with(name, messages)
    }

    /// A tool of this schema.
    pub(super) fn tool(self, name: &str, schema: &Value) -> Value {
        match self {
            Self::Api | Self::Claude => json!({ "name": name, "input_schema": schema }),
            Self::Chat => json!({ "type": "function",
                "function": { "name": name, "parameters": schema } }),
            Self::Responses => {
                json!({ "type": "function", "name": name, "parameters": schema })
            }
        }
    }

    /// It is refused, in the form of this way in, and says this.
    #[track_caller]
    pub(super) fn refuses(self, case: &str, answer: &Answer, says: &str) {
        let shown = format!("{self:?}, {case}: {answer:?}");
        assert!((400..500).contains(&answer.status), "{shown}");
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{shown}"));
        let kind = match self {
            Self::Api => {
                assert_eq!(
                    answer.header("content-type"),
                    "application/problem+json",
                    "{shown}"
                );
                &body["type"]
            }
            Self::Claude => {
                assert_eq!(body["type"], "error", "{shown}");
                &body["error"]["type"]
            }
            Self::Chat | Self::Responses => {
                assert!(body["error"]["message"].is_string(), "{shown}");
                &body["error"]["type"]
            }
        };
        assert!(kind.is_string(), "{shown}");
        assert!(answer.body.contains(says), "{says}: {shown}");
    }
}

/// The model of the scripted server.
const MODEL: &str = "claude/claude-opus-5-5";
/// How long anything may take.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(60);
