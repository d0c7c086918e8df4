//! The cost of a round: 3 rounds of 5 calls over in-process fakes, with and without a history before it.
//!
//! The cost of a round is the slope: a turn of 13 rounds less one of 3, by 10; what a turn costs once,
//! such as keeping its opening, is not part of it.
//!
//! Run with `cargo xtask bench`. Figures are medians over many turns in a warm process; what counts
//! is the ratio between the lines of one run, since machines differ.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on should stop"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jackfield_domain::block::{Block, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest, ToolRun};
use jackfield_domain::setup::{Opening, Transcript};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::{Engine, SendMessage, TurnOptions};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;

const BEFORE: [usize; 4] = [0, 10, 100, 1000];
const CALLS: u32 = 5;
const MORE: usize = 13;
const ROUNDS: usize = 3;
const TURNS: usize = 400;
const WARM_UP: usize = 50;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let mut cases: Vec<Case> = BEFORE.iter().map(|before| Case::new(*before)).collect();
    // Turn about, so that whatever else the machine does falls on all of them.
    for n in 0..TURNS + WARM_UP {
        for case in &mut cases {
            let short = runtime.block_on(case.turn(&case.short, ROUNDS, n));
            let long = runtime.block_on(case.turn(&case.long, MORE, n));
            if n >= WARM_UP {
                case.times.push((short, long));
            }
        }
    }
    println!(
        "| messages before | a turn of 3 rounds, p50 | one more round | against none before |"
    );
    println!("|---|---|---|---|");
    let mut first = None;
    for case in &cases {
        let turn = median(case.times.iter().map(|(short, _)| *short).collect());
        let longer = median(case.times.iter().map(|(_, long)| *long).collect());
        let more = u32::try_from(MORE - ROUNDS).expect("few rounds");
        let round = longer.saturating_sub(turn) / more;
        let floor = *first.get_or_insert(round);
        let ratio = round.as_secs_f64() / floor.as_secs_f64();
        println!(
            "| {} | {turn:.1?} | {round:.1?} | {ratio:.2} |",
            case.history.len() - 1
        );
    }
}

/// Turns on top of so many messages.
struct Case {
    history: Vec<Arc<Message>>,
    long: Engine,
    short: Engine,
    times: Vec<(Duration, Duration)>,
}

impl Case {
    fn new(before: usize) -> Self {
        Self {
            history: history(before),
            long: engine(MORE),
            short: engine(ROUNDS),
            times: Vec::new(),
        }
    }

    /// The time that a turn takes.
    async fn turn(&self, engine: &Engine, rounds: usize, nth: usize) -> Duration {
        let model = ModelRef {
            model: "model".into(),
            provider: "provider".into(),
        };
        let mut options = TurnOptions::new(model);
        options.limits.rounds = 20;
        let message = SendMessage {
            opening: Opening::Transcript(Transcript::stored(self.history.clone())),
            options,
            session: SessionId::parse(&format!("s{nth}")).expect("a valid id"),
        };
        let started = Instant::now();
        let report = engine.send(message, &mut ()).await.expect("a report");
        let took = started.elapsed();
        assert_eq!(report.calls.len(), rounds * CALLS as usize);
        took
    }
}

fn engine(rounds: usize) -> Engine {
    let toolbox = Nothing(ToolboxId::parse("none").expect("a valid id"));
    Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(Calling { rounds }))
        .builtins(Arc::new(toolbox))
        .build()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn history(before: usize) -> Vec<Arc<Message>> {
    let said = "Something that somebody said before, of the length that such things have. ";
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) {
            Role::User
        } else {
            Role::Assistant
        };
        Arc::new(Message::new(
            role,
            vec![Block::text(format!("{n}: {}", said.repeat(3)))],
        ))
    };
    let even = before - before % 2;
    (0..even)
        .map(message)
        .chain([Arc::new(Message::user("go"))])
        .collect()
}

/// A model that calls five tools in each of its rounds, then answers, at once.
struct Calling {
    rounds: usize,
}

#[async_trait]
impl ChatModel for Calling {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "none".into(),
            endpoint: "none".into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let done = request
            .messages
            .turn_messages()
            .iter()
            .filter(|m| m.role == Role::Tool)
            .count();
        if done < self.rounds {
            for index in 0..CALLS {
                let start = BlockStart::ToolCall {
                    json: true,
                    name: "echo".into(),
                    ran_by: RanBy::Engine,
                    upstream: None,
                };
                sink.push(Delta::BlockStarted { index, start }).await;
                let text = format!("{{\"text\":\"{done} {index}\"}}").into();
                sink.push(Delta::ArgumentsAppended { index, text }).await;
                sink.push(Delta::BlockEnded { index }).await;
            }
            return Ok(ReplyEnd::new(FinishReason::ToolCalls));
        }
        sink.push(Delta::BlockStarted {
            index: 0,
            start: BlockStart::Text,
        })
        .await;
        sink.push(Delta::TextAppended {
            index: 0,
            text: "done".into(),
        })
        .await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// A toolbox whose one tool gives back what it is given.
struct Nothing(ToolboxId);

#[async_trait]
impl Toolbox for Nothing {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        });
        Ok(vec![ToolSpec {
            description: "Gives back what it is given.".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema)),
            name: "echo".into(),
            output: None,
            safety: Safety::ReadOnly,
            time_limit: None,
            title: None,
        }])
    }

    async fn call(
        &self,
        run: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let text = run
            .arguments()
            .and_then(|fields| fields["text"].as_str())
            .unwrap_or_default();
        Ok(ToolEnd::Finished(ToolResult::text(text)))
    }
}
