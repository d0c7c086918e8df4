//! Resources and prompts of toolboxes, for callers outside of a turn, and as parts of a message.

mod attachment;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::tool::{Permission, Safety, ToolOrigin};
use jackfield_ports::context_source::{
    Completion, CompletionRequest, ContextError, ContextErrorKind, ContextSource, PromptArguments,
    PromptMessages, PromptSpec, ResourceContents, ResourceList,
};
use jackfield_ports::question_handler::QuestionHandler;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxProblem, ToolboxSet};
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use self::attachment::{block_size, image_type, prompt_message, resource_blocks};
use crate::options::TurnOptions;
use crate::state::Engine;

/// What the toolboxes of a turn offer of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ContextOffer<T> {
    /// What each toolbox offers, in the order of the toolboxes.
    pub offered: Vec<OfferedContext<T>>,
    /// The toolboxes that cannot list what they have, and what others left out.
    pub problems: Vec<ToolboxProblem>,
}

/// What a toolbox offers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfferedContext<T> {
    /// What it offers.
    pub list: T,
    /// The prefix of its tools' names, if it has one of its own.
    pub prefix: Option<Arc<str>>,
    /// The toolbox.
    pub toolbox: ToolboxId,
}

impl Engine {
    /// The resources and templates of all toolboxes with a list that a turn with these options may use.
    ///
    /// A toolbox is among them if the options offer all of its tools, and the policy would run one that only reads, at
    /// least after an approval. Options for single tools of a server give none of its resources and prompts.
    pub async fn resources(&self, options: &TurnOptions) -> ContextOffer<ResourceList> {
        let listed = self.each(options, |toolbox| async move {
            match toolbox.toolbox.context() {
                None => Ok(ResourceList::default()),
                Some(context) => context.resources().await,
            }
        });
        let mut offer = listed.await;
        for one in &offer.offered {
            let problems = one.list.problems.iter().map(|problem| ToolboxProblem {
                message: problem.clone(),
                toolbox: one.toolbox.clone(),
            });
            offer.problems.extend(problems);
        }
        offer
            .offered
            .retain(|one| !(one.list.resources.is_empty() && one.list.templates.is_empty()));
        offer
    }

    /// The prompts of these toolboxes.
    pub async fn prompts(&self, options: &TurnOptions) -> ContextOffer<Vec<PromptSpec>> {
        let listed = self.each(options, |toolbox| async move {
            match toolbox.toolbox.context() {
                None => Ok(Vec::new()),
                Some(context) => context.prompts().await,
            }
        });
        let mut offer = listed.await;
        offer.offered.retain(|one| !one.list.is_empty());
        offer
    }

    /// The resources and templates of one toolbox.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if there is no such toolbox for these options, or if it cannot list them.
    pub async fn resources_of(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
    ) -> Result<ResourceList, ContextError> {
        let toolbox = self.context_toolbox(options, toolbox).await?;
        let listed = context_of(&toolbox)?.resources();
        limited(&toolbox, listed).await
    }

    /// The prompts of one toolbox.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if there is no such toolbox for these options, or if it cannot list them.
    pub async fn prompts_of(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
    ) -> Result<Vec<PromptSpec>, ContextError> {
        let toolbox = self.context_toolbox(options, toolbox).await?;
        let listed = context_of(&toolbox)?.prompts();
        limited(&toolbox, listed).await
    }

    /// The toolboxes with resources and prompts for these options, each with the prefix of its tools' names if it has
    /// one of its own. None of them is asked.
    pub async fn context_toolboxes(
        &self,
        options: &TurnOptions,
    ) -> Vec<(ToolboxId, Option<Arc<str>>)> {
        let set = self.shared.toolboxes_of(options.caller.as_deref()).await;
        let all = usable(&set, options);
        let all = all.map(|one| (one.toolbox.id().clone(), one.status.prefix.clone()));
        all.collect()
    }

    /// The contents of a resource. What the server asks first is answered by `questions`, within 50 minutes, and is
    /// declined without one.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if there is no such toolbox for these options, or if it cannot be read.
    pub async fn read_resource(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
        uri: &str,
        questions: Option<&mut dyn QuestionHandler>,
    ) -> Result<ResourceContents, ContextError> {
        let toolbox = self.context_toolbox(options, toolbox).await?;
        let context = context_of(&toolbox)?;
        let mut nobody = ();
        let (limit, questions) = limit_and_handler(questions, &mut nobody);
        limited_to(limit, &toolbox, context.read(uri, MAX_BYTES, questions)).await
    }

    /// A prompt with its arguments. What the server asks first is answered as for [`read_resource`](Self::read_resource).
    ///
    /// # Errors
    ///
    /// [`ContextError`] if there is no such toolbox for these options, or if it cannot make the prompt.
    pub async fn prompt(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
        name: &str,
        arguments: &PromptArguments,
        questions: Option<&mut dyn QuestionHandler>,
    ) -> Result<PromptMessages, ContextError> {
        let toolbox = self.context_toolbox(options, toolbox).await?;
        let context = context_of(&toolbox)?;
        let mut nobody = ();
        let (limit, questions) = limit_and_handler(questions, &mut nobody);
        let made = context.prompt(name, arguments, MAX_BYTES, questions);
        limited_to(limit, &toolbox, made).await
    }

    /// The values that an argument of a prompt or template may have.
    ///
    /// # Errors
    ///
    /// [`ContextError`] if there is no such toolbox for these options, or if it has no such values.
    pub async fn complete(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
        request: &CompletionRequest,
    ) -> Result<Completion, ContextError> {
        let toolbox = self.context_toolbox(options, toolbox).await?;
        let completed = context_of(&toolbox)?.complete(request);
        limited(&toolbox, completed).await
    }

