//! Runs a call to its end, through tasks and questions of the server.

use std::time::Duration;

use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents};
use rmcp::model::{
    ClientRequest, GetTaskParams, GetTaskRequest, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::{Map, Value};
use tokio::time::sleep;

pub(crate) use self::cancel::TaskCancel;

use crate::answer::{RequestError, RpcAnswer};
use crate::call::{CallLimits, CallReply, ServerCall};
use crate::connection::ServerConnection;
use crate::held::HeldCall;
use crate::jobs::{HeldJob, InputRequest, JobHandleForm, TaskJob, TaskState, task_id, task_state};
use crate::mapping::outcome;
use crate::questions::{AllowedQuestions, Questions, Refusal};
use crate::roots;

mod cancel;

pub(crate) struct CallRun<'a> {
    /// What the caller may be asked.
    pub(crate) allowed: AllowedQuestions,
    pub(crate) context: &'a CallContext,
    pub(crate) connection: &'a ServerConnection,
    pub(crate) limits: CallLimits,
    pub(crate) max_bytes: usize,
}

impl CallRun<'_> {
    pub(crate) async fn begin(
        self,
        call: ServerCall,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let input_request = InputRequest {
            call,
            is_for_pages: false,
            max_bytes: self.max_bytes,
            questions: Questions::default(),
            round: 0,
            state: None,
        };
        self.send(input_request, events).await
    }

    /// Lets a call go on that was sent once, so that it is never "not sent".
    fn go_on(&self) -> Result<(), ToolFailure> {
        self.context.begin().map_err(|passed| {
            ToolFailure::unknown(ToolFailureKind::Unavailable, passed.to_string())
        })
    }

    /// Resumes a call that had not ended.
    pub(crate) async fn resume(
        mut self,
        job: JobHandleForm,
        answer: Option<&ElicitationAnswer>,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.go_on()?;
        match job {
            JobHandleForm::Held(held) => self.answer_held(held, answer, events).await,
            JobHandleForm::InputRequired(mut asking) => {
                self.max_bytes = asking.max_bytes;
                if let Some(answer) = answer
                    && let Err(refusal) = asking.questions.answer(answer, events).await
                {
                    return Ok(self.refused(&asking.call.tool, &refusal));
                }
                if asking.is_for_pages && asking.questions.is_declined() {
                    return Ok(self.not_opened(&asking.call.tool));
                }
                if let Some(question) = asking.questions.next(self.allowed)? {
                    let handle = JobHandleForm::InputRequired(asking).to_handle();
                    return Ok(ToolEnd::Asked { handle, question });
                }
                self.send(*asking, events).await
            }
            JobHandleForm::Task(mut task) => {
                self.max_bytes = task.max_bytes;
                if let (Some(questions), Some(answer)) = (&mut task.questions, answer) {
                    if let Err(refusal) = questions.answer(answer, events).await {
                        drop(TaskCancel::new(self.connection, &task, self.context));
                        return Ok(self.refused(&task.tool, &refusal));
                    }
                    if let Some(question) = questions.next(self.allowed)? {
                        let handle = JobHandleForm::Task(task).to_handle();
                        return Ok(ToolEnd::Asked { handle, question });
                    }
                    let answers = std::mem::take(&mut questions.answers);
                    task.questions = None;
                    self.send_answers(&task, answers.into()).await?;
                }
                self.poll_task(task, events).await
            }
        }
    }

    /// Sends the call, and again as long as the server asks for no input of a person.
    async fn send(
        &self,
        mut input_request: InputRequest,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        loop {
            let answers = std::mem::take(&mut input_request.questions.answers);
            // The older era has no input in calls: the server knows what was done at its pages.
            let more = (input_request.round > 0 && !input_request.is_for_pages)
                .then(|| (Value::Object(answers), input_request.state.take()));
            let call = &input_request.call;
            let reply = call
                .send_once(
                    self.connection,
                    more,
                    self.limits,
                    self.max_bytes,
                    self.context,
                    events,
                )
                .await?;
            let reply = self.unless_held(reply, &input_request.call, events).await?;
            let (kind, answer) = match reply {
                Settled::End(end) => return Ok(end),
                Settled::Other(kind, answer) => (kind, answer),
                Settled::PagesRequired { pages, .. } => {
                    input_request.questions = pages;
                    input_request.is_for_pages = true;
                    if let Some(asked) = self.ask(&mut input_request)? {
                        return Ok(asked);
                    }
                    continue;
                }
            };
            match kind.as_str() {
                "input_required" => {
                    let mut questions = Questions::from_answer(&answer);
                    let roots = self.roots(&questions, events).await;
                    let settled = questions.settle(roots.as_ref(), self.allowed);
                    if let Err(refusal) = settled {
                        return Ok(self.refused(&input_request.call.tool, &refusal));
                    }
                    input_request.questions = questions;
                    input_request.is_for_pages = false;
                    let state = answer.get("requestState").and_then(Value::as_str);
                    input_request.state = state.map(str::to_owned);
                    if let Some(asked) = self.ask(&mut input_request)? {
                        return Ok(asked);
                    }
                    if input_request.questions.answers.is_empty() {
                        // The server only wants the call to be repeated.
                        sleep(REPEAT_PAUSE).await;
                    }
                }
                "task" => {
                    let Some(id) = task_id(&answer) else {
                        return Err(protocol_violation(
                            "the server began a task without an id".to_owned(),
                        ));
                    };
                    let task = TaskJob {
                        questions: None,
                        id,
                        max_bytes: self.max_bytes,
                        tool: input_request.call.tool,
                    };
                    events
                        .on_accepted(JobHandleForm::Task(task.clone()).to_handle())
                        .await;
                    return self.poll_task(task, events).await;
                }
                other => {
                    let excerpt: String = other.chars().take(80).collect();
                    return Err(protocol_violation(format!(
                        "the server answered with a `{excerpt}`"
                    )));
                }
            }
        }
    }

    /// The roots for a server that asks for them: those of its configuration, or else those of the caller.
    async fn roots(&self, questions: &Questions, events: &mut dyn ToolEvents) -> Option<Value> {
        let own = &self.connection.roots;
        if !own.is_empty() {
            return Some(roots::list_result(own));
        }
        if !(self.allowed.roots && questions.want_roots()) {
            return None;
        }
        Some(roots::result_of(events.roots().await))
    }

    /// Ends a call at its next question to a person; `None` if there is none, so that it can be sent again.
    fn ask(&self, input_request: &mut InputRequest) -> Result<Option<ToolEnd>, ToolError> {
        input_request.round += 1;
        if input_request.round > MAX_ROUNDS {
            let message = format!("`{}` asks and asks", input_request.call.tool);
            return Err(protocol_violation(message));
        }
        let question = input_request.questions.next(self.allowed)?;
        Ok(question.map(|question| {
            let form = JobHandleForm::InputRequired(Box::new(input_request.clone()));
            let handle = form.to_handle();
            ToolEnd::Asked { handle, question }
        }))
    }

    /// The reply of a call, or its end at a question to a person. Questions that cannot be asked are declined.
    async fn unless_held(
        &self,
        mut reply: CallReply,
        call: &ServerCall,
        events: &mut dyn ToolEvents,
    ) -> Result<Settled, ToolError> {
        loop {
            let held = match reply {
                CallReply::Finished(result) => {
                    return Ok(Settled::End(ToolEnd::Finished(result)));
                }
                CallReply::Held(held) => held,
                CallReply::Other(kind, answer) => return Ok(Settled::Other(kind, answer)),
                CallReply::PagesRequired { pages, refusal } => {
                    return Ok(match self.allowed.pages {
                        true => Settled::PagesRequired { pages, refusal },
                        false => Settled::End(ToolEnd::Finished(refusal)),
                    });
                }
            };
            let (declined, refusal) = match self.hold(held, call) {
                Ok(asked) => return Ok(Settled::End(asked)),
                Err(declined) => declined,
            };
            // If the connection is gone, the call ends with the reason.
            let refused = declined.question.refuse(&refusal);
            let _gone = self.connection.reply(refused, self.context).await;
            let (connection, limits) = (self.connection, self.limits);
            let more = call.wait_for(declined.request, connection, limits, self.max_bytes, events);
            reply = more.await?;
        }
    }

    /// Keeps a call open whose server asks a person.
    ///
    /// # Errors
    ///
    /// The call and the reason, if that cannot be asked, or if too many calls wait.
    fn hold(
        &self,
        held: Box<HeldCall>,
        call: &ServerCall,
    ) -> Result<ToolEnd, (Box<HeldCall>, Refusal)> {
        let questions = Questions::of_request(held.question.method, &held.question.params);
        let question = match questions.next(self.allowed) {
            Ok(Some(question)) => question,
            Ok(None) => return Err((held, Refusal::invalid("there is no question"))),
            Err(failure) => return Err((held, Refusal::invalid(failure.message))),
        };
        let kept = self.connection.held.keep(held);
        let name = kept.map_err(|held| (held, Refusal::invalid("too many calls wait")))?;
        let job = HeldJob {
            key: call.key.clone(),
            max_bytes: self.max_bytes,
            name,
            questions,
            tool: call.tool.clone(),
        };
        let handle = JobHandleForm::Held(job).to_handle();
        Ok(ToolEnd::Asked { handle, question })
    }

    /// Passes the answer to the server of a call that stays open, and waits for the call.
    async fn answer_held(
        mut self,
        mut held: HeldJob,
        answer: Option<&ElicitationAnswer>,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let is_there = self.connection.held.has(&held.name);
        let next = held.questions.next(self.allowed)?;
        if let (None, true, Some(question)) = (answer, is_there, next) {
            let handle = JobHandleForm::Held(held).to_handle();
            return Ok(ToolEnd::Asked { handle, question });
        }
        let found = answer.zip(self.connection.held.take(&held.name));
        let Some((answer, call)) = found else {
            let message = format!(
                "`{}` waited for an answer, and its connection has ended meanwhile",
                held.tool
            );
            return Err(ToolFailure::unknown(ToolFailureKind::Unavailable, message).into());
        };
        self.max_bytes = held.max_bytes;
        let HeldCall { question, request } = *call;
        let reply = match held.questions.answer_to_request(answer, events).await {
            Ok(reply) => question.reply(&reply),
            Err(refusal) => question.refuse(&refusal),
        };
        // The answer may have taken a message of a model.
        self.go_on()?;
        if !self.connection.reply(reply, self.context).await {
            let message = format!("the server of `{}` went away", held.tool);
            return Err(ToolFailure::unknown(ToolFailureKind::Crashed, message).into());
        }
        let call = ServerCall {
            arguments: Map::new(),
            key: held.key,
            tool: held.tool,
        };
        let reply = call
            .wait_for(
                request,
                self.connection,
                self.limits,
                self.max_bytes,
                events,
            )
            .await?;
        match self.unless_held(reply, &call, events).await? {
            Settled::End(end) => Ok(end),
            // The arguments for another request are not here any more.
            Settled::PagesRequired { refusal, .. } => Ok(ToolEnd::Finished(refusal)),
            Settled::Other(kind, _) => Err(protocol_violation(format!(
                "the server answered with a `{}`",
                kind.chars().take(80).collect::<String>()
            ))),
        }
    }

    /// Polls a task until it has ended. Dropping the future asks the server to cancel the task.
    async fn poll_task(
        &self,
        task: TaskJob,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let mut cancel_guard = TaskCancel::new(self.connection, &task, self.context);
        let mut last_message: Option<String> = None;
        let mut polls = 0.0;
        loop {
            let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(
                task.id.clone(),
            )));
            let answer = self
                .connection
                .request(request, self.limits.max_silence)
                .await;
            let answer = answer.map_err(|error| task_lost(&task, &error))?;
            let status = parse_answer(&answer)?;
            let end = match task_state(&status)? {
                TaskState::Working { message, pause } => {
                    polls += 1.0;
                    if message.is_some() && message != last_message {
                        events.on_progress(polls, None, message.clone()).await;
                        last_message = message;
                    }
                    sleep(pause).await;
                    continue;
                }
                TaskState::InputRequired(mut questions) => {
                    let roots = self.roots(&questions, events).await;
                    let settled = questions.settle(roots.as_ref(), self.allowed);
                    if let Err(refusal) = settled {
                        return Ok(self.refused(&task.tool, &refusal));
                    }
                    let Some(question) = questions.next(self.allowed)? else {
                        if !questions.answers.is_empty() {
                            self.send_answers(&task, questions.answers.into()).await?;
                        }
                        sleep(REPEAT_PAUSE).await;
                        continue;
                    };
                    let task = TaskJob {
                        questions: Some(questions),
                        ..task
                    };
                    let handle = JobHandleForm::Task(task).to_handle();
                    ToolEnd::Asked { handle, question }
                }
                TaskState::Cancelled => {
                    let text = format!("The server cancelled the task of `{}`.", task.tool);
                    ToolEnd::Finished(ToolResult::error(text))
                }
                TaskState::Completed(result) => {
                    outcome::original(&result, self.max_bytes, events.original());
                    ToolEnd::Finished(outcome::result(&result, answer.cut_from, self.max_bytes))
                }
                TaskState::Failed(reason) => {
                    let text = format!("The task of `{}` failed: {reason}", task.tool);
                    let result = ToolResult::error(text);
                    ToolEnd::Finished(result.cut(self.max_bytes).unwrap_or(result))
                }
            };
            cancel_guard.task = None;
            return Ok(end);
        }
    }

    /// The end of a call whose server does not get the message that it asked for.
    fn refused(&self, tool: &str, refusal: &Refusal) -> ToolEnd {
        let reason = &refusal.reason;
        let result = ToolResult::error(format!(
            "`{tool}` needs a message of a model, and gets none: {reason}"
        ));
        ToolEnd::Finished(result.cut(self.max_bytes).unwrap_or(result))
    }

    /// The end of a call whose pages were not opened.
    fn not_opened(&self, tool: &str) -> ToolEnd {
        let text = format!("`{tool}` needs a page to be opened first, and the user declined.");
        let result = ToolResult::error(text);
        ToolEnd::Finished(result.cut(self.max_bytes).unwrap_or(result))
    }

    /// Sends answers to a task that needs input.
    async fn send_answers(&self, task: &TaskJob, answers: Value) -> Result<(), ToolError> {
        let answers = serde_json::from_value(answers)
            .map_err(|error| protocol_violation(format!("the answers cannot be given: {error}")))?;
        let params = UpdateTaskParams::new(task.id.clone(), answers);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        let (limit, context) = (self.limits.max_silence, self.context.clone());
        let result = self.connection.request_in(request, None, limit, context);
        let result = result.await;
        result.map(drop).map_err(|error| task_lost(task, &error))
    }
}

/// A reply that no person is asked about.
enum Settled {
    End(ToolEnd),
    /// A call that goes on: the `resultType`, and the whole answer.
    Other(String, Value),
    /// A call that was refused until a person has opened pages.
    PagesRequired {
        pages: Questions,
        refusal: ToolResult,
    },
}

fn parse_answer(answer: &RpcAnswer) -> Result<Value, ToolError> {
    serde_json::from_str(&answer.text).map_err(|error| {
        protocol_violation(format!(
            "the server's word on its task cannot be read: {error}"
        ))
    })
}

fn task_lost(task: &TaskJob, error: &RequestError) -> ToolError {
    let message = format!("the task of `{}` is lost: {error}", task.tool);
    ToolFailure::unknown(ToolFailureKind::Unavailable, message).into()
}

fn protocol_violation(message: String) -> ToolError {
    ToolFailure {
        disposition: Disposition::Unknown,
        kind: ToolFailureKind::ProtocolViolation,
        message,
    }
    .into()
}

/// The pause before a call is repeated at the server's request.
pub(crate) const REPEAT_PAUSE: Duration = Duration::from_millis(200);
/// The most times that one call is sent (MCP: clients SHOULD cap it).
pub(crate) const MAX_ROUNDS: u64 = 10;
