//! Facts and deliveries of the kinds that no driven session has: generated, and kept where they are the
//! first of a kind. What is generated is whole as a value; the turns around it tell no story.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind, TurnEnd};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, TurnId, WaitId};
use jackfield_domain::message::Message;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_loop::LOOP_VERSION;
use jackfield_domain::wait::{
    Answer, Delivery, DeliveryBody, JobHandle, Question, Wait, WaitEnd, WaitKind,
};
use jackfield_ports::journal::{Append, Appended, DeliveryOutcome, Journal as _};
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::arb;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::kinds::{self, Kinds};
use super::seen::Seen;

/// Adds sessions until there is one of every kind, and says which kinds there are then.
pub(crate) async fn add_missing(file: &Path, seen: Seen) -> Kinds {
    let journal = SqliteJournal::open(file, Options::default()).expect("the journal opens");
    let mut maker = Maker {
        runner: TestRunner::deterministic(),
        seen,
    };
    let log = journal.spending().expect("a log");
    for record in maker.spending() {
        log.record(&record).await.expect("it can be recorded");
    }
    let plain = maker.plain_setup();
    let is_beginning = |fact: &Fact| {
        matches!(
            fact,
            Fact::SessionForked { .. } | Fact::SessionImported { .. }
        )
    };
    let (forks, facts): (Vec<_>, Vec<_>) = maker
        .facts()
        .into_iter()
        .partition(|(fact, _)| is_beginning(fact));
    for (nth, fork) in forks.into_iter().enumerate() {
        let mut story = Story::new(&format!("generated-fork-{nth}"), &plain);
        story.step(fork.1, vec![fork.0]);
        story.append(&journal).await;
    }
    let mut story = Story::new("generated", &plain);
    let is_edge = |fact: &Fact| matches!(fact, Fact::TurnOpened { .. } | Fact::TurnEnded { .. });
    let (edges, middles): (Vec<_>, Vec<_>) = facts.into_iter().partition(|(fact, _)| is_edge(fact));
    edges.into_iter().for_each(|fact| story.edge(fact));
    middles
        .chunks(MAX_FACTS)
        .for_each(|facts| story.turn(facts));
    story.append(&journal).await;
    let bodies = maker.bodies();
    let mut story = Story::new("generated-answers", &plain);
    story.deliveries(&journal, bodies).await;
    journal.close().await;
    maker.seen.0
}

/// Generates, and remembers which kinds there are.
struct Maker {
    runner: TestRunner,
    seen: Seen,
}

impl Maker {
    fn one<T: Strategy>(&mut self, strategy: &T) -> T::Value {
        let tree = strategy.new_tree(&mut self.runner);
        tree.expect("a strategy without filters").current()
    }

    /// Records of requests that were passed through.
    fn spending(&mut self) -> Vec<SpendingRecord> {
        self.seen.spending();
        let strategy = arb::spending_record();
        let records = (0..8).map(|nth| SpendingRecord {
            id: format!("generated-{nth}").into(),
            ..self.one(&strategy)
        });
        records.collect()
    }

    /// A setup without tools and without a client, for turns in which something else matters.
    fn plain_setup(&mut self) -> Arc<Setup> {
        let strategy = arb::setup();
        loop {
            let setup = self.one(&strategy);
            if setup.catalog.is_empty() && setup.caller.is_none() {
                return Arc::new(setup);
            }
        }
    }

    /// The first facts of each kind that is missing, each with what its step answers.
    fn facts(&mut self) -> Vec<(Fact, InputKind)> {
        let inputs = arb::input_kind();
        let strategies = arb::fact_kinds();
        let mut kept = Vec::new();
        for _ in 0..MAX_TRIES {
            if self.is_complete() {
                break;
            }
            for (_, strategy) in &strategies {
                let mut fact = self.one(strategy);
                if let Fact::TurnOpened { setup, .. } = &mut fact {
                    Arc::make_mut(setup).whole = Some(Duration::from_mins(10));
                }
                let input = self.one(&inputs);
                let step = Envelope {
                    facts: vec![fact.clone()],
                    input,
                    now: now(0),
                    step: 0,
                    version: 0,
                };
                let before = self.seen.0.len();
                self.seen.step(&step);
                if self.seen.0.len() > before {
                    kept.push((fact, input));
                }
            }
        }
        kept
    }

