//! A soak: mixed traffic on all four ways in, with clients that go away, an upstream that fails and tools
//! that fail. Afterwards nothing is left of it: no open turn, no descriptor, no memory.
//!
//! It takes some seconds; `cargo xtask soak --minutes 5` runs it for longer, and prints the figures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Gateway, Kept};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_mixed_traffic_nothing_is_left_behind() {
    let seconds = std::env::var("JACKFIELD_SOAK_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(5);
    let claude = ScriptedClaude::start(Script::by(reply)).await;
    let files = Kept::new();
    let run = files.gateway().at_with(&claude.base_url(), CONFIG);
    let gateway = Gateway::listening(run.start()).await;
    let traffic = Arc::new(Traffic {
        address: gateway.address().to_owned(),
        counts: std::array::from_fn(|_| AtomicU64::new(0)),
        next: AtomicU64::new(0),
    });
    // What is made once, such as the threads of a runtime, is no leak: everything has happened before the
    // first look.
    traffic
        .run_for(Duration::from_secs(seconds / 2).min(WARM_UP))
        .await;
    settle(&gateway).await;
    let before = Held::by(&gateway);
    let started = Instant::now();
    traffic.run_for(Duration::from_secs(seconds)).await;
    let took = started.elapsed();
    let (turns, ends) = settle(&gateway).await;
    let mut after = Held::by(&gateway);
    // What is let go of a while later: sessions in passing, and connections of the model's client.
    let patience = Instant::now();
    while !after.is_within(&before) && patience.elapsed() < MAX_DURATION {
        tokio::time::sleep(Duration::from_secs(1)).await;
        after = Held::by(&gateway);
    }
    let counts = traffic
        .counts
        .each_ref()
        .map(|count| count.load(Ordering::Relaxed));
    println!(
        "soak: {} s, {} requests ({} answered, {} refused or failed, {} aborted), {turns} turns kept, all ended: {ends:?}\n\
         soak: resident {} KiB before and {} KiB after, descriptors {} and {}, of the journal {} and {}, \
         back after {} s",
        took.as_secs(),
        counts.iter().sum::<u64>(),
        counts[ANSWERED],
        counts[FAILED],
        counts[ABORTED],
        before.resident,
        after.resident,
        before.descriptors.len(),
        after.descriptors.len(),
        before.journal,
        after.journal,
        patience.elapsed().as_secs(),
    );
    assert!(
        counts.iter().all(|count| *count > 0),
        "not everything has happened: {counts:?}"
    );
    assert!(turns > 0, "nothing was kept");
    assert!(
        after.is_within(&before),
        "before {before:#?}, after {after:#?}"
    );
    gateway.end().await;
}

/// What the model says, by how many came before: it calls tools that work and tools that fail, breaks off,
/// falls silent, is overloaded, and speaks no language at all.
fn reply(asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
    let after_tools = asked.last_text.contains("Error") || asked.last_text.starts_with("42");
    Some(match asked.nth % 16 {
        0 => ScriptTurn::status(
            529,
            &json!({ "type": "error",
            "error": { "type": "overloaded_error", "message": "Overloaded" } }),
        ),
        1 => ScriptTurn::html(502, "<html>Bad gateway</html>"),
        2 => ScriptTurn::text("This one breaks off in the middle of it.").cut_after(400),
        3 => ScriptTurn::text("This one is reset.").reset_after(300),
        4 => ScriptTurn::text("This one falls silent.").stall_after(350),
        5..=8 if !after_tools && asked.body["tools"].is_array() => {
            let name = asked.body["tools"][0]["name"].as_str().unwrap_or_default();
            let expression = if asked.nth.is_multiple_of(2) {
                "6*7"
            } else {
                "1/0"
            };
            ScriptTurn::call(name, &json!({ "expression": expression }))
        }
        _ => ScriptTurn::text("A whole answer, long enough to come in more than one piece."),
    })
}

/// What is asked, and what came of it.
struct Traffic {
    address: String,
    counts: [AtomicU64; 3],
    next: AtomicU64,
}

