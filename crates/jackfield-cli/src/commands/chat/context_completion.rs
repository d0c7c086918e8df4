//! What Tab completes of MCP servers in a chat: prompts and their arguments, and resources behind an `@`.

use std::time::Duration;

use jackfield_assembly::ServerSet;
use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{
    CompletionRequest, CompletionSubject, Engine, PromptArguments, TurnOptions,
};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::prompts::words_of;
use crate::commands::context::is_server;
use crate::completion::{CompleteContext, Completion, last_word};

/// Completes with what the servers say, in the thread of the line editor, which waits for them a moment.
pub(super) fn completion(
    engine: Engine,
    options: TurnOptions,
    servers: ServerSet,
) -> CompleteContext {
    let runtime = Handle::current();
    Box::new(move |before| {
        if let Some(rest) = before.strip_prefix("/prompt ") {
            let asked = prompt(&engine, &options, rest);
            let found = runtime.block_on(async { timeout(LIMIT, asked).await });
            return Some(found.unwrap_or_default())
                .map(|(at, words)| (at + "/prompt ".len(), words));
        }
        let word = last_word(before);
        let (server, uri) = before[word..].strip_prefix('@')?.split_once(':')?;
        let server = ToolboxId::parse(server)
            .ok()
            .filter(|id| is_server(&servers, id))?;
        let asked = resources(&engine, &options, &server, uri);
        let found = runtime.block_on(async { timeout(LIMIT, asked).await });
        Some((before.len() - uri.len(), found.unwrap_or_default()))
    })
}

/// The names of prompts, or the values of an argument, and where they begin.
async fn prompt(engine: &Engine, options: &TurnOptions, text: &str) -> (usize, Vec<Completion>) {
    let offer = engine.prompts(options).await;
    let Some((name, _)) = text.split_once(char::is_whitespace) else {
        let names = offer.offered.iter().flat_map(|one| {
            let prompts = one.list.iter();
            prompts.map(move |prompt| format!("{}:{}", one.toolbox, prompt.name))
        });
        let fitting = names.filter(|name| {
            let bare = name.split_once(':').map_or("", |(_, bare)| bare);
            name.starts_with(text) || bare.starts_with(text)
        });
        let names = fitting.map(|name| Completion {
            word: format!("{name} "),
            shown: name,
        });
        return (0, names.collect());
    };
    let found = offer.offered.iter().find_map(|one| {
        let full = name.strip_prefix(one.toolbox.as_str());
        let bare = full.and_then(|rest| rest.strip_prefix(':')).unwrap_or(name);
        let mut prompts = one.list.iter();
        Some((&one.toolbox, prompts.find(|prompt| *prompt.name == *bare)?))
    });
    let begin = last_word(text);
    let last = text.get(begin..).unwrap_or_default();
    let Some((server, prompt)) = found else {
        return (begin, Vec::new());
    };
    let Some((argument, value)) = last.split_once('=') else {
        let fitting = prompt
            .arguments
            .iter()
            .filter(|one| one.name.starts_with(last));
        let arguments = fitting.map(|argument| Completion {
            shown: argument.name.to_string(),
            word: format!("{}=", argument.name),
        });
        return (begin, arguments.collect());
    };
    let given = words_of(text.get(..begin).unwrap_or_default());
    let given = given.iter().filter_map(|word| word.split_once('='));
    let known: PromptArguments = given
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let request = CompletionRequest {
        argument: argument.to_owned(),
        known,
        subject: CompletionSubject::Prompt(prompt.name.to_string()),
        value: value.to_owned(),
    };
    let completed = engine.complete(options, server, &request).await;
    let values = completed.unwrap_or_default().values.into_iter();
    let values = values.map(|value| Completion {
        word: match value.contains(char::is_whitespace) {
            true => format!("\"{value}\" "),
            false => format!("{value} "),
        },
        shown: value,
    });
    (begin + argument.len() + 1, values.collect())
}

/// The resources of a server whose URIs begin like this.
async fn resources(
    engine: &Engine,
    options: &TurnOptions,
    server: &ToolboxId,
    begin: &str,
) -> Vec<Completion> {
    let Ok(list) = engine.resources_of(options, server).await else {
        return Vec::new();
    };
    let uris = list.resources.iter().map(|resource| &resource.uri);
    let fitting = uris.filter(|uri| uri.starts_with(begin) && !uri.contains(char::is_whitespace));
    let words = fitting.take(MAX_WORDS).map(|uri| Completion {
        shown: uri.to_string(),
        word: uri.to_string(),
    });
    words.collect()
}

/// How long a key waits for servers.
const LIMIT: Duration = Duration::from_secs(2);
/// The maximum number of resources.
const MAX_WORDS: usize = 1000;
