//! Watchers: live, slow, late, many, and back again.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::SessionId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::text_event::TextEventKind;
use jackfield_engine::{DriveOutcome, Engine, EngineError, ResumeSession, Watcher};
use jackfield_ports::journal::{Journal, JournalError};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{Gate, ScriptedModel, ScriptedReply};

use tokio::task::JoinHandle;

use crate::fixture::{Log, OneTool, message, options, session};

type Seen = Vec<(Cursor, SessionEvent)>;

/// An engine on this journal whose model says this.
fn engine(journal: &Arc<dyn Journal>, replies: Vec<ScriptedReply>) -> Engine {
    let model = ScriptedModel::new();
    for reply in replies {
        model.push_reply(reply);
    }
    let tool = OneTool::new(&Log::default(), |_| async { ToolResult::text("done") });
    Engine::builder(Arc::clone(journal))
        .model("provider", model.port())
        .toolbox(Arc::new(tool))
        .build()
}

fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::default())
}

/// A turn on a task of its own.
fn drive(engine: &Engine) -> JoinHandle<TurnEnd> {
    let engine = engine.clone();
    tokio::spawn(async move {
        let report = engine.send(message(options()), &mut ()).await;
        report.expect("a report").end
    })
}

/// A watcher from this cursor on, once there is a session.
async fn watch(engine: &Engine, cursor: Cursor) -> Watcher {
    loop {
        match engine.watch(session(), cursor).await {
            Ok(watcher) => return watcher,
            Err(EngineError::Journal(JournalError::UnknownSession { .. })) => {
                tokio::task::yield_now().await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The next piece of news, which has to come; the clock runs ahead where nothing else happens.
async fn next(watcher: &mut Watcher) -> (Cursor, SessionEvent) {
    let next = tokio::time::timeout(Duration::from_secs(60), watcher.next());
    next.await.expect("there is news").expect("news")
}

/// Everything up to the end of the turn.
async fn to_the_end(watcher: &mut Watcher) -> Seen {
    let mut seen = Seen::new();
    loop {
        let news = next(watcher).await;
        let is_over = matches!(&news.1, SessionEvent::Fact { fact, .. } if matches!(**fact, Fact::TurnEnded { .. }));
        seen.push(news);
        if is_over {
            return seen;
        }
    }
}

fn is_text(told: &SessionEvent) -> bool {
    matches!(told, SessionEvent::Text { piece, .. } if matches!(piece.kind, TextEventKind::Text { .. }))
}

fn text(seen: &[(Cursor, SessionEvent)]) -> String {
    let texts = seen.iter().filter_map(|(_, told)| match told {
        SessionEvent::Text { piece, .. } => match &piece.kind {
            TextEventKind::Text { text, .. } => Some(&**text),
            TextEventKind::Ended { .. } | TextEventKind::Started(_) => None,
        },
        SessionEvent::Fact { .. } | SessionEvent::Superseded { .. } => None,
    });
    texts.collect()
}

/// The facts, and the text between them.
fn outline(seen: &[(Cursor, SessionEvent)]) -> Vec<SessionEvent> {
    let others = seen.iter().filter(|(_, told)| !is_text(told));
    others.map(|(_, told)| told.clone()).collect()
}

fn two_rounds() -> Vec<ScriptedReply> {
    vec![
        ScriptedReply::calls([("box__act", "{\"n\":1}"), ("box__act", "{\"n\": 2}")])
            .with_text("looking it up, 请稍等"),
        ScriptedReply::text("done: готово, 好了"),
    ]
}

#[tokio::test(start_paused = true)]
async fn text_is_told_before_the_reply_has_ended() {
    let gate = Gate::new();
    // A start, words in two pieces and an end; and then it thinks.
    let reply = ScriptedReply::text("half")
        .with_text("whole")
        .held_after(4, &gate);
    let engine = engine(&journal(), vec![reply]);
    let turn = drive(&engine);
    let mut watcher = watch(&engine, Cursor::START).await;
    let mut seen = Seen::new();
    while text(&seen) != "half" {
        seen.push(next(&mut watcher).await);
    }
    assert!(!turn.is_finished());
    gate.open();
    seen.extend(to_the_end(&mut watcher).await);
    assert_eq!(text(&seen), "halfwhole");
    assert!(
        seen.is_sorted_by(|(one, _), (two, _)| one < two),
        "{seen:?}"
    );
    assert!(watcher.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_slow_watcher_gets_the_rest_as_one_larger_piece() {
    let gate = Gate::new();
    let words: Vec<String> = (0..100).map(|n| format!("{n} ")).collect();
    let start = Delta::BlockStarted {
        index: 0,
        start: BlockStart::Text,
    };
    let pieces = words.iter().map(|text| Delta::TextAppended {
        index: 0,
        text: text.as_str().into(),
    });
    let said = std::iter::once(start).chain(pieces);
    let deltas = said.chain([Delta::BlockEnded { index: 0 }]);
    let end = Ok(ReplyEnd::new(FinishReason::Stop));
    let reply = ScriptedReply::deltas(deltas, end).held_after(101, &gate);
    let engine = engine(&journal(), vec![reply]);
    let turn = drive(&engine);
    let mut watcher = watch(&engine, Cursor::START).await;
    gate.reached().await;
    // The driver has taken everything that was said by then.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let mut seen = Seen::new();
    while let Some(news) = watcher.try_next() {
        seen.push(news);
    }
    gate.open();
    seen.extend(to_the_end(&mut watcher).await);
    assert_eq!(text(&seen), words.concat());
    assert_eq!(seen.iter().filter(|(_, told)| is_text(told)).count(), 1);
    turn.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_watchers_are_told_the_same() {
    let engine = engine(&journal(), two_rounds());
    let turn = drive(&engine);
    let mut watching = Vec::new();
    for _ in 0..100 {
        let watched = engine.clone();
        watching.push(tokio::spawn(async move {
            let mut watcher = watch(&watched, Cursor::START).await;
            to_the_end(&mut watcher).await
        }));
        // One that goes away is missed by nobody.
        drop(watch_if_there(&engine).await);
    }
    turn.await.expect("no panic");
    let mut all = Vec::new();
    for watching in watching {
        all.push(watching.await.expect("no panic"));
    }
    for seen in &all {
        assert_eq!(text(seen), text(&all[0]));
        assert_eq!(outline(seen), outline(&all[0]));
        assert!(seen.is_sorted_by(|(one, _), (two, _)| one < two));
    }
}

async fn watch_if_there(engine: &Engine) -> Option<Watcher> {
    engine.watch(session(), Cursor::START).await.ok()
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_anywhere_misses_nothing_and_sees_nothing_twice() {
    let journal = journal();
    let driving = engine(&journal, two_rounds());
    let turn = drive(&driving);
    let mut live = watch(&driving, Cursor::START).await;
    let seen = to_the_end(&mut live).await;
    turn.await.expect("no panic");
    // Another process: it has the journal, and nothing else.
    let elsewhere = engine(&journal, Vec::new());
    let recorded = to_the_end(&mut watch(&elsewhere, Cursor::START).await).await;
    assert_eq!(outline(&seen), outline(&recorded));
    for (at, (cursor, told)) in seen.iter().enumerate() {
        if matches!(told, SessionEvent::Fact { fact, .. } if matches!(**fact, Fact::TurnEnded { .. }))
        {
            assert!(watch(&elsewhere, *cursor).await.is_idle());
            continue;
        }
        let rest = to_the_end(&mut watch(&elsewhere, *cursor).await).await;
        let before = &seen[..=at];
        assert_eq!([text(before), text(&rest)].concat(), text(&recorded));
        let both = [outline(before), outline(&rest)].concat();
        assert_eq!(both, outline(&recorded), "from {cursor}");
    }
}

#[tokio::test(start_paused = true)]
async fn facts_of_a_second_turn_come_to_whoever_still_watches() {
    let journal = journal();
    let replies = vec![ScriptedReply::text("one"), ScriptedReply::text("two")];
    let engine = engine(&journal, replies);
    drive(&engine).await.expect("no panic");
    let mut watcher = watch(&engine, Cursor::START).await;
    assert_eq!(text(&to_the_end(&mut watcher).await), "one");
    let turn = drive(&engine);
    let second = to_the_end(&mut watcher).await;
    assert_eq!(text(&second), "two");
    turn.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_cursor_of_the_session_is_refused() {
    let journal = journal();
    let engine = engine(&journal, vec![ScriptedReply::text("one")]);
    drive(&engine).await.expect("no panic");
    for number in [u64::MAX, 1, 99 << 24, (1 << 24) + 5] {
        let cursor = number.to_string().parse().expect("a cursor");
        let refused = engine.watch(session(), cursor).await.expect_err("foreign");
        assert!(
            matches!(refused, EngineError::ForeignCursor(_)),
            "{refused}"
        );
    }
    let nobody = SessionId::parse("nobody").expect("a valid id");
    let unknown = engine
        .watch(nobody, Cursor::START)
        .await
        .expect_err("unknown");
    assert!(matches!(
        unknown,
        EngineError::Journal(JournalError::UnknownSession { .. })
    ));
}

/// What a watcher in the process of the driver sees, what one elsewhere sees, and what comes after a
/// crash in the middle of the reply, from wherever each goes on.
#[tokio::test(start_paused = true)]
async fn after_a_crash_the_lost_text_is_superseded_and_the_rest_comes_once() {
    let journal = journal();
    let gate = Gate::new();
    // In the middle of its second text, four bytes of which are there.
    let half = ScriptedReply::text("one")
        .with_text("二")
        .held_after(7, &gate);
    let first = engine(&journal, vec![half]);
    let turn = drive(&first);
    let mut here = watch(&first, Cursor::START).await;
    let mut seen = Seen::new();
    while text(&seen) != "one二" {
        seen.push(next(&mut here).await);
    }
    let mut elsewhere = watch(&engine(&journal, Vec::new()), Cursor::START).await;
    let mut seen_elsewhere = Seen::new();
    while let Some(news) = elsewhere.try_next() {
        seen_elsewhere.push(news);
    }
    assert_eq!(text(&seen_elsewhere), "", "it is not recorded");
    // What a crash is.
    turn.abort();
    assert!(turn.await.expect_err("aborted").is_cancelled());
    drop((here, first));
    let second = engine(&journal, vec![ScriptedReply::text("whole")]);
    let resume = ResumeSession::new(session(), options().policy);
    let driven = second.resume(resume, &mut ()).await.expect("driven");
    assert!(matches!(driven, DriveOutcome::Finished(_)), "{driven:?}");
    seen_elsewhere.extend(to_the_end(&mut elsewhere).await);
    let whole = to_the_end(&mut watch(&second, Cursor::START).await).await;
    assert_eq!(seen_elsewhere, whole);
    assert_eq!(text(&whole), "whole");
    // From every place that the one who saw it live had come to, also inside the text that is lost.
    for (at, (cursor, _)) in seen.iter().enumerate() {
        let rest = to_the_end(&mut watch(&second, *cursor).await).await;
        let both = [&seen[..=at], &rest[..]].concat();
        let facts = |seen: &[(Cursor, SessionEvent)]| {
            let facts = seen.iter();
            let facts = facts.filter(|(_, told)| !matches!(told, SessionEvent::Text { .. }));
            facts.cloned().collect::<Seen>()
        };
        assert_eq!(facts(&both), facts(&whole), "from {cursor}");
        assert!(
            both.is_sorted_by(|(one, _), (two, _)| one < two),
            "{both:?}"
        );
        let superseded = both
            .iter()
            .position(|(_, told)| matches!(told, SessionEvent::Superseded { .. }));
        let superseded = superseded.expect("the lost reply is marked");
        // Nothing of the lost reply comes after its mark, and all of the other one.
        assert_eq!(text(&both[superseded..]), "whole");
    }
}