impl Traffic {
    async fn run_for(self: &Arc<Self>, time: Duration) {
        let until = Instant::now() + time;
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CLIENTS {
            let traffic = Arc::clone(self);
            clients.spawn(async move {
                while Instant::now() < until {
                    let nth = traffic.next.fetch_add(1, Ordering::Relaxed);
                    let came = traffic.ask(nth).await;
                    traffic.counts[came].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        clients.join_all().await;
    }

    /// The nth request: every way in, as a whole and as a stream, with tools of each side and without, and
    /// every fifth client goes away before its answer is whole.
    async fn ask(&self, nth: u64) -> usize {
        let streams = nth.is_multiple_of(2);
        let aborts = nth % 5 == 4;
        let tools = nth % 3;
        let (path, body) = match nth % 4 {
            0 => {
                let Some(session) = self.session().await else {
                    return FAILED;
                };
                let mode = if streams { "stream" } else { "wait" };
                let mut body = json!({ "message": format!("Number {nth}"), "mode": mode });
                if tools == 2 {
                    body["tools"] =
                        json!([{ "name": "mine", "input_schema": { "type": "object" } }]);
                }
                (format!("/api/v1/sessions/{session}/turns"), body)
            }
            1 => {
                let mut body = json!({ "model": MODEL, "stream": streams,
                    "messages": [{ "role": "user", "content": format!("Number {nth}") }] });
                if tools == 2 {
                    body["tools"] = json!([{ "type": "function", "function": {
                        "name": "mine", "parameters": { "type": "object" } } }]);
                }
                ("/v1/chat/completions".to_owned(), body)
            }
            2 => {
                let mut body = json!({ "model": MODEL, "max_tokens": 100, "stream": streams,
                    "messages": [{ "role": "user", "content": format!("Number {nth}") }] });
                if tools == 2 {
                    body["tools"] =
                        json!([{ "name": "mine", "input_schema": { "type": "object" } }]);
                }
                ("/v1/messages".to_owned(), body)
            }
            _ => {
                let body =
                    json!({ "model": MODEL, "stream": streams, "input": format!("Number {nth}") });
                ("/v1/responses".to_owned(), body)
            }
        };
        let used = if tools == 1 { "all" } else { "none" };
        let header = format!("x-jackfield-tools: {used}\r\n");
        match self
            .request("POST", &path, &header, &body.to_string(), aborts)
            .await
        {
            None => ABORTED,
            Some(answer) if answer.starts_with("HTTP/1.1 2") => ANSWERED,
            Some(answer) => {
                // A provider's own 500 is passed on; the gateway has none of its own.
                assert!(!answer.contains("\"internal_error\""), "{answer}");
                FAILED
            }
        }
    }

    async fn session(&self) -> Option<String> {
        let answer = self
            .request("POST", "/api/v1/sessions", "", "", false)
            .await?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let made: Value = serde_json::from_str(body).ok()?;
        made["id"].as_str().map(str::to_owned)
    }

    /// A request on a connection of its own; nothing, if the client goes away.
    async fn request(
        &self,
        verb: &str,
        path: &str,
        header: &str,
        body: &str,
        aborts: bool,
    ) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{header}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut read = Vec::new();
        if aborts {
            // Some before the first byte, some behind it.
            if body.len().is_multiple_of(2) {
                let _first =
                    tokio::time::timeout(Duration::from_millis(50), stream.read_u8()).await;
            }
            return None;
        }
        let reading = tokio::time::timeout(TIME_LIMIT, stream.read_to_end(&mut read)).await;
        assert!(
            reading.is_ok(),
            "{path} hangs: {}",
            String::from_utf8_lossy(&read)
        );
        Some(String::from_utf8_lossy(&read).into_owned())
    }
}

/// Waits until no turn is open; says how many turns there are, and how they ended.
async fn settle(gateway: &Gateway) -> (u64, BTreeMap<String, u64>) {
    let (mut turns, mut ends, mut page) = (0, BTreeMap::new(), String::new());
    loop {
        let listed = gateway.get(&format!("/api/v1/sessions?limit=200{page}"));
        let listed = listed.answered().await.is(200);
        for session in listed["sessions"].as_array().expect("sessions") {
            let path = format!(
                "/api/v1/sessions/{}",
                session["id"].as_str().expect("an id")
            );
            if !session["open"].is_null() {
                let rest = gateway.get(&format!("{path}/events?until=rest"));
                rest.answered().await.json_events();
            }
            let told = gateway
                .get(&format!("{path}/turns"))
                .answered()
                .await
                .is(200);
            for turn in told["turns"].as_array().expect("turns") {
                assert_eq!(turn["status"], "ended", "{turn}");
                let end = turn["end"]["kind"].as_str().expect("an end");
                *ends.entry(end.to_owned()).or_default() += 1;
                turns += 1;
            }
        }
        match listed["next"].as_str() {
            Some(next) => page = format!("&page={next}"),
            None => return (turns, ends),
        }
    }
}

/// What a process holds.
#[derive(Clone, Debug)]
struct Held {
    /// What its descriptors lead to, but for those of the journal.
    descriptors: Vec<String>,
    /// The descriptors of the journal's files: of a few connections, opened when they are needed.
    journal: usize,
    /// In KiB.
    resident: u64,
}

impl Held {
    /// As the operating system says it; nothing, where it has another way to say so.
    fn by(gateway: &Gateway) -> Self {
        let folder = format!("/proc/{}", gateway.running.id());
        let leads_to = |entry: std::io::Result<std::fs::DirEntry>| {
            let target = std::fs::read_link(entry.ok()?.path()).ok()?;
            Some(target.to_string_lossy().into_owned())
        };
        let descriptors = std::fs::read_dir(format!("{folder}/fd"));
        let descriptors = descriptors.into_iter().flatten().filter_map(leads_to);
        let (journal, descriptors): (Vec<String>, Vec<String>) =
            descriptors.partition(|target| target.contains(".db"));
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next());
        Self {
            descriptors,
            journal: journal.len(),
            resident: resident.and_then(|number| number.parse().ok()).unwrap_or(0),
        }
    }

    /// Whether that is at most a tenth more, and of the journal no more than it ever opens.
    fn is_within(&self, before: &Self) -> bool {
        self.resident * 10 <= before.resident * 11
            && self.descriptors.len() * 10 <= before.descriptors.len() * 11
            && self.journal <= MAX_JOURNAL_PART
    }
}

const ANSWERED: usize = 0;
const FAILED: usize = 1;
const ABORTED: usize = 2;

/// How many ask at once.
const CLIENTS: usize = 16;
/// Short waits, so that everything happens.
const CONFIG: &str = "\
[limits]
client_tool = \"1s\"
model_idle = \"1s\"
model_retries = 1
[serve]
disconnect = \"cancel\"
[serve.limits]
whole_reply = \"1s\"
";
/// The model of the scripted server.
const MODEL: &str = "claude/claude-opus-5-5";
/// How long a request may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How long what is let go of later may stay.
const MAX_DURATION: Duration = Duration::from_secs(180);
/// More than the journal ever opens: its locks, file, log and shared memory for what writes, file and log for
/// each of the four that read, and what SQLite closes only when nobody holds a lock on the file any more.
const MAX_JOURNAL_PART: usize = 20;
/// How long the traffic before the first look lasts at most.
const WARM_UP: Duration = Duration::from_secs(60);
