//! A program of one's own that asks a question: configured as `jackfield` is, with the shelf besides.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use jackfield_assembly::{Flags, Registry, Surroundings, load};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::setup::Opening;
use jackfield_engine::SendMessage;
use jackfield_toolbox_shelf::Shelf;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let question = std::env::args().nth(1);
    let question = question.ok_or("usage: shelf-ask QUESTION")?;
    let here = Surroundings::of_process()?;
    let config = load(&here, &Flags::default())?;
    let registry = Registry::default().toolbox(Arc::new(Shelf::new()?));
    let mut app = registry.assemble(&config, &here.environment)?;
    // There is no one to ask. Tools that only read run all the same; tools that act need a rule.
    app.options.policy.rules.push(PolicyRule {
        pattern: "shelf/*".into(),
        verdict: RuleVerdict::Allow,
    });
    let message = SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user(question))),
        options: app.options,
        session: SessionId::parse("first")?,
    };
    let report = app.engine.send(message, &mut ()).await?;
    let mut out = std::io::stdout().lock();
    for call in &report.calls {
        let (name, result) = (call.call.name.as_str(), call.result.to_text());
        writeln!(out, "{name}: {result}")?;
    }
    writeln!(out, "{}", report.answer())?;
    Ok(())
}
