//! Replays, for people and for programs.

use std::io::{self, Write};

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::replay::{Difference, ReplayVerdict, StepReplay};
use jackfield_domain::request::Attempt;
use jackfield_domain::tool_loop::{Action, LOOP_VERSION};
use jackfield_export::values;
use jackfield_record::encode_envelope;
use serde_json::{Value, json};

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// A recorded step, and its replay.
#[derive(Debug)]
pub struct ReplayedStep<'a> {
    pub recorded: &'a Envelope,
    pub replayed: StepReplay,
}

/// Prints the steps that differ, and the counts.
///
/// # Errors
///
/// The stream cannot be written.
pub fn all(
    out: &mut impl Write,
    session: &SessionId,
    turn: Option<&TurnId>,
    steps: &[ReplayedStep<'_>],
    as_json: bool,
) -> io::Result<()> {
    let counts = Counts::of(steps);
    if as_json {
        let steps: Vec<Value> = steps.iter().map(step).collect();
        return document(
            out,
            &json!({
                "session": session.as_str(),
                "turn": turn.map(TurnId::as_str),
                "loop_version": LOOP_VERSION,
                "same": counts.same,
                "decided_differently_since": counts.since,
                "differs": counts.differs,
                "not_rebuilt": counts.not_rebuilt,
                "steps": steps,
            }),
        );
    }
    for replayed_step in steps.iter().filter(|shown| !shown.replayed.is_same()) {
        heading(out, replayed_step)?;
    }
    let of = match turn {
        Some(turn) => format!("turn {turn}"),
        None => format!("session {session}"),
    };
    let all = steps.len();
    if counts.same == all {
        return writeln!(
            out,
            "{GOOD}✓{GOOD:#} {of}: all {all} steps come out the same"
        );
    }
    write!(
        out,
        "{of}: {} of {all} steps come out the same",
        counts.same
    )?;
    for (many, what) in [
        (counts.differs, "otherwise"),
        (counts.since, "decided differently since"),
        (counts.not_rebuilt, "cannot be rebuilt"),
    ] {
        if many > 0 {
            write!(out, ", {many} {what}")?;
        }
    }
    writeln!(out)
}

/// Prints one step: its input, facts and actions.
///
/// # Errors
///
/// The stream cannot be written.
pub fn one(
    out: &mut impl Write,
    replayed_step: &ReplayedStep<'_>,
    as_json: bool,
) -> io::Result<()> {
    let ReplayedStep { recorded, replayed } = replayed_step;
    let decided = replayed.decided.as_ref();
    let actions: Vec<String> = decided.map_or_else(Vec::new, |decided| {
        decided.actions.iter().map(action).collect()
    });
    if as_json {
        let Value::Object(mut fields) = step(replayed_step) else {
            return Ok(());
        };
        fields.insert("facts".to_owned(), facts(recorded, &recorded.facts)?);
        let today = decided.map(|decided| facts(recorded, &decided.facts));
        fields.insert("decided".to_owned(), json!(today.transpose()?));
        fields.insert("actions".to_owned(), json!(actions));
        return document(out, &Value::Object(fields));
    }
    heading(out, replayed_step)?;
    let now = recorded.now;
    let (wall, mono) = (now.wall.as_millis(), now.mono.elapsed().as_secs_f64());
    writeln!(
        out,
        "{DIM}at {wall} ms since 1970, {mono} s on the clock of the process{DIM:#}"
    )?;
    writeln!(out, "\n{NAME}facts{NAME:#}")?;
    list(out, &facts(recorded, &recorded.facts)?)?;
    if let Some(decided) = decided.filter(|_| !replayed.is_same()) {
        writeln!(out, "\n{NAME}facts as they are decided today{NAME:#}")?;
        list(out, &facts(recorded, &decided.facts)?)?;
    }
    writeln!(out, "\n{NAME}to be done{NAME:#}")?;
    for action in &actions {
        writeln!(out, "{}", words::printable(action))?;
    }
    Ok(())
}

/// Facts as they are stored.
fn facts(recorded: &Envelope, facts: &[Fact]) -> io::Result<Value> {
    let step = Envelope {
        facts: facts.to_vec(),
        ..recorded.clone()
    };
    let stored = encode_envelope(&step).map_err(io::Error::other)?;
    let mut stored: Value = serde_json::from_slice(&stored)?;
    let facts = stored.pointer_mut("/step/facts").map(Value::take);
    Ok(facts.unwrap_or(stored))
}

/// Prints the items of a list as JSON.
fn list(out: &mut impl Write, items: &Value) -> io::Result<()> {
    for item in items.as_array().into_iter().flatten() {
        let text = serde_json::to_string_pretty(item)?;
        writeln!(out, "{}", words::escaped(text))?;
    }
    Ok(())
}

/// The result of a step, in one line.
fn heading(out: &mut impl Write, replayed_step: &ReplayedStep<'_>) -> io::Result<()> {
    let StepReplay {
        input,
        step,
        verdict,
        version,
        ..
    } = &replayed_step.replayed;
    let input = input.as_str();
    write!(out, "{NAME}step {step}{NAME:#} ({input}): ")?;
    match verdict {
        ReplayVerdict::DecidedDifferentlySince(difference) => writeln!(
            out,
            "{WARM}decided differently since{WARM:#} version {version} of the loop, now \
             {LOOP_VERSION}: {difference}"
        ),
        ReplayVerdict::Differs(difference) => writeln!(out, "{BAD}differs{BAD:#}: {difference}"),
        ReplayVerdict::NotRebuilt(missing) => {
            writeln!(out, "{BAD}cannot be rebuilt{BAD:#}: {missing}")
        }
        ReplayVerdict::Same => writeln!(out, "{GOOD}the same{GOOD:#}"),
    }
}

fn step(replayed_step: &ReplayedStep<'_>) -> Value {
    let StepReplay {
        input,
        step,
        verdict,
        version,
        ..
    } = &replayed_step.replayed;
    let (name, difference, missing) = match verdict {
        ReplayVerdict::DecidedDifferentlySince(found) => {
            ("decided_differently_since", Some(found), None)
        }
        ReplayVerdict::Differs(found) => ("differs", Some(found), None),
        ReplayVerdict::NotRebuilt(missing) => ("not_rebuilt", None, Some(missing.to_string())),
        ReplayVerdict::Same => ("same", None, None),
    };
    let difference = difference.map(|found: &Difference| {
        json!({
            "fact": found.fact,
            "kind": found.kind,
            "field": found.field,
            "recorded": found.recorded,
            "decided": found.decided,
        })
    });
    json!({
        "step": step,
        "input": input.as_str(),
        "loop_version": version,
        "verdict": name,
        "difference": difference,
        "missing": missing,
    })
}

/// An action, in one line.
fn action(action: &Action) -> String {
    match action {
        Action::AbandonTool { tool, .. } => {
            format!("give up a call at {}/{}", tool.toolbox, tool.tool)
        }
        Action::Abort(Attempt::Model(attempt)) => {
            let (round, attempt) = (attempt.round, attempt.attempt);
            format!("stop the model call of round {round}, try {attempt}")
        }
        Action::Abort(Attempt::Tool(attempt)) => {
            format!("stop {}, try {}", attempt.call, attempt.attempt)
        }
        Action::CallModel { attempt, request } => {
            let (messages, tools) = (request.messages.len(), request.tools.len());
            let (round, attempt) = (attempt.round, attempt.attempt);
            let model = &request.model;
            format!(
                "call {}/{}, round {round}, try {attempt}: {messages} messages, {tools} tools",
                model.provider, model.model
            )
        }
        Action::Finish(end) => format!("finish: {}", values::end(end)),
        Action::OpenWait(wait) => {
            let kind = values::wait_kind(&wait.kind);
            format!("notify of {}: {kind}", wait.id)
        }
        Action::ResumeTool { attempt, tool, .. } => {
            let (call, attempt) = (&attempt.call, attempt.attempt);
            format!(
                "find {call} again, try {attempt}, at {}/{}",
                tool.toolbox, tool.tool
            )
        }
        Action::RunTool(run) => {
            let (call, attempt) = (&run.attempt.call, run.attempt.attempt);
            format!(
                "run {call}, try {attempt}: {}/{}",
                run.tool.toolbox, run.tool.tool
            )
        }
    }
}

/// The number of steps per result.
#[derive(Default)]
struct Counts {
    differs: usize,
    not_rebuilt: usize,
    same: usize,
    since: usize,
}

impl Counts {
    fn of(steps: &[ReplayedStep<'_>]) -> Self {
        let mut counts = Self::default();
        for replayed_step in steps {
            let count = match replayed_step.replayed.verdict {
                ReplayVerdict::DecidedDifferentlySince(_) => &mut counts.since,
                ReplayVerdict::Differs(_) => &mut counts.differs,
                ReplayVerdict::NotRebuilt(_) => &mut counts.not_rebuilt,
                ReplayVerdict::Same => &mut counts.same,
            };
            *count += 1;
        }
        counts
    }
}
