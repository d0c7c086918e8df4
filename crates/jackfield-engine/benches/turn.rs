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
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;

const CALLS: u32 = 5;
const MORE: usize = 13;
const ROUNDS: usize = 3;
const TURNS: usize = 500;
const WARM_UP: usize = 50;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    println!(
        "| messages before | a turn of 3 rounds, p50 | one more round | against none before |"
    );
    println!("|---|---|---|---|");
    let mut first = None;
    for before in [0, 10, 100, 1000] {
        let turn = runtime.block_on(measure(before, ROUNDS, TURNS));
        let longer = runtime.block_on(measure(before, MORE, TURNS));
        let more = u32::try_from(MORE - ROUNDS).expect("few rounds");
        let round = longer.saturating_sub(turn) / more;
        let floor = *first.get_or_insert(round);
        let ratio = round.as_secs_f64() / floor.as_secs_f64();
        println!("| {before} | {turn:.1?} | {round:.1?} | {ratio:.2} |");
    }
}

/// The median of a turn.
async fn measure(before: usize, rounds: usize, turns: usize) -> Duration {
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(Calling { rounds }))
        .builtins(Arc::new(Nothing(
            ToolboxId::parse("none").expect("a valid id"),
        )))
        .build();
    let history = history(before);
    let mut times = Vec::new();
    for n in 0..turns + WARM_UP {
        let model = ModelRef {
            model: "model".into(),
            provider: "provider".into(),
        };
        let mut options = TurnOptions::new(model);
        options.limits.rounds = 20;
        let message = SendMessage {
            opening: Opening::Transcript(Transcript::stored(history.clone())),
            options,
            session: SessionId::parse(&format!("s{n}")).expect("a valid id"),
        };
        let started = Instant::now();
        let report = engine.send(message, &mut ()).await.expect("a report");
        let took = started.elapsed();
        assert_eq!(report.calls.len(), rounds * CALLS as usize);
        if n >= WARM_UP {
            times.push(took);
        }
    }
    median(times)
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
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let done = request
            .messages
            .of_turn()
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

    async fn call(&self, run: &ToolRun, _: &mut dyn ToolEvents) -> Result<ToolEnd, ToolError> {
        let text = run
            .arguments()
            .and_then(|fields| fields["text"].as_str())
            .unwrap_or_default();
        Ok(ToolEnd::Finished(ToolResult::text(text)))
    }
}
