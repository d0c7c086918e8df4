//! Tools that the caller runs: offered, called, answered all at once, late, twice and at odds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{CallEnd, Fact, TurnEnd};
use jackfield_domain::ids::{ToolCallId, ToolName};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::policy::Policy;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_domain::wait::{WaitEndKind, WaitKind};
use jackfield_engine::{
    ClientResultsOptions, ClientResultsOutcome, Disconnect, Engine, EngineError, KeeperOptions,
    SendMessage, SessionQuery, SessionRow, StartedTurn, TurnOptions,
};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use proptest::prelude::*;
use serde_json::json;

use crate::background::to_the_end;
use crate::fixture::{Log, Logged, OneTool, Paused, message, options, session};

const ANSWERED: TurnEnd = TurnEnd::Answered(FinishReason::Stop);

pub(crate) struct Scene {
    pub(crate) engine: Engine,
    journal: Arc<MemoryJournal>,
    pub(crate) log: Log,
    pub(crate) model: ScriptedModel,
}

/// An engine of one tool of its own, by the clock of the test.
pub(crate) fn scene(replies: impl IntoIterator<Item = ScriptedReply>) -> Scene {
    let (log, model) = (Log::default(), ScriptedModel::new());
    for reply in replies {
        model.push_reply(reply);
    }
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
    let tool = OneTool::new(&log, |_| async { ToolResult::text("of the server") });
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(clock)
        .model("provider", model.port())
        .toolbox(Arc::new(tool))
        .build();
    Scene {
        engine,
        journal,
        log,
        model,
    }
}

pub(crate) fn client_tool(name: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: "looks it up".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({"type": "object"}))),
        name: ToolName::parse(name).expect("a valid name"),
        output: None,
        strict: None,
    })
}

/// Options with one tool of the client's.
pub(crate) fn with_lookup() -> TurnOptions {
    TurnOptions {
        client_tools: vec![client_tool("lookup")],
        ..options()
    }
}

fn two_lookups() -> ScriptedReply {
    ScriptedReply::calls([("lookup", "{\"of\":1}"), ("lookup", "{\"of\":2}")])
}

impl Scene {
    pub(crate) async fn begin(&self, options: TurnOptions) -> StartedTurn {
        self.engine.begin(message(options)).await.expect("begun")
    }

    /// Begins a turn that leaves calls to its client, which are these.
    async fn left(&self, options: TurnOptions) -> (StartedTurn, Vec<ToolCallId>) {
        let begun = self.begin(options).await;
        self.only_waits().await;
        let facts = self.facts().await;
        let calls = facts.into_iter().filter_map(|fact| match fact {
            Fact::WaitOpened { wait } if wait.kind == WaitKind::ClientResult => Some(wait.call),
            _ => None,
        });
        (begun, calls.collect())
    }

