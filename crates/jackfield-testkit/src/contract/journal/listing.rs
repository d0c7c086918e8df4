//! Clauses about the lists of sessions and of waits.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::ids::WaitId;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::sessions::{LabelChange, OpenTurn, SessionQuery, WaitQuery};

use super::finding::caller;
use super::scene::{DEADLINE, JournalScene, cancel, granted, resumed_step, session, step};
use super::story::{
    all, approval_opened, call_closed, call_started, elicitation_opened, model_call_started,
    reply_received, turn, turn_ended, turn_opened, turn_opened_for, wait_expired,
};
use super::{JournalHarness, START};

pub(super) async fn sessions_are_listed_the_one_changed_last_first<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (b, c) = (
        scene.other_session("b").await,
        scene.other_session("c").await,
    );
    let ids = async || -> Vec<String> {
        let rows = scene.list(all()).await;
        rows.iter().map(|row| row.session.to_string()).collect()
    };
    // Sessions of the same instant are in descending order of their ids.
    assert_eq!(ids().await, ["contract", "c", "b"]);
    scene.harness.set_clock(later(1));
    scene.commit_to(&b, 0, vec![resumed_step(0)]).await;
    assert_eq!(ids().await, ["b", "contract", "c"]);
    scene.harness.set_clock(later(2));
    let delivered = scene.journal.deliver(
        &c.session,
        super::scene::delivery_id("d"),
        "ann".into(),
        cancel(),
    );
    delivered.await.expect("an answer");
    assert_eq!(ids().await, ["c", "b", "contract"]);
}

pub(super) async fn a_list_goes_on_after_any_row<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    for nth in 0..7 {
        scene.harness.set_clock(later(nth / 2));
        scene.other_session(&format!("s{nth}")).await;
    }
    let whole = scene.list(all()).await;
    assert_eq!(whole.len(), 8);
    for most in [1, 3] {
        let (mut pages, mut before) = (Vec::new(), None);
        for _ in 0..=whole.len() {
            let page = scene
                .list(SessionQuery {
                    before,
                    limit: most,
                    ..SessionQuery::default()
                })
                .await;
            assert!(page.len() <= most, "{page:?}");
            let Some(last) = page.last() else { break };
            before = Some((last.changed, last.session.clone()));
            pages.extend(page);
        }
        assert_eq!(pages, whole);
    }
    for row in &whole {
        let alone = SessionQuery {
            session: Some(row.session.clone()),
            ..all()
        };
        assert_eq!(scene.list(alone).await, std::slice::from_ref(row));
    }
    let none = SessionQuery {
        session: Some(session("nobody")),
        ..all()
    };
    assert_eq!(scene.list(none).await, []);
}

pub(super) async fn a_row_says_when_and_how_much<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let empty = scene.row().await.expect("a row");
    assert_eq!(
        (empty.created, empty.changed, empty.steps, empty.turns),
        (START, START, 0, 0)
    );
    scene.harness.set_clock(later(5));
    let opened = step(
        0,
        vec![turn_opened(&scene.session, 1, "Hello"), turn_ended()],
    );
    scene.commit(0, vec![opened]).await;
    let row = scene.row().await.expect("a row");
    assert_eq!(
        (row.created, row.changed, row.steps, row.turns),
        (START, later(5), 1, 1)
    );
    assert!(row.bytes > empty.bytes, "{row:?}");
    scene.harness.set_clock(later(6));
    scene.deliver("d", "ann", cancel()).await;
    let after = scene.row().await.expect("a row");
    assert_eq!((after.changed, after.steps), (later(6), 1));
    assert!(after.bytes > row.bytes, "{after:?}");
}

pub(super) async fn a_title_is_the_first_message_in_one_line<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let long = "Как  написать\n\nпервый тест? ".to_owned() + &"и ещё один, ".repeat(20);
    let opened = step(0, vec![turn_opened(&scene.session, 1, &long), turn_ended()]);
    scene.commit(0, vec![opened]).await;
    let again = step(
        1,
        vec![turn_opened(&scene.session, 2, "Another"), turn_ended()],
    );
    scene.commit(1, vec![again]).await;
    let row = scene.row().await.expect("a row");
    assert!(
        row.title.starts_with("Как написать первый тест? и ещё"),
        "{row:?}"
    );
    assert!(row.title.chars().count() <= 80, "{row:?}");
    assert_eq!(row.turns, 2);
}

