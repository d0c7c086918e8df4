//! Parses chat input: a message, or a command that begins with a slash.

use jackfield_assembly::did_you_mean;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChatInput {
    Clear,
    /// Replace the beginning of the conversation by a summary.
    Compact,
    Copy,
    /// Write a message in an editor, which begins with this text.
    Edit(Option<String>),
    Help,
    /// A message for the model.
    Message(String),
    /// List the models, or switch to this one.
    Model(Option<String>),
    /// An empty line.
    Nothing,
    /// List the prompts of servers, or run this one.
    Prompt(Option<String>),
    Quit,
    /// Send the last message again.
    Retry,
    /// List the sessions, or continue this one.
    Sessions(Option<String>),
    /// Show the system prompt, or set it.
    System(Option<String>),
    /// List the tools, or show this one.
    Tools(Option<String>),
    /// Leave out the last turn.
    Undo,
    /// Not a command; the text is the error.
    Unknown(String),
    Usage,
}

/// The commands: name, arguments and description.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("/clear", "", "begin a new conversation; this one is kept"),
    (
        "/compact",
        "",
        "let the model replace the beginning by a summary; all of it is kept",
    ),
    (
        "/copy",
        "",
        "copy the last answer to the clipboard of the terminal",
    ),
    (
        "/edit",
        "[TEXT]",
        "write a message in $EDITOR: what is saved is sent",
    ),
    ("/exit", "", "leave, as /quit, exit, quit and Ctrl-D do"),
    ("/help", "", "this"),
    (
        "/model",
        "[NAME]",
        "list the models, or take this one, by name or number",
    ),
    (
        "/prompt",
        "[NAME]",
        "list the prompts of MCP servers, or run one; also /SERVER:NAME",
    ),
    ("/quit", "", "leave"),
    (
        "/retry",
        "",
        "send the last message again, in place of its answer",
    ),
    (
        "/sessions",
        "[ID]",
        "list the last sessions, or go on with this one, by id or number",
    ),
    (
        "/system",
        "[TEXT]",
        "show the system prompt, or take this one; \"\" for none",
    ),
    (
        "/tools",
        "[NAME]",
        "list the tools and what may run, or show one",
    ),
    ("/undo", "", "leave out the last message and its answer"),
    ("/usage", "", "show the tokens of each turn, and of all"),
];

/// Parses a line.
///
/// Only a slash with a word of letters is a command, so that a path is none; `exit` and `quit` alone are commands,
/// too. `//` begins a message that starts with a slash.
#[must_use]
pub fn read(line: &str) -> ChatInput {
    let text = line.trim();
    if text.is_empty() {
        return ChatInput::Nothing;
    }
    // What people type who do not know the commands yet.
    if ["exit", "quit"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
    {
        return ChatInput::Quit;
    }
    if let Some(rest) = text.strip_prefix("//") {
        return ChatInput::Message(format!("/{rest}"));
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = word.strip_prefix('/').unwrap_or_default();
    if name.is_empty() || !name.chars().all(char::is_alphabetic) {
        return ChatInput::Message(text.to_owned());
    }
    let rest = rest.trim();
    let argument = || (!rest.is_empty()).then(|| rest.to_owned());
    let takes_none = |typed| {
        if rest.is_empty() {
            typed
        } else {
            ChatInput::Unknown(format!("{word} takes nothing behind it"))
        }
    };
    match name.to_lowercase().as_str() {
        "clear" => takes_none(ChatInput::Clear),
        "exit" | "quit" => takes_none(ChatInput::Quit),
        "compact" => takes_none(ChatInput::Compact),
        "copy" => takes_none(ChatInput::Copy),
        "edit" => ChatInput::Edit(argument()),
        "help" => takes_none(ChatInput::Help),
        "retry" => takes_none(ChatInput::Retry),
        "undo" => takes_none(ChatInput::Undo),
        "model" => ChatInput::Model(argument()),
        "prompt" | "prompts" => ChatInput::Prompt(argument()),
        "sessions" => ChatInput::Sessions(argument()),
        "system" => ChatInput::System(argument()),
        "tools" => ChatInput::Tools(argument()),
        "usage" => takes_none(ChatInput::Usage),
        _ => {
            let known: Vec<&str> = COMMANDS.iter().map(|(name, _, _)| *name).collect();
            let near = did_you_mean(word, &known);
            ChatInput::Unknown(format!(
                "there is no command {word}{near} (a message that begins with a slash begins with //)"
            ))
        }
    }
}
