//! The floor: the same turn by a bare loop on hyper and `rmcp`, streamed, and nothing else.

use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::echo::{DESCRIPTION, TOOL, schema};
use crate::plan::Plan;
use crate::wire::Chunk;

/// A server and a bare client of it.
#[derive(Debug)]
pub struct Bare {
    child: Child,
    service: RunningService<RoleClient, ()>,
}

impl Bare {
    /// Starts the server and meets it.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub async fn start(mut server: Command) -> anyhow::Result<Self> {
        server
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = server.spawn()?;
        let output = child.stdout.take().context("no output")?;
        let input = child.stdin.take().context("no input")?;
        let service = ().serve((output, input)).await?;
        Ok(Self { child, service })
    }

    /// Calls the tool, and gives back its text.
    ///
    /// # Errors
    ///
    /// If the server does not answer with a text.
    pub async fn call(&self, arguments: serde_json::Map<String, Value>) -> anyhow::Result<String> {
        self.call_tool(TOOL, arguments).await
    }

    /// Calls a tool, and gives back its text.
    ///
    /// # Errors
    ///
    /// If the server does not answer with a text.
    pub async fn call_tool(
        &self,
        tool: &'static str,
        arguments: serde_json::Map<String, Value>,
    ) -> anyhow::Result<String> {
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        let CallToolResponse::Complete(result) = self.service.call_tool_once(call).await? else {
            bail!("the tool did not end");
        };
        let text = result.content.first().and_then(|block| block.as_text());
        Ok(text.context("there is no text")?.text.clone())
    }

    /// Lists the tools, and counts them.
    ///
    /// # Errors
    ///
    /// If the server does not list them.
    pub async fn list(&self) -> anyhow::Result<usize> {
        Ok(self.service.list_all_tools().await?.len())
    }

    /// Ends the server.
    ///
    /// # Errors
    ///
    /// If it cannot be waited for.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.service.cancel().await?;
        self.child.wait().await?;
        Ok(())
    }
}

/// One connection to the provider.
#[derive(Debug)]
pub struct Asker {
    host: String,
    path: String,
    sender: SendRequest<Full<Bytes>>,
}

/// What a reply came to.
#[derive(Debug, Default)]
struct Reply {
    calls: Vec<Call>,
    text: String,
}

#[derive(Debug, Default)]
struct Call {
    arguments: String,
    id: String,
    name: String,
}

impl Asker {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If there is nobody at this base URL.
    pub async fn connect(base_url: &str) -> anyhow::Result<Self> {
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

    /// A turn: its answer, and how many calls it had.
    ///
    /// # Errors
    ///
    /// If anything at all is not as it should be.
    pub async fn turn(&mut self, server: &Bare, plan: Plan) -> anyhow::Result<(String, usize)> {
        let mut messages = vec![json!({ "role": "user", "content": plan.to_string() })];
        let function = json!({ "name": TOOL, "description": DESCRIPTION, "parameters": schema() });
        let tools = json!([{ "type": "function", "function": function }]);
        let mut called = 0;
        loop {
            let body = serde_json::to_vec(&json!({
                "model": "bench",
                "messages": messages,
                "stream": true,
                "stream_options": { "include_usage": true },
                "tools": tools,
            }))?;
            let reply = self.ask(body).await?;
            if reply.calls.is_empty() {
                return Ok((reply.text, called));
            }
            called += reply.calls.len();
            let outcomes = try_join_all(reply.calls.iter().map(|call| async {
                ensure!(call.name == TOOL, "there is no tool `{}`", call.name);
                server.call(serde_json::from_str(&call.arguments)?).await
            }));
            let outcomes = outcomes.await?;
            let calls: Vec<Value> = reply
                .calls
                .iter()
                .map(|call| {
                    let function = json!({ "name": call.name, "arguments": call.arguments });
                    json!({ "id": call.id, "type": "function", "function": function })
                })
                .collect();
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
            for (call, text) in reply.calls.iter().zip(outcomes) {
                let id = &call.id;
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
            }
        }
    }

    async fn ask(&mut self, body: Vec<u8>) -> anyhow::Result<Reply> {
        let request = Request::post(&self.path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("authorization", "Bearer none")
            .body(Full::new(Bytes::from(body)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        let mut body = response.into_body();
        let mut reply = Reply::default();
        let mut rest: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            rest.extend_from_slice(&data);
            let mut begin = 0;
            while let Some(end) = rest
                .get(begin..)
                .and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
            {
                let line = rest.get(begin..begin + end).unwrap_or_default();
                begin += end + 1;
                if let Some(data) = line.strip_prefix(b"data: ")
                    && data != b"[DONE]"
                {
                    reply.take(serde_json::from_slice(data)?)?;
                }
            }
            rest.drain(..begin);
        }
        Ok(reply)
    }
}

impl Reply {
    fn take(&mut self, chunk: Chunk<'_>) -> anyhow::Result<()> {
        for choice in chunk.choices {
            self.text
                .push_str(choice.delta.content.as_deref().unwrap_or_default());
            for piece in choice.delta.tool_calls {
                if self.calls.len() <= piece.index {
                    self.calls.resize_with(piece.index + 1, Call::default);
                }
                let call = self.calls.get_mut(piece.index).context("no such call")?;
                call.id.push_str(piece.id.as_deref().unwrap_or_default());
                let function = piece.function;
                call.name
                    .push_str(function.name.as_deref().unwrap_or_default());
                call.arguments
                    .push_str(function.arguments.as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }
}