    /// Asks all toolboxes with resources and prompts at once. The answers keep the order of the toolboxes.
    async fn each<T, F>(
        &self,
        options: &TurnOptions,
        ask: impl Fn(RegisteredToolbox) -> F,
    ) -> ContextOffer<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ContextError>> + Send + 'static,
    {
        let set = self.shared.toolboxes_of(options.caller.as_deref()).await;
        let mut asking = JoinSet::new();
        for (place, one) in usable(&set, options).cloned().enumerate() {
            let (asked, toolbox) = (ask(one.clone()), one.toolbox.id().clone());
            let prefix = one.status.prefix.clone();
            asking.spawn(async move {
                let answered = timeout(LIST_LIMIT, asked).await;
                (place, toolbox, prefix, answered)
            });
        }
        let mut answers = asking.join_all().await;
        answers.sort_by_key(|(place, ..)| *place);
        let (mut offered, mut problems) = (Vec::new(), set.problems.clone());
        for (_, toolbox, prefix, answered) in answers {
            let message = match answered {
                Ok(Ok(list)) => {
                    offered.push(OfferedContext {
                        list,
                        prefix,
                        toolbox,
                    });
                    continue;
                }
                Ok(Err(error)) => error.message,
                Err(_) => timeout_message(&toolbox, LIST_LIMIT),
            };
            problems.push(ToolboxProblem { message, toolbox });
        }
        ContextOffer { offered, problems }
    }

    async fn context_toolbox(
        &self,
        options: &TurnOptions,
        id: &ToolboxId,
    ) -> Result<RegisteredToolbox, ContextError> {
        let set = self.shared.toolboxes_of(options.caller.as_deref()).await;
        let found = usable(&set, options).find(|one| one.toolbox.id() == id);
        found.cloned().ok_or_else(|| {
            let known = usable(&set, options).map(|one| one.toolbox.id().as_str());
            let known: Vec<&str> = known.take(MAX_NAMES).collect();
            let known = if known.is_empty() {
                "there is none".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            };
            let message = format!("there is no server `{id}` with resources and prompts; {known}");
            ContextError::new(ContextErrorKind::NotFound, message)
        })
    }
}

/// The toolboxes with resources and prompts that these options may use.
fn usable<'a>(
    set: &'a ToolboxSet,
    options: &'a TurnOptions,
) -> impl Iterator<Item = &'a RegisteredToolbox> {
    let toolboxes = set.toolboxes.iter();
    toolboxes.filter(|one| one.toolbox.context().is_some() && may_use(options, one))
}

/// Whether these options offer all tools of a toolbox, and would run one that only reads, at least after an approval.
fn may_use(options: &TurnOptions, toolbox: &RegisteredToolbox) -> bool {
    // Only a pattern for all of them matches this name.
    let all = ToolOrigin {
        tool: "*".into(),
        toolbox: toolbox.toolbox.id().clone(),
    };
    let trusted = toolbox.status.trusted;
    let permission = options.policy.permission(&all, Safety::ReadOnly, trusted);
    options.server_tools.offers(&all) && !matches!(permission, Permission::Deny(_))
}

fn context_of(toolbox: &RegisteredToolbox) -> Result<&dyn ContextSource, ContextError> {
    toolbox.toolbox.context().ok_or_else(|| {
        let message = format!("`{}` has no resources and prompts", toolbox.toolbox.id());
        ContextError::new(ContextErrorKind::Unsupported, message)
    })
}

async fn limited<T>(
    toolbox: &RegisteredToolbox,
    asked: impl Future<Output = Result<T, ContextError>>,
) -> Result<T, ContextError> {
    limited_to(LIMIT, toolbox, asked).await
}

/// The time limit of a request whose questions are answered like this, and who answers them.
fn limit_and_handler<'a, 'q>(
    questions: Option<&'a mut (dyn QuestionHandler + 'q)>,
    nobody: &'a mut (),
) -> (Duration, &'a mut (dyn QuestionHandler + 'q)) {
    match questions {
        Some(questions) => (ANSWER_LIMIT, questions),
        None => (LIMIT, nobody),
    }
}

async fn limited_to<T>(
    limit: Duration,
    toolbox: &RegisteredToolbox,
    asked: impl Future<Output = Result<T, ContextError>>,
) -> Result<T, ContextError> {
    timeout(limit, asked).await.unwrap_or_else(|_| {
        let message = timeout_message(toolbox.toolbox.id(), limit);
        Err(ContextError::new(ContextErrorKind::Timeout, message))
    })
}

fn timeout_message(toolbox: &ToolboxId, limit: Duration) -> String {
    let limit = limit.as_secs();
    format!("the server `{toolbox}` did not answer within {limit} s")
}

/// The time limit of a request that may ask a person. The requests to the server have shorter ones of their own.
const ANSWER_LIMIT: Duration = Duration::from_secs(50 * 60);
/// The time limit of a request, with the start of its server.
const LIMIT: Duration = Duration::from_secs(60);
/// The time limit of a list of all toolboxes, so that one that starts slowly does not hold up the others; it goes on
/// to start.
const LIST_LIMIT: Duration = Duration::from_secs(10);
/// The maximum length of an answer in bytes: ten million, as for files, which base64 makes a third longer.
const MAX_BYTES: usize = 14_000_000;
/// The maximum number of ids in an error.
const MAX_NAMES: usize = 20;
