//! The load: clients on hyper, each on one connection that is kept.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::plan::Plan;

/// A stream that was read to its end.
#[derive(Clone, Copy, Debug)]
pub struct Streamed {
    /// From the request to the first token.
    pub first: Duration,
    /// How many tokens came.
    pub tokens: usize,
}

/// A request of about 2 KB with tools of the client's.
#[must_use]
pub fn chat_body(stream: bool) -> String {
    let tool = |name: &str, about: &str| {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What is looked for, in plain words." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
                "unit": { "type": "string", "enum": ["celsius", "fahrenheit", "kelvin"] },
            },
            "required": ["query"],
        });
        let function = json!({ "name": name, "description": about, "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    let system = "You are a helpful assistant. Answer in one sentence. Use a tool where it helps, \
                  name the source of what you say, and say so if you do not know.";
    let body = json!({
        "model": MODEL,
        "messages": [
            { "role": "system", "content": system },
            { "role": "user", "content": "Please compute 123 + 456, and say what the weather is like." },
            { "role": "assistant", "content": "I will look at the weather first. Where are you?" },
            { "role": "user", "content": "In Oslo, but I fly to Lisbon tomorrow morning, so both, please." },
        ],
        "tools": [
            tool("calculate", "Computes an expression with the usual operators and functions."),
            tool("weather", "Says what the weather is like at a place, now or on a day."),
            tool("search", "Searches the web and gives the first results with their addresses."),
        ],
        "temperature": 0.2,
        "max_tokens": 500,
        "stream": stream,
    });
    body.to_string()
}

/// A request with a history of so many messages of usual length, the client's and the model's in turn.
#[must_use]
pub fn history_body(messages: usize) -> String {
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let content = format!(
            "This is message {n} of a long conversation about the weather, trains and planes. It says what \
             messages say: a few facts, a question or two, and a number that nobody needs, such as {}.",
            n * 7919
        );
        json!({ "role": role, "content": content })
    };
    // The last one is the client's.
    let messages = (0..messages - (messages + 1) % 2).map(message);
    let messages: Vec<Value> = messages.collect();
    // A tool of its own, so that none of the gateway's is offered, and nothing is kept.
    let function = json!({ "name": "nothing", "parameters": { "type": "object" } });
    let tools = json!([{ "type": "function", "function": function }]);
    json!({ "model": MODEL, "messages": messages, "tools": tools, "max_tokens": 500 }).to_string()
}

/// A request for a stream of so many tokens, one each so many milliseconds.
#[must_use]
pub fn stream_body(tokens: usize, every: u64) -> String {
    let said = format!("Say: tokens={tokens} every={every} and no more.");
    let messages = json!([{ "role": "user", "content": said }]);
    // A tool of its own, so that none of the gateway's is offered.
    let function = json!({ "name": "nothing", "parameters": { "type": "object" } });
    let tools = json!([{ "type": "function", "function": function }]);
    json!({ "model": MODEL, "messages": messages, "tools": tools, "stream": true }).to_string()
}

/// A request for a turn of this plan.
#[must_use]
pub fn turn_body(plan: Plan) -> String {
    let messages = json!([{ "role": "user", "content": plan.to_string() }]);
    json!({ "model": "turns/bench", "messages": messages }).to_string()
}

/// Sends so many requests over so many connections, and gives the time of each.
///
/// # Errors
///
/// If one does not get an answer.
pub async fn requests(
    base_url: &str,
    body: &str,
    connections: usize,
    requests: usize,
) -> anyhow::Result<Vec<Duration>> {
    let each = requests.div_ceil(connections.max(1));
    let body = Bytes::from(body.to_owned());
    let clients = (0..connections).map(|_| {
        let (base_url, body) = (base_url.to_owned(), body.clone());
        tokio::spawn(async move {
            let mut client = Client::connect(&base_url).await?;
            let mut walls = Vec::with_capacity(each);
            for _ in 0..each {
                let began = Instant::now();
                let answer = client.ask(body.clone()).await?;
                let answer = answer.collect().await?.to_bytes();
                walls.push(began.elapsed());
                let answer: Value = serde_json::from_slice(&answer)?;
                let said = answer.pointer("/choices/0/message/content");
                ensure!(said.is_some_and(Value::is_string), "no answer: {answer}");
            }
            Ok(walls)
        })
    });
    let walls = try_join_all(clients).await?;
    let walls: anyhow::Result<Vec<Vec<Duration>>> = walls.into_iter().collect();
    Ok(walls?.into_iter().flatten().collect())
}

/// Opens so many streams, each on a connection of its own that is there before: all of them in one instant, or
/// one after another, so much time apart, whatever becomes of those before.
///
/// # Errors
///
/// If one does not begin. What breaks off has few tokens.
pub async fn streams(
    base_url: &str,
    body: &str,
    streams: usize,
    apart: Duration,
) -> anyhow::Result<Vec<Streamed>> {
    let body = Bytes::from(body.to_owned());
    let mut clients = Vec::new();
    for _ in 0..streams {
        clients.push(Client::connect(base_url).await?);
    }
    let start = tokio::time::Instant::now();
    let streams = clients.into_iter().zip(0_u32..).map(|(mut client, nth)| {
        let body = body.clone();
        tokio::spawn(async move {
            if !apart.is_zero() {
                tokio::time::sleep_until(start + apart * nth).await;
            }
            let began = Instant::now();
            let mut answer = client.ask(body).await?;
            let (mut first, mut tokens) = (Duration::ZERO, 0);
            while let Some(frame) = answer.frame().await {
                let Ok(frame) = frame else {
                    break;
                };
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                // A token is never cut: each is written as one.
                let came = data
                    .windows(WORD.len())
                    .filter(|word| *word == WORD)
                    .count();
                if tokens == 0 && came > 0 {
                    first = began.elapsed();
                }
                tokens += came;
            }
            Ok(Streamed { first, tokens })
        })
    });
    let streams = try_join_all(streams).await?;
    streams.into_iter().collect()
}

/// One connection.
pub(crate) struct Client {
    host: String,
    path: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub(crate) async fn connect(base_url: &str) -> anyhow::Result<Self> {
        let rest = base_url.strip_prefix("http://").context("no http URL")?;
        let (host, path) = rest.split_once('/').context("no path")?;
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self {
            host: host.to_owned(),
            path: format!("/{path}/chat/completions"),
            sender,
        })
    }

    async fn ask(&mut self, body: Bytes) -> anyhow::Result<Incoming> {
        let path = self.path.clone();
        self.send("POST", &path, body).await
    }

    /// Sends a request of the gateway's own API, and reads its answer.
    pub(crate) async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let path = format!("/api/v1{path}");
        let answer = self.send(method, &path, body.to_string().into()).await?;
        Ok(serde_json::from_slice(&answer.collect().await?.to_bytes())?)
    }

    async fn send(&mut self, method: &str, path: &str, body: Bytes) -> anyhow::Result<Incoming> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("authorization", "Bearer none")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        if !status.is_success() {
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::bail!("{status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(response.into_body())
    }
}

const MODEL: &str = "bench/bench";
const WORD: &[u8] = b"word ";