pub(super) async fn a_given_title_is_listed_until_it_is_taken_away<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (journal, id) = (&scene.journal, &scene.session);
    let title = async || scene.row().await.expect("a row").title;
    let found = async |text: &str| {
        let query = SessionQuery {
            text: Some(text.to_owned()),
            ..all()
        };
        scene.list(query).await.len()
    };
    journal
        .label(id, &titled("Мои Планы"))
        .await
        .expect("a title");
    assert_eq!(&*title().await, "Мои Планы");
    let opened = step(0, vec![turn_opened(id, 1, "Hello"), turn_ended()]);
    scene.commit(0, vec![opened]).await;
    assert_eq!(&*title().await, "Мои Планы");
    assert_eq!(found("мои планы").await, 1);
    journal.label(id, &titled("Other")).await.expect("a title");
    assert_eq!(&*title().await, "Other");
    assert_eq!(found("планы").await, 0);
    let other = scene.other_session("b").await;
    let row = SessionQuery {
        session: Some(other.session.clone()),
        ..all()
    };
    assert_eq!(&*scene.list(row).await.pop().expect("a row").title, "");
    journal.label(id, &titled("")).await.expect("no title");
    assert_eq!(&*title().await, "Hello");
    assert_eq!(found("other").await, 0);
    let renamed = journal.label(&session("nobody"), &titled("None")).await;
    assert!(
        matches!(renamed, Err(JournalError::UnknownSession { .. })),
        "{renamed:?}"
    );
}

pub(super) async fn a_session_is_pinned_and_archived_until_it_is_not<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (journal, id) = (&scene.journal, &scene.session);
    let other = scene.other_session("b").await;
    let change = async |pinned, archived| {
        let change = LabelChange {
            archived,
            pinned,
            title: None,
        };
        journal.label(id, &change).await.expect("labels");
        let row = scene.row().await.expect("a row");
        (row.pinned, row.archived)
    };
    let listed = async |pinned, archived| {
        let query = SessionQuery {
            archived,
            pinned,
            ..all()
        };
        let rows = scene.list(query).await.into_iter();
        let mut ids: Vec<_> = rows.map(|row| row.session).collect();
        ids.sort();
        ids
    };
    let (mut both, rest) = (
        vec![id.clone(), other.session.clone()],
        [other.session.clone()],
    );
    both.sort();
    assert_eq!(listed(Some(true), None).await, []);
    assert_eq!(listed(Some(false), Some(false)).await, both);
    journal.label(id, &titled("Plans")).await.expect("a title");
    assert_eq!(change(Some(true), None).await, (true, false));
    assert_eq!(&*scene.row().await.expect("a row").title, "Plans");
    let mine = vec![id.clone()];
    assert_eq!(listed(Some(true), None).await, mine);
    assert_eq!(listed(Some(false), None).await, rest);
    assert_eq!(change(None, Some(true)).await, (true, true));
    assert_eq!(listed(None, Some(true)).await, mine);
    assert_eq!(listed(None, Some(false)).await, rest);
    let opened = step(0, vec![turn_opened(id, 1, "Hello"), turn_ended()]);
    scene.commit(0, vec![opened]).await;
    assert_eq!(change(Some(false), None).await, (false, true));
    assert_eq!(change(None, Some(false)).await, (false, false));
    assert_eq!(listed(None, None).await, both);
    assert_eq!(&*scene.row().await.expect("a row").title, "Plans");
}

fn titled(title: &str) -> LabelChange {
    LabelChange::of_title(title)
}

pub(super) async fn a_row_says_where_the_open_turn_is<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let id = turn(&scene.session);
    let open = |waits, only_waits| {
        Some(OpenTurn {
            only_waits,
            parked: false,
            turn: id.clone(),
            waits,
        })
    };
    let story = [
        (turn_opened(&scene.session, 1, "Do it."), open(0, false)),
        (model_call_started(), open(0, false)),
        (reply_received("I will.", &["a", "b", "c"]), open(0, false)),
        (approval_opened("a", DEADLINE), open(1, false)),
        (call_started("b"), open(1, false)),
        (elicitation_opened("b"), open(2, false)),
        // A call that is queued behind two tools' questions cannot start.
        (elicitation_opened("a"), open(2, true)),
        (wait_expired("a"), open(1, false)),
        (call_closed("a"), open(1, false)),
        (approval_opened("c", DEADLINE), open(2, true)),
        (turn_ended(), None),
    ];
    for (number, (fact, expected)) in (0..).zip(story) {
        let told = format!("{fact:?}");
        scene.commit(number, vec![step(number, vec![fact])]).await;
        let row = scene.row().await.expect("a row");
        assert_eq!(row.open, expected, "after {told}");
    }
}

