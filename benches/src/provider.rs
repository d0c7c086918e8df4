//! A provider on the loopback address, with no latency: says what the user message plans, streamed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::echo::TOOL;
use crate::plan::Plan;
use crate::wire::Asked;

/// Serves on a free port, whose base URL goes to standard output, until the input ends.
///
/// # Errors
///
/// If there is no port, or nobody reads which one.
pub async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}/v1", listener.local_addr()?)?;
    out.flush()?;
    let (over, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _input = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _gone = over.send(());
    });
    tokio::select! {
        _ = ended => Ok(()),
        lost = accept(listener) => lost,
    }
}

async fn accept(listener: TcpListener) -> anyhow::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            // Clients may go as they like.
            let _gone = serving.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> anyhow::Result<Response<Events>> {
    let body = request.into_body().collect().await?.to_bytes();
    let asked: Asked<'_> = serde_json::from_slice(&body)?;
    let reply = reply(&asked).context("there is no plan in the user message")?;
    let response = Response::builder()
        .header("content-type", "text/event-stream")
        .body(Events(reply));
    Ok(response?)
}

/// The reply that the plan has next, event by event.
fn reply(asked: &Asked<'_>) -> Option<VecDeque<Bytes>> {
    // What came before the last question is of other turns.
    let (mut outcomes, mut plan) = (0, None);
    for said in asked.messages.iter().rev() {
        if said.role == "user" {
            plan = Plan::parse(&said.content.to_string());
            break;
        }
        outcomes += u32::from(said.role == "tool");
    }
    let plan = plan?;
    let mut events = Reply::default();
    events.choice(&json!({ "role": "assistant", "content": "" }), None);
    let finish = if outcomes < plan.all_calls() {
        let name = asked
            .tools
            .iter()
            .map(|tool| &tool.function.name)
            .find(|name| name.ends_with(TOOL))?;
        for nth in 0..plan.calls {
            events.call(name, outcomes + nth, nth, plan.sleep);
        }
        "tool_calls"
    } else {
        for word in ANSWER.split_inclusive(' ') {
            events.choice(&json!({ "content": word }), None);
        }
        "stop"
    };
    events.choice(&json!({}), Some(finish));
    if asked.stream_options.is_some() {
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150 });
        events.push(&json!({
            "id": ID, "object": "chat.completion.chunk", "created": 1, "model": "bench",
            "choices": [], "usage": usage,
        }));
    }
    events.0.push_back(Bytes::from_static(b"data: [DONE]\n\n"));
    Some(events.0)
}

#[derive(Default)]
struct Reply(VecDeque<Bytes>);

impl Reply {
    fn push(&mut self, event: &Value) {
        self.0.push_back(format!("data: {event}\n\n").into());
    }

    fn choice(&mut self, delta: &Value, finish: Option<&str>) {
        self.push(&json!({
            "id": ID, "object": "chat.completion.chunk", "created": 1, "model": "bench",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }));
    }

    /// A call, its arguments in two pieces.
    fn call(&mut self, name: &str, id: u32, index: u32, sleep: u64) {
        let piece = |function: Value| json!({ "index": index, "function": function });
        let mut first = piece(json!({ "name": name, "arguments": "" }));
        first["id"] = format!("call_{id}").into();
        first["type"] = "function".into();
        let text = format!("\"call number {id} of this turn\"");
        let pieces = [
            first,
            piece(json!({ "arguments": format!("{{\"sleep_ms\":{sleep},\"text\":") })),
            piece(json!({ "arguments": format!("{text}}}") })),
        ];
        for piece in pieces {
            self.choice(&json!({ "tool_calls": [piece] }), None);
        }
    }
}

/// A body whose events are there at once.
struct Events(VecDeque<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|event| Ok(Frame::data(event))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

/// What every turn ends with.
pub const ANSWER: &str = "All of it is done.";
const ID: &str = "chatcmpl-bench";