    /// Waits until the turn only waits, and nobody owns its session.
    async fn only_waits(&self) {
        for _ in 0..1_000 {
            let query = SessionQuery {
                limit: 1,
                ..SessionQuery::default()
            };
            let rows = self.engine.sessions(&query).await.expect("rows");
            let waits = |row: &SessionRow| row.open.as_ref().is_some_and(|open| open.only_waits);
            if rows.iter().all(|row| !row.owned && waits(row)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it does not only wait");
    }

    fn answer(
        &self,
        begun: &StartedTurn,
        results: &[(&ToolCallId, &str)],
    ) -> impl Future<Output = Said> + use<> {
        let answer = answer(begun, results);
        let engine = self.engine.clone();
        async move { engine.submit_client_results(answer).await }
    }

    pub(crate) async fn facts(&self) -> Vec<Fact> {
        let loaded = self.journal.load(&session()).await.expect("a session");
        loaded
            .steps
            .into_iter()
            .flat_map(|step| step.facts)
            .collect()
    }

    async fn deliveries(&self) -> usize {
        let loaded = self.journal.load(&session()).await.expect("a session");
        loaded.deliveries.len()
    }
}

fn answer(begun: &StartedTurn, results: &[(&ToolCallId, &str)]) -> ClientResultsOptions {
    let results = results.iter();
    ClientResultsOptions {
        by: "the client".into(),
        disconnect: Disconnect::Finish,
        held: None,
        policy: options().policy,
        repeats: None,
        results: results
            .map(|(call, text)| (ToolCallId::clone(call), ToolResult::text(*text)))
            .collect(),
        session: begun.session.clone(),
        streams: false,
        turn: begun.turn.clone(),
    }
}

type Said = Result<ClientResultsOutcome, EngineError>;

pub(crate) fn results_of(facts: &[Fact]) -> Vec<(CallEnd, String)> {
    let closed = facts.iter().filter_map(|fact| match fact {
        Fact::CallClosed { end, result, .. } => Some((*end, result.to_text())),
        _ => None,
    });
    let mut closed: Vec<(CallEnd, String)> = closed.collect();
    closed.sort_by(|(_, one), (_, other)| one.cmp(other));
    closed
}

#[tokio::test(start_paused = true)]
async fn the_turn_waits_and_goes_on_with_all_results() {
    let scene = scene([two_lookups(), ScriptedReply::text("found")]);
    let (begun, calls) = scene.left(with_lookup()).await;
    let [one, two] = &calls[..] else {
        panic!("two calls: {calls:?}");
    };
    let answered = scene.answer(&begun, &[(two, "B"), (one, "A")]).await;
    let mut answered = answered.expect("taken");
    assert!(!answered.is_repeat);
    assert_eq!(
        (answered.started.segment, &answered.started.turn),
        (1, &begun.turn)
    );
    let (facts, end) = to_the_end(&mut answered.started.watcher).await;
    assert_eq!(end, ANSWERED);
    let by_client = |text: &str| (CallEnd::ByClient, text.to_owned());
    assert_eq!(results_of(&facts), [by_client("A"), by_client("B")]);
    // The client's tool was offered as one.
    let request = &scene.model.requests()[0];
    assert!(
        request
            .tools
            .iter()
            .any(|tool| tool.name.as_str() == "lookup")
    );
    let reply = facts.iter().find_map(|fact| match fact {
        Fact::ReplyReceived { reply, .. } => reply.message.calls().next(),
        _ => None,
    });
    assert_eq!(reply.expect("a call").ran_by, RanBy::Client);
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_along_behind_results_is_told_the_reply_as_it_is_written() {
    for streams in [false, true] {
        let scene = scene([two_lookups(), ScriptedReply::text("found")]);
        let mut options = with_lookup();
        options.whole_reply_limit = Some(Duration::from_secs(600));
        let (begun, calls) = scene.left(options).await;
        let results = [(&calls[0], "A"), (&calls[1], "B")];
        let mut answers = answer(&begun, &results);
        answers.streams = streams;
        let answered = scene.engine.submit_client_results(answers).await;
        to_the_end(&mut answered.expect("taken").started.watcher).await;
        let whole = scene.model.requests().into_iter();
        let whole: Vec<bool> = whole.map(|request| request.whole).collect();
        assert_eq!(whole, [true, !streams]);
    }
}

#[tokio::test(start_paused = true)]
async fn missing_results_are_named_and_nothing_is_taken() {
    let scene = scene([two_lookups(), ScriptedReply::text("found")]);
    let (begun, calls) = scene.left(with_lookup()).await;
    let said = scene.answer(&begun, &[(&calls[1], "B")]).await;
    match said {
        Err(EngineError::ResultsMissing { calls: missing, .. }) => {
            assert_eq!(missing, [calls[0].clone()]);
        }
        other => panic!("{other:?}"),
    }
    let foreign = ToolCallId::parse("call_of_nobody").expect("a valid id");
    let all = [(&calls[0], "A"), (&calls[1], "B"), (&foreign, "C")];
    match scene.answer(&begun, &all).await {
        Err(EngineError::NoSuchCall { calls, .. }) => {
            assert_eq!(calls, std::slice::from_ref(&foreign));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.deliveries().await, 0);
    // And the turn goes on waiting.
    let said = scene.answer(&begun, &all[..2]).await.expect("taken");
    assert!(!said.is_repeat);
}

#[tokio::test(start_paused = true)]
async fn the_same_results_again_collect_what_is_owed_and_others_are_a_conflict() {
    let scene = scene([two_lookups(), ScriptedReply::text("found")]);
    let (begun, calls) = scene.left(with_lookup()).await;
    let all = [(&calls[0], "A"), (&calls[1], "B")];
    let first = scene.answer(&begun, &all).await.expect("taken");
    let mut again = scene.answer(&begun, &all).await.expect("recognised");
    assert!(again.is_repeat && !first.is_repeat);
    assert_eq!(again.started.segment, 1);
    let (facts, end) = to_the_end(&mut again.started.watcher).await;
    assert_eq!(end, ANSWERED);
    let other = [(&calls[0], "A"), (&calls[1], "C")];
    match scene.answer(&begun, &other).await {
        Err(EngineError::ResultConflict { calls: at_odds, .. }) => {
            assert_eq!(at_odds, [calls[1].clone()]);
        }
        other => panic!("{other:?}"),
    }
    // Also now that it is over: what is told is the same, and nothing was begun.
    let mut late = scene.answer(&begun, &all).await.expect("recognised");
    assert_eq!(to_the_end(&mut late.started.watcher).await.0, facts);
    assert_eq!(scene.model.requests().len(), 2);
    assert_eq!(scene.deliveries().await, 2);
}

#[tokio::test(start_paused = true)]
async fn two_different_answers_at_once_are_one_answer_and_one_conflict() {
    for _ in 0..20 {
        let scene = scene([two_lookups(), ScriptedReply::text("found")]);
        let (begun, calls) = scene.left(with_lookup()).await;
        let (one, two) = (
            [(&calls[0], "A"), (&calls[1], "B")],
            [(&calls[0], "a"), (&calls[1], "b")],
        );
        let both = tokio::join!(scene.answer(&begun, &one), scene.answer(&begun, &two));
        let (mut taken, refused) = match both {
            (Ok(taken), Err(error)) | (Err(error), Ok(taken)) => (taken, error),
            other => panic!("{other:?}"),
        };
        assert!(
            matches!(refused, EngineError::ResultConflict { .. }),
            "{refused}"
        );
        let (facts, _) = to_the_end(&mut taken.started.watcher).await;
        let texts: Vec<String> = results_of(&facts)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert!(texts == ["A", "B"] || texts == ["a", "b"], "{texts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_answer_twice_at_once_goes_on_once() {
    let scene = scene([two_lookups(), ScriptedReply::text("found")]);
    let (begun, calls) = scene.left(with_lookup()).await;
    let all = [(&calls[0], "A"), (&calls[1], "B")];
    let (one, two) = tokio::join!(scene.answer(&begun, &all), scene.answer(&begun, &all));
    let (mut one, mut two) = (one.expect("taken"), two.expect("taken"));
    assert!(one.is_repeat != two.is_repeat);
    let told = to_the_end(&mut one.started.watcher).await;
    assert_eq!(to_the_end(&mut two.started.watcher).await, told);
    assert_eq!(scene.model.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_of_both_sides_in_one_reply_run_at_once_and_the_model_is_asked_when_all_have_come() {
    let mixed = ScriptedReply::calls([("lookup", "{}"), ("box__act", "{\"n\":1}")]);
    let scene = scene([mixed, ScriptedReply::text("found")]);
    let (begun, calls) = scene.left(with_lookup()).await;
    let ran = |logged: &Logged| matches!(logged, Logged::ToolCalled(_));
    assert_eq!(scene.log.all().iter().filter(|it| ran(it)).count(), 1);
    assert_eq!(scene.model.requests().len(), 1);
    assert_eq!(calls.len(), 1);
    let answered = scene.answer(&begun, &[(&calls[0], "A")]).await;
    let (facts, end) = to_the_end(&mut answered.expect("taken").started.watcher).await;
    assert_eq!(end, ANSWERED);
    let ends: BTreeSet<String> = results_of(&facts)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(ends, ["A", "of the server"].map(str::to_owned).into());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stays_away_ends_the_turn_paired_and_a_late_result_begins_another() {
    let scene = scene([two_lookups(), ScriptedReply::text("found after all")]);
    let keeper = scene
        .engine
        .spawn_keeper(KeeperOptions::new(options().policy), |_| {});
    let (mut begun, calls) = scene.left(with_lookup()).await;
    let asked = tokio::time::Instant::now();
    let (_, end) = to_the_end(&mut begun.watcher).await;
    assert_eq!(end, TurnEnd::ClientExpired);
    let waited = asked.elapsed();
    assert!(
        waited >= Duration::from_secs(119) && waited < Duration::from_secs(121),
        "{waited:?}"
    );
    assert_eq!(scene.model.requests().len(), 1, "no other model call");
    let all = [(&calls[0], "A"), (&calls[1], "B")];
    match scene.answer(&begun, &all).await {
        Err(EngineError::NotWaiting { how, .. }) => assert_eq!(how, WaitEndKind::Expired),
        other => panic!("{other:?}"),
    }
    drop(keeper);
    let late = all.map(|(call, text)| {
        Arc::new(ToolOutcome {
            call: call.clone(),
            opaque: Vec::new(),
            result: ToolResult::text(text),
        })
    });
    let message = SendMessage {
        opening: Opening::ClientResults(late.to_vec()),
        ..message(with_lookup())
    };
    let mut begun = scene.engine.begin(message).await.expect("begun");
    assert_eq!(to_the_end(&mut begun.watcher).await.1, ANSWERED);
    let request = &scene.model.requests()[1];
    let last = request.messages.iter().last().expect("a message");
    let texts: Vec<String> = last
        .blocks
        .iter()
        .filter_map(|block| match &block.content {
            jackfield_domain::block::Content::ToolOutcome(outcome) => {
                Some(outcome.result.to_text())
            }
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["A", "B"]);
}

#[tokio::test(start_paused = true)]
async fn an_approval_from_elsewhere_lets_a_turn_in_the_background_go_on_under_whoever_watches() {
    use jackfield_domain::ids::DeliveryId;
    use jackfield_domain::wait::{Answer, Approval, DeliveryBody};
    let calls = ScriptedReply::calls([("box__act", "{\"n\":1}")]);
    let scene = scene([calls, ScriptedReply::text("done")]);
    let policy = Policy {
        can_ask: true,
        rules: Vec::new(),
    };
    let _keeper = scene
        .engine
        .spawn_keeper(KeeperOptions::new(policy.clone()), |_| {});
    let asking = TurnOptions {
        policy,
        ..options()
    };
    let mut begun = scene.begin(asking).await;
    let wait = loop {
        let (_, told) = begun.watcher.next().await.expect("news");
        if let SessionEvent::Fact { fact, .. } = told
            && let Fact::WaitOpened { wait } = *fact
        {
            break wait;
        }
    };
    scene.only_waits().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let asked = tokio::time::Instant::now();
    let body = DeliveryBody::Answer {
        answer: Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
        wait: wait.id,
    };
    let id = DeliveryId::parse("yes").expect("a valid id");
    let engine = &scene.engine;
    engine
        .deliver(&session(), id, "somebody", body)
        .await
        .expect("delivered");
    let (facts, end) = to_the_end(&mut begun.watcher).await;
    assert_eq!(end, ANSWERED);
    assert!(
        facts
            .iter()
            .any(|fact| matches!(fact, Fact::CallStarted { .. }))
    );
    assert!(
        asked.elapsed() < Duration::from_millis(100),
        "it was heard at once"
    );
}

proptest! {
    // Each case is dear.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 3))]

    /// Whatever subset comes in whatever order, however often: nothing is taken before all have come, and
    /// each call has the result that came with all the others.
    #[test]
    fn all_or_none(requests in proptest::collection::vec(proptest::collection::btree_set(0..3_usize, 0..4), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let three = ScriptedReply::calls([("lookup", "{}"), ("lookup", "{}"), ("lookup", "{}")]);
            let scene = scene([three, ScriptedReply::text("found")]);
            let (begun, calls) = scene.left(with_lookup()).await;
            let mut is_taken = false;
            for (nth, request) in requests.iter().enumerate() {
                let text = if is_taken { "0".to_owned() } else { nth.to_string() };
                let texts: Vec<(&ToolCallId, &str)> =
                    request.iter().map(|place| (&calls[*place], &*text)).collect();
                let is_whole = request.len() == 3;
                match scene.answer(&begun, &texts).await {
                    Ok(answered) => {
                        prop_assert!(is_whole || is_taken);
                        prop_assert_eq!(answered.is_repeat, is_taken);
                        is_taken = true;
                    }
                    Err(EngineError::ResultsMissing { calls: missing, .. }) => {
                        prop_assert!(!is_whole && !is_taken);
                        prop_assert_eq!(missing.len(), 3 - request.len());
                        prop_assert_eq!(scene.deliveries().await, 0);
                    }
                    // The results that were taken bear the number of their request.
                    Err(EngineError::ResultConflict { .. }) => prop_assert!(is_taken),
                    Err(error) => prop_assert!(false, "{}", error),
                }
            }
            if !is_taken {
                drop(scene.model.take_violations());
            }
            Ok(())
        })?;
    }
}
