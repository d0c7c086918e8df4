//! Prompts of MCP servers in a chat.

use std::sync::Arc;

use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{
    CompletionRequest, CompletionSubject, PromptArgument, PromptArguments, PromptSpec,
    prompt_message,
};

use super::Conversation;
use crate::commands::{context, servers};
use crate::elicitation::PersonQuestions;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::{PersonAnswer, PersonQuestion};
use crate::render::{self, chat as show};

impl Conversation {
    /// Lists the prompts of all servers, or runs the one that a text names, with its arguments.
    pub(super) async fn prompt(&mut self, text: Option<&str>) -> Result<(), CommandError> {
        let options = context::all_servers(&self.options());
        let patience = servers::start_notice(&self.assembled.servers.all());
        let offer = self.assembled.engine.prompts(&options).await;
        drop(patience);
        for problem in &offer.problems {
            render::remark(&format!("warning: {}", render::words::problem(problem)));
        }
        let all = offer.offered.into_iter().flat_map(|one| {
            let toolbox = one.toolbox;
            one.list
                .into_iter()
                .map(move |prompt| (toolbox.clone(), prompt))
        });
        let all: Vec<(ToolboxId, PromptSpec)> = all.collect();
        let Some(text) = text else {
            self.print(|out| show::prompts(out, &all));
            return Ok(());
        };
        let mut words = words_of(text).into_iter();
        let name = words.next().unwrap_or_default();
        let (server, prompt) = match find(&all, &name) {
            Ok(found) => found.clone(),
            Err(why) => return self.refuse(&why),
        };
        let given = match arguments(&prompt, words) {
            Ok(given) => given,
            Err(why) => return self.refuse(&why),
        };
        let Some(given) = self.ask_for_missing(&server, &prompt, given).await else {
            return self.refuse("the prompt was not run: it needs all of these");
        };
        let engine = &self.assembled.engine;
        let person = self.at_terminal.then_some(&mut self.person);
        let server = &server;
        let mut questions = person.map(|person| PersonQuestions { person, server });
        let made = engine
            .prompt(
                &options,
                server,
                &prompt.name,
                &given,
                context::handler(&mut questions),
            )
            .await;
        match made.and_then(|made| prompt_message(&made)) {
            Ok(message) => {
                self.print(|out| show::sent(out, &message.to_text()));
                self.catch_up().await;
                self.say(Arc::new(message)).await
            }
            Err(error) => {
                let exit = render::fault(&context::fault(&error));
                self.record_failure(exit);
                Ok(())
            }
        }
    }

    /// The prompt that a text such as `/notes:greet Ann` names, if there is such a server.
    pub(super) fn named_prompt<'a>(&self, text: &'a str) -> Option<&'a str> {
        let prompt = text.strip_prefix('/')?;
        let (server, _) = prompt.split_once(':')?;
        let server = ToolboxId::parse(server).ok()?;
        context::is_server(&self.assembled.servers, &server).then_some(prompt)
    }

    fn refuse(&mut self, why: &str) -> Result<(), CommandError> {
        self.record_failure(Exit::Usage);
        render::remark(why);
        Ok(())
    }

    /// Asks for the required arguments that were not given; `None` if the person gives no answer.
    async fn ask_for_missing(
        &mut self,
        server: &ToolboxId,
        prompt: &PromptSpec,
        mut given: PromptArguments,
    ) -> Option<PromptArguments> {
        for argument in &prompt.arguments {
            if !argument.required || given.contains_key(&*argument.name) {
                continue;
            }
            if !self.at_terminal {
                return None;
            }
            let values = self.values(server, prompt, argument, &given).await;
            render::remark(&question(argument, &values));
            self.person.ask(PersonQuestion::Answer {
                initial: String::new(),
                prompt: "value: ",
            });
            match self.person.next_answer().await {
                PersonAnswer::Line(line) if !line.trim().is_empty() => {
                    let value = line.trim().to_owned();
                    given.insert(argument.name.to_string(), value);
                }
                PersonAnswer::Line(_) | PersonAnswer::Gone | PersonAnswer::Interrupted => {
                    return None;
                }
            }
        }
        Some(given)
    }

    /// The values that the server suggests for an argument.
    async fn values(
        &self,
        server: &ToolboxId,
        prompt: &PromptSpec,
        argument: &PromptArgument,
        given: &PromptArguments,
    ) -> Vec<String> {
        let request = CompletionRequest {
            argument: argument.name.to_string(),
            known: given.clone(),
            subject: CompletionSubject::Prompt(prompt.name.to_string()),
            value: String::new(),
        };
        let options = context::all_servers(&self.assembled.options);
        let completed = self.assembled.engine.complete(&options, server, &request);
        // A server need not suggest any.
        completed
            .await
            .map(|found| found.values)
            .unwrap_or_default()
    }
}

/// The question for an argument, with some of its values.
fn question(argument: &PromptArgument, values: &[String]) -> String {
    let mut question = argument.name.to_string();
    if let Some(about) = &argument.description {
        question.push_str(&format!(": {about}"));
    }
    if !values.is_empty() {
        let shown = values.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>();
        let more = if values.len() > MAX_SHOWN {
            ", …"
        } else {
            ""
        };
        question.push_str(&format!(" ({}{more})", shown.join(", ")));
    }
    render::words::one_line(&question)
}

/// The prompt of this name: `server:name`, or `name` if only one server has it.
fn find<'a>(
    all: &'a [(ToolboxId, PromptSpec)],
    name: &str,
) -> Result<&'a (ToolboxId, PromptSpec), String> {
    let full = |(server, prompt): &&(ToolboxId, PromptSpec)| {
        name.strip_prefix(server.as_str())
            .and_then(|rest| rest.strip_prefix(':'))
            == Some(&*prompt.name)
    };
    if let Some(found) = all.iter().find(full) {
        return Ok(found);
    }
    let mut named = all.iter().filter(|(_, prompt)| *prompt.name == *name);
    match (named.next(), named.next()) {
        (Some(found), None) => Ok(found),
        (Some((one, _)), Some((other, _))) => Err(format!(
            "there are several prompts `{name}`: say {one}:{name} or {other}:{name}"
        )),
        (None, _) => Err(format!(
            "there is no prompt `{name}`; /prompt lists those that there are"
        )),
    }
}

/// The arguments of a prompt: `name=value`, or values in the order in which the prompt has them.
fn arguments(
    prompt: &PromptSpec,
    words: impl Iterator<Item = String>,
) -> Result<PromptArguments, String> {
    let mut given = PromptArguments::new();
    for word in words {
        let named = word.split_once('=').filter(|(name, _)| {
            let mut arguments = prompt.arguments.iter();
            arguments.any(|argument| *argument.name == **name)
        });
        if let Some((name, value)) = named {
            given.insert(name.to_owned(), value.to_owned());
            continue;
        }
        let mut open = prompt.arguments.iter();
        match open.find(|argument| !given.contains_key(&*argument.name)) {
            Some(argument) => given.insert(argument.name.to_string(), word),
            None => {
                return Err(format!(
                    "the prompt `{}` takes no more arguments than {}; put a value with spaces in quotes",
                    prompt.name,
                    prompt.arguments.len()
                ));
            }
        };
    }
    Ok(given)
}

/// The words of a text; quotes keep the spaces between them.
#[must_use]
pub fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut quote = None;
    for sign in text.chars() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (None, '"' | '\'') if word.as_ref().is_none_or(|word| word.ends_with('=')) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, sign) if sign.is_whitespace() => words.extend(word.take()),
            (_, sign) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    words
}

/// The maximum number of suggested values that are shown.
const MAX_SHOWN: usize = 10;