    /// One delivery of each kind, and answers of each kind.
    fn bodies(&mut self) -> Vec<DeliveryBody> {
        let mut delivered = Seen::default();
        let strategy = arb::delivery_body();
        let mut kept = Vec::new();
        for nth in 0..MAX_TRIES {
            let body = self.one(&strategy);
            let delivery = Delivery {
                at: now(0).wall,
                body: body.clone(),
                by: "somebody".into(),
                id: delivery_id(nth),
            };
            let before = delivered.0.len();
            delivered.delivery(&delivery);
            if delivered.0.len() > before {
                kept.push(body);
            }
        }
        self.seen.0.extend(delivered.0);
        kept
    }

    /// Whether only kinds of deliveries may be missing.
    fn is_complete(&self) -> bool {
        let all = kinds::all();
        let mut missing = all.difference(&self.seen.0);
        missing.all(|kind| kind.starts_with("delivery."))
    }
}

/// A session that is written step by step.
struct Story {
    session: SessionId,
    setup: Arc<Setup>,
    steps: Vec<Envelope>,
    turns: u32,
}

impl Story {
    fn new(session: &str, setup: &Arc<Setup>) -> Self {
        Self {
            session: SessionId::parse(session).expect("a valid id"),
            setup: Arc::clone(setup),
            steps: Vec::new(),
            turns: 0,
        }
    }

    fn step(&mut self, input: InputKind, facts: Vec<Fact>) {
        let step = u64::try_from(self.steps.len()).expect("few steps");
        self.steps.push(Envelope {
            facts,
            input,
            now: now(step),
            step,
            version: LOOP_VERSION,
        });
    }

    fn opens(&mut self, opening: Opening, setup: Arc<Setup>) -> Fact {
        self.turns += 1;
        Fact::TurnOpened {
            opening,
            ordinal: self.turns,
            setup,
            turn: TurnId::derive(&self.session, self.turns),
        }
    }

    /// A turn that begins or ends with this fact.
    fn edge(&mut self, (fact, input): (Fact, InputKind)) {
        if let Fact::TurnOpened { opening, setup, .. } = fact {
            let opened = self.opens(opening, setup);
            self.step(input, vec![opened]);
            self.ends();
        } else {
            self.begins();
            self.step(input, vec![fact]);
        }
    }

    /// A turn with these facts in its middle.
    fn turn(&mut self, facts: &[(Fact, InputKind)]) {
        self.begins();
        for (fact, input) in facts {
            self.step(*input, vec![fact.clone()]);
        }
        self.ends();
    }

    fn begins(&mut self) {
        let text = format!("Generated: {}", self.turns + 1);
        let opening = Opening::UserMessage(Arc::new(Message::user(text)));
        let opened = self.opens(opening, Arc::clone(&self.setup));
        self.step(InputKind::Began, vec![opened]);
    }

    fn ends(&mut self) {
        let end = TurnEnd::Answered(FinishReason::Stop);
        let ended = Fact::TurnEnded { end, view: None };
        self.step(InputKind::ReplyEnded, vec![ended]);
    }