pub(super) async fn what_was_refused_changes_no_row<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.harness.set_clock(later(1));
    let opened = step(0, vec![turn_opened(&scene.session, 1, "Hello")]);
    let append = scene.append(0, vec![opened]);
    let before = scene.row().await;
    let misplaced = scene.append(
        1,
        vec![step(1, vec![turn_opened(&scene.session, 1, "Hello")])],
    );
    let refused = jackfield_ports::journal::AppendRefusal::Position;
    scene.expect(&misplaced, Some(&refused)).await;
    assert_eq!(scene.row().await, before);
    scene.expect(&append, None).await;
    let after = scene.row().await;
    assert_ne!(after, before);
    // Nor does a repeated append.
    scene.expect(&append, None).await;
    assert_eq!(scene.row().await, after);
}

pub(super) async fn sessions_are_found_by_their_words<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let said = [
        ("zh", "请整理我的机器学习笔记", "好的，都在这里。"),
        ("ru", "Где МОЯ\nЁлка?", "В лесу, под Москвой."),
        ("en", "Make me  a Sandwich", "What? Make it YOURSELF."),
    ];
    for (name, message, reply) in said {
        let beside = scene.other_session(name).await;
        let facts = vec![
            turn_opened(&beside.session, 1, message),
            model_call_started(),
            reply_received(reply, &[]),
            turn_ended(),
        ];
        scene.commit_to(&beside, 0, vec![step(0, facts)]).await;
    }
    let found = [
        ("机器学习", vec!["zh"]),
        ("笔记", vec!["zh"]),
        ("моя ёлка", vec!["ru"]),
        ("МОЯ ЕЛКА", vec!["ru"]),
        ("москв", vec!["ru"]),
        ("make ME\ta sand", vec!["en"]),
        ("yourself", vec!["en"]),
        ("100%", vec![]),
        ("_", vec![]),
        ("here", vec![]),
    ];
    for (text, expected) in found {
        let query = SessionQuery {
            text: Some(text.to_owned()),
            ..all()
        };
        let rows = scene.list(query).await;
        let ids: Vec<_> = rows.iter().map(|row| row.session.as_str()).collect();
        assert_eq!(ids, expected, "{text}");
    }
}

pub(super) async fn open_waits_are_those_without_an_answer<H: JournalHarness>() {
    let calls = ["a", "b", "c"];
    let asked = calls
        .iter()
        .map(|id| approval_opened(id, DEADLINE))
        .collect();
    let scene = JournalScene::<H>::with_calls(&calls, asked).await;
    let mark = async || scene.journal.open_waits_mark().await.expect("a mark");
    let mut marks = vec![mark().await];
    assert_eq!(scene.waits(open_waits(100)).await, ["a", "b", "c"]);
    scene
        .commit(2, vec![step(2, vec![wait_expired("b")])])
        .await;
    marks.push(mark().await);
    assert_eq!(scene.waits(open_waits(100)).await, ["a", "c"]);
    let answer = DeliveryBody::Answer {
        answer: granted(),
        wait: WaitId::parse("a").expect("a valid id"),
    };
    scene.deliver("d", "ann", answer).await;
    marks.push(mark().await);
    assert_eq!(scene.waits(open_waits(100)).await, ["c"]);
    // Each change is noticed, and nothing else.
    assert_eq!(marks.last(), Some(&mark().await));
    let opened = approval_opened("d", DEADLINE);
    scene.commit(3, vec![step(3, vec![opened])]).await;
    marks.push(mark().await);
    for (nth, mark) in marks.iter().enumerate() {
        assert!(
            !marks.iter().take(nth).any(|earlier| earlier == mark),
            "{marks:?}"
        );
    }
}

pub(super) async fn open_waits_are_the_oldest_of_one_session_or_of_all<H: JournalHarness>() {
    let asked = vec![
        approval_opened("z", DEADLINE),
        approval_opened("y", DEADLINE),
    ];
    let scene = JournalScene::<H>::with_calls(&["z", "y"], asked).await;
    let beside = scene.other_session("beside").await;
    let asked = step(0, vec![approval_opened("x", DEADLINE)]);
    scene.commit_to(&beside, 0, vec![asked]).await;
    let of = |limit, session| WaitQuery {
        session,
        ..open_waits(limit)
    };
    assert_eq!(scene.waits(of(9, None)).await, ["z", "y", "x"]);
    assert_eq!(scene.waits(of(2, None)).await, ["z", "y"]);
    let here = || Some(scene.session.clone());
    assert_eq!(scene.waits(of(9, here())).await, ["z", "y"]);
    assert_eq!(scene.waits(of(1, here())).await, ["z"]);
    assert_eq!(scene.waits(of(9, Some(session("nowhere")))).await, [""; 0]);
    // A list goes on after any wait of it.
    let all = scene.journal.waits(&open_waits(9)).await.expect("a list");
    for (nth, listed) in all.iter().enumerate() {
        let later = |query| WaitQuery {
            after: listed.number,
            ..query
        };
        let expected = all.iter().map(|listed| listed.row.wait.id.to_string());
        let expected: Vec<String> = expected.skip(nth + 1).collect();
        assert_eq!(scene.waits(later(open_waits(9))).await, expected);
        let of_session = scene.waits(later(of(9, here()))).await;
        assert!(expected.starts_with(&of_session), "{of_session:?}");
    }
}

