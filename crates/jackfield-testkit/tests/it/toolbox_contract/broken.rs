//! A toolbox with one mistake.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

mod notes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use serde_json::{Value, json};

use self::notes::Notes;

/// What a toolbox may do wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mistake {
    BlocksForEver,
    BlocksInATask,
    BlocksItsThread,
    CrashIsNotSent,
    CutInSilence,
    EffectLater,
    EffectTwice,
    FailureIsError,
    FailureIsForgotten,
    ForgetsItsLease,
    KeyAfterEffect,
    KeyBeforeEffect,
    KeyIgnored,
    KeyIsArguments,
    KeyIsAttempt,
    KeyIsCall,
    KeysAreFew,
    KeysInMemory,
    LastKeyOnly,
    LateAlthoughOnTime,
    LateForgotten,
    LimitTooLow,
    ListChanges,
    LookWrites,
    LookWritesLater,
    NeverCut,
    None,
    PanicGoesThrough,
    PromisesMore,
    RepetitionSaysSo,
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
    notes: Notes,
    running: Arc<AtomicUsize>,
    runs: AtomicUsize,
}

#[async_trait]
impl ToolboxHarness for Broken {
    async fn fresh() -> Self {
        let is = super::mistake();
        Self(Arc::new(Mistaken::new(is, Notes::new(is))))
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("echo", json!({ "text": "Привет, мир" }))
    }

    fn acting(&self, nth: usize) -> Vec<SampleCall> {
        vec![SampleCall::new(
            "note",
            json!({ "text": format!("n{nth}") }),
        )]
    }

    fn read_only(&self) -> Vec<SampleCall> {
        let look = |text: &str| SampleCall::new("look", json!({ "text": text }));
        vec![look("n0"), look("nothing")]
    }

    async fn effects(&self) -> Option<Vec<String>> {
        Some(self.0.notes.written())
    }

    async fn restarted(&self) -> Option<Arc<dyn Toolbox>> {
        let next = Mistaken::new(self.0.is, self.0.notes.restarted());
        Some(Arc::new(next))
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("note", json!({})))
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

/// Works without leaving the thread to others.
fn block() {
    std::thread::sleep(Duration::from_millis(70));
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
struct Outliving(Option<LateOutcomeHandler>);

impl Drop for Outliving {
    fn drop(&mut self) {
        if let Some(late) = self.0.take() {
            late.deliver(ToolResult::text("it was done by then"));
        }
    }
}

const TOOLS: [&str; 6] = ["echo", "note", "look", "last", "outlive", "crash"];

impl Mistaken {
    fn new(is: Mistake, notes: Notes) -> Self {
        Self {
            id: ToolboxId::parse("broken").unwrap_or_else(|invalid| panic!("{invalid}")),
            is,
            notes,
            running: Arc::default(),
            runs: AtomicUsize::new(0),
        }
    }

    async fn run(&self, run: &ToolRun) -> Result<ToolResult, ToolFailure> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let running = Running::begin(&self.running);
        let text = run.arguments().and_then(|fields| fields.get("text"));
        let text = text.and_then(Value::as_str).unwrap_or_default();
        match &*run.tool.tool {
            "echo" => {
                match self.is {
                    Mistake::BlocksInATask => drop(tokio::spawn(async { block() })),
                    Mistake::BlocksItsThread => block(),
                    _ => {}
                }
                Ok(ToolResult::text(text))
            }
            "note" => Ok(self.notes.write(run, text).await),
            "look" => Ok(self.notes.look(text)),
            "last" if self.is == Mistake::BlocksForEver => loop {
                std::thread::park();
            },
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
            safety: match name {
                // These are tools that no call of the harness tests.
                "last" if self.is == Mistake::PromisesMore => Safety::ReadOnly,
                "outlive" if self.is == Mistake::PromisesMore => Safety::Idempotent,
                "look" => Safety::ReadOnly,
                "note" => Safety::Idempotent,
                _ => Safety::Unknown,
            },
            time_limit: None,
            title: None,
        };
        let mut tools = TOOLS.map(spec).to_vec();
        if self.is == Mistake::ToolTwice {
            tools.push(spec("echo"));
        }
        Ok(tools)
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
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
        if self.is != Mistake::ForgetsItsLease {
            call.begin()?;
        }
        let outlives = tool == "outlive" && self.is != Mistake::LateForgotten;
        let _late = Outliving(events.late_outcome().filter(|_| outlives));
        let mut result = self.run(run).await?;
        if self.is == Mistake::LateAlthoughOnTime
            && let Some(late) = events.late_outcome()
        {
            late.deliver(result.clone());
        }
        let again = match self.is {
            Mistake::RunsTwice => true,
            Mistake::TriesAgain => result.is_error,
            _ => false,
        };
        if again {
            result = self.run(run).await?;
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
        _call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let (kind, message) = (ToolFailureKind::Unavailable, "there is no such job");
        match self.is {
            Mistake::ResumeIsNotSent => Err(ToolFailure::not_sent(kind, message).into()),
            Mistake::ResumeRuns => {
                self.runs.fetch_add(1, Ordering::Relaxed);
                Ok(ToolEnd::Finished(ToolResult::text("again")))
            }
            _ => Err(ToolFailure::unknown(kind, message).into()),
        }
    }
}
