//! A toolbox with one mistake.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::toolbox::{Afterwards, ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use serde_json::{Value, json};

/// What a toolbox may do wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mistake {
    CrashIsNotSent,
    CutInSilence,
    FailureIsError,
    LateAlthoughOnTime,
    LateForgotten,
    LimitTooLow,
    ListChanges,
    NeverCut,
    None,
    PanicGoesThrough,
    ResumeIsNotSent,
    ResumeRuns,
    RunsOn,
    RunsTwice,
    SchemaIsText,
    ToolTwice,
    TriesAgain,
    UnknownMayHaveRun,
}

/// A toolbox with a mistake.
pub(super) struct Broken(Arc<Mistaken>);

struct Mistaken {
    id: ToolboxId,
    is: Mistake,
    running: Arc<AtomicUsize>,
    runs: AtomicUsize,
}

#[async_trait]
impl ToolboxHarness for Broken {
    async fn fresh() -> Self {
        Self(Arc::new(Mistaken {
            id: ToolboxId::parse("broken").unwrap_or_else(|invalid| panic!("{invalid}")),
            is: super::MISTAKE.get(),
            running: Arc::default(),
            runs: AtomicUsize::new(0),
        }))
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("echo", json!({ "text": "Привет, мир" }))
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("fail", json!({})))
    }

    fn lasting(&self) -> Option<SampleCall> {
        Some(SampleCall::new("last", json!({})))
    }

    fn outliving(&self) -> Option<SampleCall> {
        Some(SampleCall::new("outlive", json!({})))
    }

    fn crashing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("crash", json!({})))
    }

    fn runs(&self) -> Option<usize> {
        Some(self.0.runs.load(Ordering::Relaxed))
    }

    fn is_running(&self) -> Option<bool> {
        Some(self.0.running.load(Ordering::Relaxed) > 0)
    }
}

/// A tool that runs.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A tool that has done its work when it is taken back.
struct Outliving(Option<Afterwards>);

impl Drop for Outliving {
    fn drop(&mut self) {
        if let Some(late) = self.0.take() {
            late.deliver(ToolResult::text("it was done by then"));
        }
    }
}

const TOOLS: [&str; 5] = ["echo", "fail", "last", "outlive", "crash"];

impl Mistaken {
    async fn run(&self, tool: &str, text: &str) -> Result<ToolResult, ToolFailure> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let running = Running::begin(&self.running);
        match tool {
            "echo" => Ok(ToolResult::text(text)),
            "fail" => Ok(ToolResult::error("it cannot be done")),
            "last" if self.is == Mistake::RunsOn => {
                let on = tokio::spawn(async move {
                    let _running = running;
                    std::future::pending::<()>().await;
                });
                let _ended = on.await;
                Ok(ToolResult::default())
            }
            "last" | "outlive" => std::future::pending().await,
            "crash" if self.is == Mistake::PanicGoesThrough => panic!("the tool panics"),
            "crash" => {
                let panicked = tokio::spawn(async { panic!("the tool panics") }).await;
                assert!(matches!(panicked, Err(error) if error.is_panic()));
                let kind = ToolFailureKind::Crashed;
                Err(match self.is {
                    Mistake::CrashIsNotSent => ToolFailure::not_sent(kind, "it panicked"),
                    _ => ToolFailure::unknown(kind, "it panicked"),
                })
            }
            other => panic!("the tool `{other}` is not in the list"),
        }
    }

    /// As much of a result as may be shown.
    fn cut(&self, whole: ToolResult, limit: usize) -> ToolResult {
        match self.is {
            Mistake::CutInSilence if whole.size() > limit => {
                let text = whole.to_text();
                ToolResult::text(&text[..text.floor_char_boundary(limit)])
            }
            Mistake::LimitTooLow => whole.cut(limit - 1).unwrap_or(whole),
            Mistake::NeverCut => whole,
            _ => whole.cut(limit).unwrap_or(whole),
        }
    }
}

#[async_trait]
impl Toolbox for Mistaken {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let runs = self.runs.load(Ordering::Relaxed);
        let schema = match self.is {
            Mistake::SchemaIsText => json!("object"),
            _ => json!({ "type": "object" }),
        };
        let spec = |name: &str| ToolSpec {
            description: match self.is {
                Mistake::ListChanges => format!("was run {runs} times").into(),
                _ => "Does it.".into(),
            },
            icon: None,
            input: InputFormat::Json(Arc::new(schema.clone())),
            name: name.into(),
            output: None,
            safety: Safety::Unknown,
            time_limit: None,
            title: None,
        };
        let mut tools = TOOLS.map(spec).to_vec();
        if self.is == Mistake::ToolTwice {
            tools.push(spec("echo"));
        }
        Ok(tools)
    }

    async fn call(&self, run: &ToolRun, events: &mut dyn ToolEvents) -> Result<ToolEnd, ToolError> {
        let tool = &*run.tool.tool;
        if !TOOLS.contains(&tool) {
            let (kind, message) = (
                ToolFailureKind::UnknownTool,
                format!("there is no `{tool}`"),
            );
            return Err(match self.is {
                Mistake::UnknownMayHaveRun => ToolFailure::unknown(kind, message),
                _ => ToolFailure::not_sent(kind, message),
            }
            .into());
        }
        let text = run.arguments().and_then(|fields| fields.get("text"));
        let text = text.and_then(Value::as_str).unwrap_or_default();
        let outlives = tool == "outlive" && self.is != Mistake::LateForgotten;
        let _late = Outliving(events.afterwards().filter(|_| outlives));
        let mut result = self.run(tool, text).await?;
        if self.is == Mistake::LateAlthoughOnTime
            && let Some(late) = events.afterwards()
        {
            late.deliver(result.clone());
        }
        let again = match self.is {
            Mistake::RunsTwice => true,
            Mistake::TriesAgain => result.is_error,
            _ => false,
        };
        if again {
            result = self.run(tool, text).await?;
        }
        if result.is_error && self.is == Mistake::FailureIsError {
            let message = result.to_text();
            return Err(ToolFailure::unknown(ToolFailureKind::Crashed, message).into());
        }
        Ok(ToolEnd::Finished(self.cut(result, run.max_bytes)))
    }

    async fn resume(
        &self,
        _handle: &JobHandle,
        _answer: Option<&ElicitationAnswer>,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let (kind, message) = (ToolFailureKind::Unavailable, "there is no such job");
        match self.is {
            Mistake::ResumeIsNotSent => Err(ToolFailure::not_sent(kind, message).into()),
            Mistake::ResumeRuns => Ok(ToolEnd::Finished(self.run("echo", "again").await?)),
            _ => Err(ToolFailure::unknown(kind, message).into()),
        }
    }
}