pub(super) async fn waits_are_found_by_their_ids<H: JournalHarness>() {
    let asked = ["wait_ab", "wait_ac", "wait_b"].map(|id| approval_opened(id, DEADLINE));
    let scene = JournalScene::<H>::with_calls(&["a", "b", "c"], asked.to_vec()).await;
    let beside = scene.other_session("beside").await;
    let asked = step(0, vec![approval_opened("wait_b", DEADLINE)]);
    scene.commit_to(&beside, 0, vec![asked]).await;
    let found = async |id: &str| {
        let query = WaitQuery {
            id: Some(id.into()),
            ..open_waits(9)
        };
        let found = scene.journal.waits(&query).await.expect("a list");
        let found = found.into_iter();
        found
            .map(|listed| format!("{} {}", listed.session, listed.row.wait.id))
            .collect::<Vec<String>>()
    };
    assert_eq!(found("wait_ab").await, ["contract wait_ab"]);
    let both = ["contract wait_ab", "contract wait_ac"];
    assert_eq!(found("wait_a").await, both);
    assert_eq!(found("wait_b").await, ["contract wait_b", "beside wait_b"]);
    for nothing in ["ait", "wait_abc", "wait_a%", "wait_a\u{10ffff}"] {
        assert_eq!(found(nothing).await, [""; 0], "{nothing}");
    }
    // A closed one is found as well, after those that are open.
    let closed = step(2, vec![wait_expired("wait_ab"), wait_expired("wait_b")]);
    scene.commit(2, vec![closed]).await;
    assert_eq!(found("wait_ab").await, ["contract wait_ab"]);
    assert_eq!(
        found("wait_a").await,
        ["contract wait_ac", "contract wait_ab"]
    );
    assert_eq!(found("wait_b").await, ["beside wait_b", "contract wait_b"]);
}

pub(super) async fn waits_are_listed_by_principal<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    // Before the first caller, a session belongs to no principal.
    let asked = vec![approval_opened("nobodys", DEADLINE)];
    scene.commit(0, vec![step(0, asked)]).await;
    for (name, principal) in [("a", "ann"), ("b", "bob"), ("c", "ann/x"), ("d", "anna")] {
        let other = scene.other_session(name).await;
        let caller = caller(principal, "body", None);
        let opened = turn_opened_for(&other.session, 1, caller);
        let asked = step(0, vec![opened, approval_opened(name, DEADLINE)]);
        scene.commit_to(&other, 0, vec![asked]).await;
    }
    for (principal, expected) in [
        ("ann", vec!["nobodys", "a", "c"]),
        ("ann/x", vec!["nobodys", "c"]),
        ("bob", vec!["nobodys", "b"]),
        ("an", vec!["nobodys"]),
    ] {
        let query = || WaitQuery {
            principal: Some(principal.into()),
            ..open_waits(9)
        };
        assert_eq!(scene.waits(query()).await, expected, "{principal}");
        let by_id = WaitQuery {
            id: Some("".into()),
            ..query()
        };
        assert_eq!(scene.waits(by_id).await, expected, "{principal}");
    }
    let all = scene.journal.waits(&open_waits(9)).await.expect("a list");
    let owners = all.iter().map(|listed| listed.principal.as_deref());
    let owners: Vec<_> = owners.collect();
    let expected = [None, Some("ann"), Some("bob"), Some("ann/x"), Some("anna")];
    assert_eq!(owners, expected);
}

/// The open waits of all sessions.
fn open_waits(limit: usize) -> WaitQuery {
    WaitQuery {
        limit,
        ..WaitQuery::default()
    }
}

/// This many seconds after the start.
fn later(seconds: i64) -> WallTime {
    WallTime::from_millis(START.as_millis() + seconds * 1000)
}
