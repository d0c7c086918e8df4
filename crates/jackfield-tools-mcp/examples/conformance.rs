//! A client for the conformance suite of the protocol: `conformance URL`.
//!
//! The suite starts a server for each of its scenarios, then this program, and judges the requests that arrive. It
//! names the scenario in `MCP_CONFORMANCE_SCENARIO`, and gives what the scenario needs in `MCP_CONFORMANCE_CONTEXT`
//! (README of `@modelcontextprotocol/conformance` 0.2.0-alpha.12, read 2026-11-26).
//!
//! Where a person would sign in in a browser, this program follows the redirect itself.

#![expect(
    clippy::future_not_send,
    clippy::print_stderr,
    reason = "a program for a terminal, with one thread"
)]

use std::any::Any;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolOrigin, ToolSpec};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_tools_mcp::{
    AuthSettings, Authorization, ClientSettings, HttpEndpoint, McpToolbox, RedirectListener,
    ServerConfig, TokenStore,
};
use serde_json::{Map, Value, json};

type Failure = Box<dyn Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("conformance: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let url = std::env::args().nth(1).ok_or("usage: conformance URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
    let context = context
        .map(|text| serde_json::from_str(&text))
        .transpose()?;
    let context: Value = context.unwrap_or_default();
    let client = Client::new(url, &context)?;
    let played = client.play(&scenario, &context).await;
    client.server.stop().await;
    played
}

/// The client of one server.
struct Client {
    authorization: Arc<Authorization>,
    server: McpToolbox,
}

impl Client {
    fn new(url: String, context: &Value) -> Result<Self, Failure> {
        let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
        let settings = AuthSettings {
            advice: "sign in".to_owned(),
            client_id: text("client_id"),
            client_metadata_url: Some(METADATA_URL.to_owned()),
            client_secret: text("client_secret"),
            is_configured: true,
            network: GuardedSettings::default(),
            scope: None,
            url: url.clone(),
        };
        let authorization = Authorization::new(settings, Arc::<MemoryStore>::default())?;
        let authorization = Arc::new(authorization);
        let endpoint = HttpEndpoint {
            headers: Vec::new(),
            url,
        };
        let config = ServerConfig::at(ToolboxId::parse("judged")?, endpoint);
        let settings = ClientSettings {
            // A scenario waits no longer than 30 s.
            start_limit: Duration::from_secs(10),
            ..ClientSettings::default()
        };
        Ok(Self {
            server: McpToolbox::new(config, settings).authorized(Arc::clone(&authorization)),
            authorization,
        })
    }

    /// Does what the scenario is about.
    async fn play(&self, scenario: &str, context: &Value) -> Result<(), Failure> {
        match scenario {
            "elicitation-sep1034-client-defaults" => {
                self.tools().await?;
                let asked = self
                    .call("test_client_elicitation_defaults", json!({}))
                    .await?;
                self.answer(asked, json!({})).await.map(drop)
            }
            "http-custom-headers" => {
                self.tools().await?;
                let calls = context.get("toolCalls").and_then(Value::as_array);
                for call in calls.ok_or("the context names no calls")? {
                    let name = call.get("name").and_then(Value::as_str);
                    let name = name.ok_or("a call has no name")?;
                    self.result(name, call["arguments"].clone()).await?;
                }
                Ok(())
            }
            "http-invalid-tool-headers" => {
                for tool in self.tools().await? {
                    self.result(&tool.name, json!({})).await?;
                }
                Ok(())
            }
            "json-schema-ref-no-deref" | "request-metadata" => self.tools().await.map(drop),
            "sep-2322-client-request-state" => self.retry_with_state().await,
            "tools_call" => self.call_first(json!({ "a": 2, "b": 3 })).await,
            _ => self.call_first(json!({})).await,
        }
    }

    /// Answers the questions of two calls, with another call meanwhile.
    async fn retry_with_state(&self) -> Result<(), Failure> {
        self.tools().await?;
        let asked = self.call("test_mrtr_echo_state", json!({})).await?;
        self.result("test_mrtr_unrelated", json!({})).await?;
        self.answer(asked, json!({ "confirmed": true })).await?;
        let asked = self.call("test_mrtr_no_state", json!({})).await?;
        self.answer(asked, json!({ "confirmed": true })).await?;
        self.result("test_mrtr_no_result_type", json!({})).await?;
        Ok(())
    }