    /// A turn that asks, is delivered all of these, and ends by the answers among them.
    async fn deliveries(&mut self, journal: &SqliteJournal, bodies: Vec<DeliveryBody>) {
        let message = Message::user("Generated: questions and deliveries");
        let opening = Opening::UserMessage(Arc::new(message));
        let opened = self.opens(opening, Arc::clone(&self.setup));
        let turn = TurnId::derive(&self.session, self.turns);
        let call = ToolCallId::parse("call_generated").expect("a valid id");
        let mut facts = vec![opened];
        let asked = bodies.into_iter().flat_map(asked);
        let (kinds, mut bodies): (Vec<_>, Vec<_>) = asked.unzip();
        for ((nth, body), kind) in (1..).zip(&mut bodies).zip(kinds) {
            match body {
                DeliveryBody::Answer { wait, .. } => {
                    *wait = WaitId::derive(&call, nth);
                    facts.extend(kind.map(|kind| Fact::WaitOpened {
                        wait: Wait {
                            call: call.clone(),
                            deadline: now(0).wall.after(CENTURY),
                            id: wait.clone(),
                            kind,
                        },
                    }));
                }
                DeliveryBody::Cancel { turn: of, .. }
                | DeliveryBody::Withdrawn { turn: of }
                | DeliveryBody::Written { turn: of, .. } => *of = turn.clone(),
                DeliveryBody::Late { .. } => {}
            }
        }
        self.step(InputKind::Began, facts);
        let (epoch, session) = (
            journal
                .own(&self.session)
                .await
                .expect("nobody has it")
                .epoch,
            self.session.clone(),
        );
        let append = |steps: &[Envelope], seen| Append {
            epoch,
            position: steps.first().map_or(0, |step| step.step),
            seen,
            session: session.clone(),
            steps: steps.to_vec(),
        };
        committed(journal.append(&append(&self.steps, 0)).await);
        let mut closed = Vec::new();
        let mut delivered = 0;
        for (nth, body) in (0..).zip(bodies) {
            let (id, by): (_, Arc<str>) = (delivery_id(nth), "somebody".into());
            let answered = journal
                .deliver(&self.session, id.clone(), Arc::clone(&by), body.clone())
                .await;
            let answered = answered.expect("it can be delivered");
            assert_eq!(answered, DeliveryOutcome::Accepted, "{body:?}");
            delivered += 1;
            if let DeliveryBody::Answer { answer, wait } = body {
                let end = WaitEnd::Answered {
                    answer,
                    by,
                    delivery: id,
                };
                closed.push(Fact::WaitClosed {
                    end,
                    subject: None,
                    wait,
                });
            }
        }
        self.step(InputKind::Delivered, closed);
        self.ends();
        committed(journal.append(&append(&self.steps[1..], delivered)).await);
        let released = journal.release(&self.session, epoch).await;
        released.expect("it can be released");
    }

    async fn append(&self, journal: &SqliteJournal) {
        let lease = journal.own(&self.session).await.expect("nobody has it");
        let append = Append {
            epoch: lease.epoch,
            position: 0,
            seen: 0,
            session: self.session.clone(),
            steps: self.steps.clone(),
        };
        committed(journal.append(&append).await);
        let released = journal.release(&self.session, lease.epoch).await;
        released.expect("it can be released");
    }
}

/// The questions that can be answered like this, each with the delivery; a delivery that is no answer has none.
fn asked(body: DeliveryBody) -> Vec<(Option<WaitKind>, DeliveryBody)> {
    let kinds = match &body {
        DeliveryBody::Answer { answer, .. } => match answer {
            Answer::Approval(_) => vec![
                WaitKind::Approval {
                    subject: Some(Digest::of(b"subject")),
                },
                WaitKind::Budget {
                    message: "the budget is used up".into(),
                },
            ],
            Answer::ClientResult(_) => vec![WaitKind::ClientResult],
            Answer::Elicitation(_) => vec![WaitKind::Elicitation {
                handle: JobHandle(Arc::new(json!({ "job": 7 }))),
                question: Question {
                    message: "Which one?".into(),
                    schema: Some(Arc::new(json!({ "type": "object" }))),
                    sampling: None,
                    url: None,
                },
            }],
            Answer::UnknownOutcome(_) => vec![WaitKind::UnknownOutcome],
        },
        DeliveryBody::Cancel { .. }
        | DeliveryBody::Late { .. }
        | DeliveryBody::Withdrawn { .. }
        | DeliveryBody::Written { .. } => return vec![(None, body)],
    };
    let kinds = kinds.into_iter();
    kinds.map(|kind| (Some(kind), body.clone())).collect()
}

fn committed(appended: Appended) {
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

fn delivery_id(nth: u32) -> DeliveryId {
    DeliveryId::parse(&format!("delivery-{nth}")).expect("a valid id")
}

/// So many seconds from now.
fn now(seconds: u64) -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.expect("a clock after 1970") + Duration::from_secs(seconds);
    Now {
        mono: MonoTime::from_start(Duration::from_secs(seconds)),
        wall: WallTime::from_millis(0).after(since),
    }
}

const CENTURY: Duration = Duration::from_hours(24 * 36_500);
/// How many facts that have nothing to do with each other stand in one turn.
const MAX_FACTS: usize = 12;
/// Enough for every kind to come up.
const MAX_TRIES: u32 = 4_000;
