//! The demo's MCP server of invoices, which breaks off: so there is a call whose outcome nothing knows.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::ids::{InvalidId, ToolName, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ModelRef;
use jackfield_engine::{DirectCall, Engine, TurnOptions};
use jackfield_mcp_server::{OwnTool, OwnToolEntry, ServerSettings, ToolServer};
use jackfield_store_memory::MemoryJournal;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::fault::CommandError;
use crate::signals::Interrupts;

/// Serves one client on standard input and output, until its input ends, a signal arrives, or it breaks off.
///
/// # Errors
///
/// [`CommandError`] if the names of its tools are invalid.
pub(super) async fn run(outbox: PathBuf) -> Result<Exit, CommandError> {
    let mut interrupts = Interrupts::watch();
    let tools =
        tools(&outbox).map_err(|error| CommandError::new(Exit::Internal, error.to_string()))?;
    let engine = Engine::builder(Arc::new(MemoryJournal::default())).build();
    let options = TurnOptions::new(ModelRef {
        model: "".into(),
        provider: "".into(),
    });
    let server = ToolServer::new(engine, options).with_own(tools);
    let server = server.with(ServerSettings {
        name: "jackfield-demo-invoices".to_owned(),
        ..ServerSettings::default()
    });
    let asked = async {
        interrupts.recv().await;
    };
    server
        .serve(tokio::io::stdin(), tokio::io::stdout(), asked)
        .await;
    Ok(Exit::Answered)
}

fn tools(outbox: &Path) -> Result<[Arc<dyn OwnTool>; 2], InvalidId> {
    let number = json!({ "type": "integer", "minimum": 1, "description": "Its number." });
    let send = InvoiceTool::new(
        ("send_invoice", "Send an invoice"),
        "Sends an invoice. A second call sends it a second time.",
        json!({ "number": number }),
        outbox,
    )?;
    let sent = InvoiceTool::new(
        ("sent_invoices", "Sent invoices"),
        "Lists the invoices that were sent.",
        json!({}),
        outbox,
    )?;
    Ok([Arc::new(send), Arc::new(sent)])
}

/// One of the two tools; that with a number in its arguments sends.
#[derive(Debug)]
struct InvoiceTool {
    entry: OwnToolEntry,
    outbox: PathBuf,
}

impl InvoiceTool {
    fn new(
        (name, title): (&str, &str),
        description: &str,
        properties: Value,
        outbox: &Path,
    ) -> Result<Self, InvalidId> {
        let required: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys())
            .collect();
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let text = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let (name, toolbox) = (ToolName::parse(name)?, ToolboxId::parse("invoices")?);
        Ok(Self {
            entry: OwnToolEntry::new(name, toolbox, title, description, input, text),
            outbox: outbox.to_owned(),
        })
    }

    fn run(&self, number: Option<u64>) -> io::Result<String> {
        let Some(number) = number else {
            let sent = read(&self.outbox)?;
            return Ok(if sent.is_empty() {
                "No invoice was sent.".to_owned()
            } else {
                sent.trim_end().to_owned()
            });
        };
        let line = format!("Invoice {number} was sent.\n");
        let is_first = read(&self.outbox)?.is_empty();
        let mut outbox = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.outbox)?;
        outbox.write_all(line.as_bytes())?;
        if is_first {
            // The invoice is sent, and its caller will not hear of it.
            std::process::exit(i32::from(Exit::Internal.code()));
        }
        let times = read(&self.outbox)?.matches(&line).count();
        Ok(match times {
            1 => format!("Sent invoice {number}."),
            times => format!("Sent invoice {number}. It was sent {times} times."),
        })
    }
}

#[async_trait]
impl OwnTool for InvoiceTool {
    fn entry(&self) -> &OwnToolEntry {
        &self.entry
    }

    async fn call(&self, call: DirectCall) -> ToolResult {
        match self.run(call.arguments.get("number").and_then(Value::as_u64)) {
            Ok(text) => ToolResult {
                structured: Some(Arc::new(json!({ "text": text }))),
                ..ToolResult::text(text)
            },
            Err(error) => {
                ToolResult::error(format!("the outbox cannot be read or written: {error}"))
            }
        }
    }
}

/// The lines of the outbox, if there is one.
fn read(outbox: &Path) -> io::Result<String> {
    match std::fs::read_to_string(outbox) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}