    async fn call_first(&self, arguments: Value) -> Result<(), Failure> {
        let tools = self.tools().await?;
        match tools.first() {
            Some(tool) => self.result(&tool.name, arguments).await.map(drop),
            None => Ok(()),
        }
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, Failure> {
        self.signed_in(async || {
            self.server.start().await?;
            Ok(self.server.list().await?)
        })
        .await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolEnd, Failure> {
        let run = tool_run(tool, arguments)?;
        self.signed_in(async || {
            Ok(self
                .server
                .call(&run, &CallContext::default(), &mut ())
                .await?)
        })
        .await
    }

    /// Does this, as often as it fails for want of a sign-in, with one before each further attempt.
    async fn signed_in<T>(&self, act: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut sign_ins = 0;
        loop {
            match act().await {
                Err(failure) if self.authorization.needs_person() && sign_ins < MAX_SIGN_INS => {
                    eprintln!("conformance: {failure}");
                    self.sign_in().await?;
                    sign_ins += 1;
                }
                ended => return ended,
            }
        }
    }

    /// Signs in, and is the person's browser.
    async fn sign_in(&self) -> Result<(), Failure> {
        let listener = RedirectListener::bind(None, false).await?;
        let login = self.authorization.begin(listener.uri()).await?;
        let browser = Transport::new(TransportSettings::default())?;
        let visit = |url: &str| http::Request::get(url).body(Bytes::new());
        let answer = browser.send(visit(login.url())?).await?;
        let next = answer
            .header("location")
            .ok_or("the browser is not sent on")?;
        let next = visit(next)?;
        let (redirect, arrived) = tokio::join!(listener.redirect(&login), browser.send(next));
        arrived?;
        Ok(self.authorization.finish(login, &redirect?).await?)
    }

    async fn result(&self, tool: &str, arguments: Value) -> Result<ToolResult, Failure> {
        match self.call(tool, arguments).await? {
            ToolEnd::Finished(result) => Ok(result),
            ToolEnd::Asked { .. } => Err(format!("`{tool}` asks").into()),
        }
    }

    /// Answers the question of a call, which then ends.
    async fn answer(&self, asked: ToolEnd, content: Value) -> Result<ToolResult, Failure> {
        let ToolEnd::Asked { handle, .. } = asked else {
            return Err("the call does not ask".into());
        };
        let answer = ElicitationAnswer::Accepted(Arc::new(content));
        match self
            .server
            .resume(&handle, Some(&answer), &CallContext::default(), &mut ())
            .await?
        {
            ToolEnd::Finished(result) => Ok(result),
            ToolEnd::Asked { .. } => Err("the call asks again".into()),
        }
    }
}

/// Keeps a sign-in as long as the program runs.
#[derive(Default)]
struct MemoryStore(Mutex<Option<String>>);

#[async_trait]
impl TokenStore for MemoryStore {
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }

    async fn load(&self) -> io::Result<Option<String>> {
        Ok(self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone())
    }

    async fn store(&self, text: &str) -> io::Result<()> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        Ok(())
    }

    async fn remove(&self) -> io::Result<bool> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(stored.take().is_some())
    }
}

fn tool_run(tool: &str, arguments: Value) -> Result<ToolRun, Failure> {
    let Value::Object(arguments) = arguments else {
        return Err("arguments are an object".into());
    };
    let arguments: Map<String, Value> = arguments;
    let call = ToolCallId::parse(&format!("call_{tool}"))?;
    Ok(ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::from(arguments)),
        key: IdempotencyKey::derive(&call),
        attempt: ToolAttempt { call, attempt: 1 },
        max_bytes: 1 << 20,
        time_limit: Duration::from_secs(20),
        tool: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("judged")?,
        },
    })
}

/// The address of the document about the client, which the suite expects and does not fetch.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// The most sign-ins for one request.
const MAX_SIGN_INS: u32 = 2;
