//! A bare proxy on hyper that does what a gateway cannot do without: it parses what comes, and writes it
//! again, in both directions.

use std::io::Write as _;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpListener;

type Body = StreamBody<BoxStream<'static, anyhow::Result<Frame<Bytes>>>>;

/// Serves on a free port, whose base URL goes to standard output, until the input ends.
///
/// # Errors
///
/// If there is no port, or nobody reads which one.
pub async fn serve(upstream: &str) -> anyhow::Result<()> {
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
        lost = accept(listener, upstream) => lost,
    }
}

async fn accept(listener: TcpListener, upstream: &str) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let url = format!("{upstream}/chat/completions");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, url) = (client.clone(), url.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| pass(client.clone(), url.clone(), request));
            let serving = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer);
            let _gone = serving.await;
        });
    }
}

async fn pass(
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    request: Request<Incoming>,
) -> anyhow::Result<Response<Body>> {
    let body = request.into_body().collect().await?.to_bytes();
    let request = Request::post(url)
        .header(CONTENT_TYPE, "application/json")
        .header("authorization", "Bearer none")
        .body(Full::new(again(&body)?))?;
    let answer = client.request(request).await?;
    let media = answer.headers().get(CONTENT_TYPE).cloned();
    let is_stream = media
        .as_ref()
        .is_some_and(|media| media == "text/event-stream");
    let mut response = Response::builder();
    if let Some(media) = media {
        response = response.header(CONTENT_TYPE, media);
    }
    let body = answer.into_body();
    let frames = if is_stream {
        events(body)
    } else {
        let whole = again(&body.collect().await?.to_bytes())?;
        stream::iter([Ok(Frame::data(whole))]).boxed()
    };
    Ok(response.body(StreamBody::new(frames))?)
}

/// The same JSON, parsed and written.
fn again(json: &[u8]) -> anyhow::Result<Bytes> {
    let value: Value = serde_json::from_slice(json)?;
    Ok(serde_json::to_vec(&value)?.into())
}

/// The same events, each parsed and written as soon as it is whole.
fn events(body: Incoming) -> BoxStream<'static, anyhow::Result<Frame<Bytes>>> {
    let state = (body, BytesMut::new());
    let frames = stream::try_unfold(state, |(mut body, mut rest)| async move {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            rest.extend_from_slice(&data);
            let mut written = Vec::new();
            while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
                let event = rest.split_to(end + 2);
                let line = event.strip_prefix(b"data: ").unwrap_or_default();
                let line = line.trim_ascii_end();
                written.extend_from_slice(b"data: ");
                if line == b"[DONE]" {
                    written.extend_from_slice(line);
                } else {
                    written.extend_from_slice(&again(line)?);
                }
                written.extend_from_slice(b"\n\n");
            }
            if !written.is_empty() {
                return Ok(Some((Frame::data(written.into()), (body, rest))));
            }
        }
        Ok(None)
    });
    frames.boxed()
}
