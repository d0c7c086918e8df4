//! A toolbox with scripted tools, which checks how it is called.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::ContextSource;
use jackfield_ports::toolbox::{LateOutcomeHandler, ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::json;

use super::call::{FakeCallAct, FakeCallEnd, ScriptedCall};
use super::context::AskingResource;
use super::rulebook::{Rulebook, locked};
use crate::gate::Gate;

/// A [`Toolbox`] of scripted tools.
///
/// The following fail the test when this handle is dropped, unless [`take_violations`](Self::take_violations) took
/// them: a repeated attempt, a call under two idempotency keys, an attempt at a call that is still running,
/// malformed arguments, a tool of another toolbox, and a call without a script.
#[derive(Debug)]
pub struct ScriptedToolbox {
    shared: Arc<FakeToolboxHandle>,
}

/// A call of a tool, as received by the toolbox.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedCall {
    /// Its end so far.
    pub ending: Ending,
    /// The trace context that it got.
    pub trace: Option<TraceContext>,
    /// The request: a run, or the resumption of a call by its handle.
    pub what: CalledWhat,
}

/// A request to a toolbox.
#[derive(Clone, Debug, PartialEq)]
pub enum CalledWhat {
    /// Resume a call.
    Resume {
        /// The answer to its question.
        answer: Option<ElicitationAnswer>,
        /// The handle of the call.
        handle: JobHandle,
    },
    /// Run a tool.
    Run(Box<ToolRun>),
}

/// The end of a tool's call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// It returned.
    CameBack,
    /// The caller dropped it, or it panicked.
    Dropped,
    /// It is running.
    Running,
}

#[derive(Debug)]
struct FakeToolboxHandle {
    id: ToolboxId,
    resource: OnceLock<AskingResource>,
    rulebook: Rulebook,
    state: Mutex<FakeToolboxState>,
}

#[derive(Debug, Default)]
struct FakeToolboxState {
    abandoned: Vec<JobHandle>,
    always: HashMap<Arc<str>, ScriptedCall>,
    calls: Vec<ObservedCall>,
    keys: HashMap<ToolCallId, IdempotencyKey>,
    max_running: usize,
    resumes: VecDeque<ScriptedCall>,
    script: HashMap<Arc<str>, VecDeque<ScriptedCall>>,
    seen: HashSet<ToolAttempt>,
    specs: Vec<ToolSpec>,
}

impl ScriptedToolbox {
    /// A toolbox without tools.
    #[must_use]
    pub fn new(id: ToolboxId) -> Self {
        let (rulebook, state) = (Rulebook::default(), Mutex::default());
        Self {
            shared: Arc::new(FakeToolboxHandle {
                id,
                resource: OnceLock::new(),
                rulebook,
                state,
            }),
        }
    }

    /// Adds a tool that takes any JSON object.
    pub fn tool(&self, name: &str, safety: Safety) -> &Self {
        self.spec(ToolSpec {
            description: format!("Scripted: {name}.").into(),
            icon: None,
            input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
            name: name.into(),
            output: None,
            safety,
            time_limit: None,
            title: None,
        })
    }

    /// Gives it its one resource, which asks this before each read, and whose text is the answer as JSON.
    pub fn asking_resource(&self, uri: &str, question: Question) -> &Self {
        let uri = uri.to_owned();
        let _known = self.shared.resource.set(AskingResource { question, uri });
        self
    }

    /// Adds a tool.
    pub fn spec(&self, spec: ToolSpec) -> &Self {
        locked(&self.shared.state).specs.push(spec);
        self
    }

    /// Adds a script for the next call of this tool without one.
    pub fn push_call(&self, tool: &str, call: ScriptedCall) -> &Self {
        let mut state = locked(&self.shared.state);
        state.script.entry(tool.into()).or_default().push_back(call);
        drop(state);
        self
    }

    /// Sets the script for every call of this tool without another one.
    pub fn set_default_call(&self, tool: &str, call: ScriptedCall) -> &Self {
        locked(&self.shared.state).always.insert(tool.into(), call);
        self
    }

    /// Adds a script for the next resumption of a call.
    pub fn push_resume(&self, call: ScriptedCall) -> &Self {
        locked(&self.shared.state).resumes.push_back(call);
        self
    }

    /// The toolbox's port. It stays valid without this handle.
    #[must_use]
    pub fn port(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.shared) as _
    }

    /// The calls that were given up, in order.
    #[must_use]
    pub fn abandoned(&self) -> Vec<JobHandle> {
        locked(&self.shared.state).abandoned.clone()
    }

    /// All calls, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<ObservedCall> {
        locked(&self.shared.state).calls.clone()
    }

    /// The runs among the calls.
    #[must_use]
    pub fn runs(&self) -> Vec<ToolRun> {
        let runs = self.calls().into_iter().filter_map(|call| match call.what {
            CalledWhat::Run(run) => Some(*run),
            CalledWhat::Resume { .. } => None,
        });
        runs.collect()
    }

    /// The largest number of concurrent calls so far.
    #[must_use]
    pub fn max_concurrent_calls(&self) -> usize {
        locked(&self.shared.state).max_running
    }

    /// Takes the violations, for a test that expects them.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        self.shared.rulebook.take()
    }
}

impl Drop for ScriptedToolbox {
    fn drop(&mut self) {
        let whose = format!("the scripted toolbox `{}`", self.shared.id);
        self.shared.rulebook.assert_empty(&whose);
    }
}

