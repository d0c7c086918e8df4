//! Resources of MCP servers that a message names as `@server:uri`.

use jackfield_assembly::{Assembly, ServerSet};
use jackfield_domain::block::Block;
use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{
    ContextError, ContextErrorKind, Engine, QuestionHandler, ServerTools, TurnOptions, block_size,
    resource_blocks,
};

use crate::commands::chat::mentions::{NamedResource, named_resources};
use crate::commands::{attach, servers};
use crate::elicitation::PersonQuestions;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::Person;
use crate::render;

/// The blocks of the resources that a text names, in order, and a remark that names them. The person answers what their
/// servers ask first.
///
/// # Errors
///
/// [`CommandError`] if one cannot be read, or is nothing that models read.
pub(crate) async fn read(
    engine: &Engine,
    options: &TurnOptions,
    servers: &ServerSet,
    text: &str,
    mut person: Option<&mut Person>,
) -> Result<Vec<Block>, CommandError> {
    let named = named_resources(text, |id| is_server(servers, id));
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let options = all_servers(options);
    let (mut blocks, mut left) = (Vec::new(), attach::MAX_TOTAL);
    for NamedResource { server, uri } in &named {
        let person = person.as_deref_mut();
        let mut questions = person.map(|person| PersonQuestions { person, server });
        let read = engine.read_resource(&options, server, uri, handler(&mut questions));
        let read = read
            .await
            .and_then(|contents| resource_blocks(uri, &contents));
        let read = read.map_err(|error| fault(&error))?;
        let size = read.iter().map(block_size).sum();
        left = usize::checked_sub(left, size).ok_or_else(|| {
            let most = attach::MAX_TOTAL / 1_000_000;
            let message = format!("the resources are larger than {most} MB together");
            CommandError::new(Exit::Usage, message).with_help("name fewer of them")
        })?;
        blocks.extend(read);
    }
    let shown = named
        .iter()
        .map(|one| format!("{}:{}", one.server, one.uri));
    let shown: Vec<String> = shown.collect();
    render::remark(&format!("with {}", shown.join(", ")));
    Ok(blocks)
}

/// The one who answers questions, as the engine takes it.
pub(crate) fn handler<'a>(
    questions: &'a mut Option<PersonQuestions<'_>>,
) -> Option<&'a mut dyn QuestionHandler> {
    let questions = questions.as_mut()?;
    Some(questions)
}

/// The blocks of the resources that a question on the command line names. Text of a pipe may come from elsewhere, so
/// nothing is read for it.
///
/// # Errors
///
/// As [`read`].
pub(crate) async fn of_question(
    assembled: &Assembly,
    words: &[String],
    person: Option<&mut Person>,
) -> Result<Vec<Block>, CommandError> {
    let _patience = servers::start_notice(&assembled.servers.all());
    let (engine, options) = (&assembled.engine, &assembled.options);
    read(
        engine,
        options,
        &assembled.servers,
        &words.join(" "),
        person,
    )
    .await
}

/// The options with which a person reads resources and runs prompts: the choice of tools does not concern them, and
/// naming one approves it.
pub(crate) fn all_servers(options: &TurnOptions) -> TurnOptions {
    let mut options = options.clone();
    options.server_tools = ServerTools::All;
    options.policy.can_ask = true;
    options
}

/// Whether there is such a server, and it is enabled.
pub(crate) fn is_server(servers: &ServerSet, id: &ToolboxId) -> bool {
    let servers = servers.all();
    servers
        .iter()
        .any(|server| server.config.enabled && server.config.id == *id)
}

/// The error of a resource or a prompt.
pub(crate) fn fault(error: &ContextError) -> CommandError {
    let (exit, help) = match error.kind {
        ContextErrorKind::InvalidArguments | ContextErrorKind::NotFound => (
            Exit::Usage,
            "`jackfield mcp inspect SERVER` shows its resources and prompts",
        ),
        ContextErrorKind::TooLarge => (Exit::Usage, "no model reads that much at once"),
        ContextErrorKind::Unsupported => (
            Exit::Usage,
            "models read text, PDF, PNG, JPEG, GIF and WebP",
        ),
        ContextErrorKind::ProtocolViolation
        | ContextErrorKind::Timeout
        | ContextErrorKind::Unavailable => (
            Exit::Server,
            "`jackfield mcp test SERVER` says what is wrong with it",
        ),
    };
    CommandError::new(exit, error.message.clone()).with_help(help)
}
