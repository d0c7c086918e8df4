//! An upstream that costs next to nothing: its replies are written before anybody asks.

use std::convert::Infallible;
use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

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
    let replies = Replies::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let replies = replies.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(replies.clone(), request));
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer);
            // Clients may go as they like.
            let _gone = serving.await;
        });
    }
}

/// What is said, as it stands on the wire.
#[derive(Clone)]
struct Replies {
    begin: Bytes,
    end: Bytes,
    token: Bytes,
    whole: Bytes,
}

impl Replies {
    fn new() -> Self {
        let event = |choices: serde_json::Value, usage: serde_json::Value| -> Bytes {
            let chunk = json!({
                "id": ID, "object": "chat.completion.chunk", "created": 1, "model": "bench",
                "choices": choices, "usage": usage,
            });
            format!("data: {chunk}\n\n").into()
        };
        let delta = |delta: serde_json::Value| {
            let choices = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
            event(choices, serde_json::Value::Null)
        };
        let usage = json!({ "prompt_tokens": 500, "completion_tokens": 50, "total_tokens": 550 });
        let stop = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
        let stop = event(stop, serde_json::Value::Null);
        let used = event(json!([]), usage.clone());
        let message = json!({ "role": "assistant", "content": TEXT });
        let whole = json!({
            "id": ID, "object": "chat.completion", "created": 1, "model": "bench",
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": usage,
        });
        Self {
            begin: delta(json!({ "role": "assistant", "content": "" })),
            end: [&*stop, &*used, b"data: [DONE]\n\n"].concat().into(),
            token: delta(json!({ "content": "word " })),
            whole: whole.to_string().into(),
        }
    }
}

async fn answer(replies: Replies, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
    let body = request.into_body().collect().await?.to_bytes();
    let tokens = number(&body, b"tokens=").unwrap_or(0);
    let every = Duration::from_millis(number(&body, b"every=").unwrap_or(0));
    let streamed = find(&body, b"\"stream\":true").is_some();
    let (media, frames): (_, BoxStream<'static, Bytes>) = if !streamed {
        ("application/json", stream::iter([replies.whole]).boxed())
    } else if every.is_zero() {
        // The whole text is there at once, as of a provider that nobody waits for.
        let words = std::iter::repeat_n(replies.token, TEXT.split(' ').count());
        let all = [replies.begin]
            .into_iter()
            .chain(words)
            .chain([replies.end]);
        let all: Vec<u8> = all.flatten().collect();
        ("text/event-stream", stream::iter([all.into()]).boxed())
    } else {
        let mut ticks = tokio::time::interval(every);
        ticks.tick().await;
        let token = replies.token;
        let words = stream::unfold((ticks, tokens), move |(mut ticks, left)| {
            let token = token.clone();
            async move {
                let left = left.checked_sub(1)?;
                ticks.tick().await;
                Some((token, (ticks, left)))
            }
        });
        let begin = stream::iter([replies.begin]);
        let all = begin.chain(words).chain(stream::iter([replies.end]));
        ("text/event-stream", all.boxed())
    };
    let frames = frames.map(|bytes| Ok(Frame::data(bytes))).boxed();
    let response = Response::builder()
        .header("content-type", media)
        .body(StreamBody::new(frames))?;
    Ok(response)
}

/// The number behind these letters.
fn number(body: &[u8], name: &[u8]) -> Option<u64> {
    let behind = find(body, name)? + name.len();
    let digits = body.get(behind..)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}

fn find(body: &[u8], what: &[u8]) -> Option<usize> {
    body.windows(what.len()).position(|window| window == what)
}

const ID: &str = "chatcmpl-bench";
const TEXT: &str =
    "It is done: the sum is five hundred and seventy-nine, as you would expect of it.";