#[async_trait]
impl Toolbox for FakeToolboxHandle {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(locked(&self.state).specs.clone())
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        call.begin()?;
        let call = self.next_call(run)?;
        let entry = self.enter(CalledWhat::Run(Box::new(run.clone())), events);
        self.play(call, entry, run.max_bytes, events).await
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        call.begin().map_err(|passed| {
            ToolFailure::unknown(ToolFailureKind::Unavailable, passed.to_string())
        })?;
        let resumed = CalledWhat::Resume {
            answer: answer.cloned(),
            handle: handle.clone(),
        };
        let entry = self.enter(resumed, events);
        let call = locked(&self.state).resumes.pop_front();
        let Some(call) = call else {
            self.rulebook
                .record(format!("nothing is to be taken up by {handle:?}"));
            let kind = ToolFailureKind::Unavailable;
            return Err(ToolFailure::unknown(kind, "nothing is to be taken up").into());
        };
        self.play(call, entry, usize::MAX, events).await
    }

    fn context(&self) -> Option<&dyn ContextSource> {
        let resource = self.resource.get()?;
        Some(resource)
    }

    fn abandon(&self, handle: &JobHandle) {
        locked(&self.state).abandoned.push(handle.clone());
    }
}

impl FakeToolboxHandle {
    /// The script for this run, if it satisfies the rules.
    fn next_call(&self, run: &ToolRun) -> Result<ScriptedCall, ToolFailure> {
        let mut state = locked(&self.state);
        self.check(run, &mut state);
        let name = &run.tool.tool;
        if !state.specs.iter().any(|spec| spec.name == *name) {
            let kind = ToolFailureKind::UnknownTool;
            return Err(ToolFailure::not_sent(
                kind,
                format!("there is no tool `{name}`"),
            ));
        }
        let next = state.script.get_mut(name).and_then(VecDeque::pop_front);
        next.or_else(|| state.always.get(name).cloned())
            .ok_or_else(|| {
                let missing = format!("the tool `{name}` has nothing to do in the script");
                self.rulebook.record(missing.as_str());
                ToolFailure::not_sent(ToolFailureKind::Unavailable, missing)
            })
    }

    fn check(&self, run: &ToolRun, state: &mut FakeToolboxState) {
        let call = &run.attempt.call;
        if run.tool.toolbox != self.id {
            self.rulebook
                .record(format!("{call} is of `{}`", run.tool.toolbox));
        }
        if let ToolInput::Json(input) = &run.input
            && let Err(fault) = input.object()
        {
            self.rulebook
                .record(format!("{call} has malformed arguments: {fault}"));
        }
        if !state.seen.insert(run.attempt.clone()) {
            self.rulebook.record(format!(
                "{call} was run twice as try {}",
                run.attempt.attempt
            ));
        }
        let key = state
            .keys
            .entry(call.clone())
            .or_insert_with(|| run.key.clone());
        if *key != run.key {
            self.rulebook
                .record(format!("{call} was run under two keys"));
        }
        let still = state.calls.iter().any(|called| {
            called.ending == Ending::Running
                && matches!(&called.what, CalledWhat::Run(other) if other.attempt.call == *call)
        });
        if still {
            self.rulebook
                .record(format!("{call} was run again while it was running"));
        }
    }

    fn enter(&self, what: CalledWhat, events: &dyn ToolEvents) -> FakeCallEntry<'_> {
        let mut state = locked(&self.state);
        let place = state.calls.len();
        state.calls.push(ObservedCall {
            ending: Ending::Running,
            trace: events.trace().cloned(),
            what,
        });
        let running = state.calls.iter();
        let running = running
            .filter(|call| call.ending == Ending::Running)
            .count();
        state.max_running = state.max_running.max(running);
        FakeCallEntry {
            ending: Ending::Dropped,
            late: None,
            place,
            toolbox: self,
        }
    }

    async fn play(
        &self,
        call: ScriptedCall,
        mut entry: FakeCallEntry<'_>,
        max_bytes: usize,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        entry.late = call.late.zip(events.late_outcome());
        for act in call.acts {
            match act {
                FakeCallAct::Accept(handle) => events.on_accepted(handle).await,
                FakeCallAct::Progress(done, of, message) => {
                    events.on_progress(done, of, message).await;
                }
                FakeCallAct::Wait(gate) => gate.pass().await,
            }
        }
        match call.end {
            FakeCallEnd::Come(end) => {
                entry.ending = Ending::CameBack;
                Ok(match (*end)? {
                    ToolEnd::Finished(whole) => {
                        ToolEnd::Finished(whole.cut(max_bytes).unwrap_or(whole))
                    }
                    asked @ ToolEnd::Asked { .. } => asked,
                })
            }
            FakeCallEnd::Panic => panic!("a scripted tool panics, as it was told to"),
        }
    }
}

/// A call in flight; dropping it records its end.
struct FakeCallEntry<'a> {
    ending: Ending,
    late: Option<((ToolResult, Gate), LateOutcomeHandler)>,
    place: usize,
    toolbox: &'a FakeToolboxHandle,
}

impl Drop for FakeCallEntry<'_> {
    fn drop(&mut self) {
        if let Some(call) = locked(&self.toolbox.state).calls.get_mut(self.place) {
            call.ending = self.ending;
        }
        if self.ending == Ending::Dropped
            && let Some(((result, gate), handler)) = self.late.take()
        {
            tokio::spawn(async move {
                gate.pass().await;
                handler.deliver(result);
            });
        }
    }
}
