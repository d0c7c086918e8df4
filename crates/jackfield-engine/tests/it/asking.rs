//! Open questions: what is read of the journal to list, find and answer them.

use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_domain::outcome::ToolResult;
use jackfield_engine::{Engine, SendMessage, WaitQuery};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest};

use crate::fixture::{Log, OneTool, Rounds, asking, message};
use crate::keeping::{let_go, named};

/// The sessions of a journal, each with a turn that waits for a person.
async fn left_waiting(journal: &Arc<MemoryJournal>, count: usize) -> Vec<SessionId> {
    let mut sessions = Vec::new();
    for nth in 0..count {
        let engine = engine(Arc::clone(journal) as Arc<dyn Journal>);
        let session = named(&format!("session-{nth}"));
        let message = SendMessage {
            session: session.clone(),
            ..message(asking())
        };
        let is_asked = async {
            while page(&engine, &WaitQuery::default(), count).await.0.len() == nth {
                tokio::task::yield_now().await;
            }
        };
        let mut nobody = ();
        tokio::select! {
            report = engine.send(message, &mut nobody) => panic!("it ended: {report:?}"),
            () = is_asked => {}
        }
        let_go(journal, &session).await;
        sessions.push(session);
    }
    sessions
}

fn engine(journal: Arc<dyn Journal>) -> Engine {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { ToolResult::text("done") });
    Engine::builder(journal)
        .model("provider", Arc::new(Rounds::once(&log, 1)))
        .toolbox(Arc::new(tool))
        .build()
}

/// The sessions of a page of questions, and what the next page takes.
async fn page(engine: &Engine, query: &WaitQuery, limit: usize) -> (Vec<SessionId>, Option<u64>) {
    let query = WaitQuery {
        limit,
        ..query.clone()
    };
    let page = engine.open_questions(&query, |_| true).await;
    let page = page.expect("a page");
    let sessions = page.waits.into_iter().map(|listed| listed.session);
    (sessions.collect(), page.next)
}

#[tokio::test(start_paused = true)]
async fn a_question_among_many_is_found_and_listed_by_reading_its_session_alone() {
    let memory = Arc::new(MemoryJournal::default());
    let sessions = left_waiting(&memory, 30).await;
    let journal = FaultyJournal::new(memory);
    let engine = engine(Arc::new(journal.clone()));
    let none = || journal.fail_after(JournalRequest::Load, 0);
    // A list reads no session, and its pages are without gaps.
    none();
    let mut query = WaitQuery::default();
    let mut listed = Vec::new();
    for _ in 0..5 {
        let (sessions, next) = page(&engine, &query, 7).await;
        listed.extend(sessions);
        query.after = next.unwrap_or_default();
    }
    assert_eq!((listed, query.after), (sessions.clone(), 0));
    let some = WaitQuery {
        limit: 4,
        ..WaitQuery::default()
    };
    let shown = engine.open_questions(&some, |listed| listed.session != sessions[1]);
    let shown = shown.await.expect("a page").waits;
    // What is shown reads the sessions that are shown.
    journal.fail_after(JournalRequest::Load, 4);
    let questions = engine.load_questions(&shown).await.expect("questions");
    let shown: Vec<_> = questions.iter().map(|asked| &asked.session).collect();
    assert_eq!(
        shown,
        [&sessions[0], &sessions[2], &sessions[3], &sessions[4]]
    );
    let wait = &questions[2].wait.id;
    for id in [wait.as_str(), wait.as_str().trim_start_matches("wait_")] {
        journal.fail_after(JournalRequest::Load, 1);
        let found = engine.find_questions(id).await.expect("questions");
        assert_eq!(found, questions[2..3]);
    }
    none();
    let found = engine.find_questions("nothing").await.expect("questions");
    assert_eq!(found, []);
}
