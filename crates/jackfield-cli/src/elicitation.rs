//! Questions of servers to a person at the terminal: parsing an answer, and asking before a resource or a prompt.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_engine::QuestionHandler;
use serde_json::{Map, Value};

use crate::person::{Person, PersonAnswer, PersonQuestion};
use crate::render;

/// The person at the terminal, who answers what a server asks before it gives a resource or a prompt.
pub(crate) struct PersonQuestions<'p> {
    pub(crate) person: &'p mut Person,
    pub(crate) server: &'p ToolboxId,
}

#[async_trait]
impl QuestionHandler for PersonQuestions<'_> {
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        let person = &mut *self.person;
        loop {
            render::server_question(self.server, question, person.prompt_place());
            person.ask(PersonQuestion::Answer {
                initial: String::new(),
                prompt: "answer: ",
            });
            let line = match person.next_answer().await {
                PersonAnswer::Gone => return ElicitationAnswer::Declined,
                PersonAnswer::Interrupted => return ElicitationAnswer::Dismissed,
                PersonAnswer::Line(line) => line,
            };
            match parse(question, line.trim()) {
                Ok(answer) => return answer,
                Err(Some(why)) => render::remark(&why),
                Err(None) => {}
            }
        }
    }
}

/// The answer to a tool's own question: a no, a yes where it has no form, and else the form's fields as JSON, or the value
/// of its only field.
///
/// # Errors
///
/// The answer is unclear, with the reason if there is one to show.
pub(crate) fn parse(question: &Question, line: &str) -> Result<ElicitationAnswer, Option<String>> {
    let lower = line.to_lowercase();
    let accepted = |content: Map<String, Value>| {
        let content = Arc::new(Value::Object(content));
        Ok(ElicitationAnswer::Accepted(content))
    };
    if matches!(lower.as_str(), "n" | "no") {
        return Ok(ElicitationAnswer::Declined);
    }
    let Some(schema) = &question.schema else {
        return match lower.as_str() {
            "y" | "yes" => accepted(Map::new()),
            _ => Err(None),
        };
    };
    if let Ok(Value::Object(content)) = serde_json::from_str(line) {
        return accepted(content);
    }
    let mut fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    match (fields.next(), fields.next()) {
        (Some((name, field)), None) if !line.is_empty() => {
            let is_text = field.get("type") == Some(&Value::from("string"));
            let read = (!is_text)
                .then(|| serde_json::from_str(line).ok())
                .flatten();
            let value = read.unwrap_or_else(|| Value::from(line));
            accepted(Map::from_iter([(name.clone(), value)]))
        }
        _ => Err(Some(format!("this is no JSON object: {line}"))),
    }
}
