//! Clauses about finding turns, and about deliveries for information only.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, ToolAttempt, ToolCallId, TurnId};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::{Append, AppendRefusal, Journal};

use super::scene::{DEADLINE, JournalScene, cancel, resumed_step, step};
use super::story::{
    approval_opened, client_wait_opened, reply_received, turn, turn_ended, turn_opened,
    turn_opened_for, turn_resumed,
};
use super::{JournalHarness, START};

pub(super) async fn a_turn_is_found_by_its_marks<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let id = turn(&scene.session);
    let body = Mark::Body(digest("body"));
    let call = Mark::Call(ToolCallId::parse("a").expect("a valid id"));
    let key = Mark::of_key("key");
    let view = Mark::View(digest("shown"));
    let all = [Mark::Turn(id.clone()), body, key, call, view];
    assert_eq!(find(&*scene.journal, "ann", &all).await, []);
    // From the commit of the append that contains each mark.
    let opened = turn_opened_for(&scene.session, 1, caller("ann", "body", Some("key")));
    let story = [
        (vec![opened], 3),
        (
            vec![reply_received("I will.", &["a"]), client_wait_opened("a")],
            4,
        ),
        (vec![turn_ended_with_view("shown")], 5),
    ];
    for (number, (facts, count)) in (0..).zip(story) {
        scene.commit(number, vec![step(number, facts)]).await;
        let found: Vec<FoundTurn> = all
            .iter()
            .take(count)
            .map(|mark| found_turn(mark, &scene.session, &id))
            .collect();
        assert_eq!(find(&*scene.journal, "ann", &all).await, found);
    }
    // And for the next process.
    let again = scene.harness.reopened().await;
    assert_eq!(find(&*again, "ann", &all).await.len(), all.len());
}

pub(super) async fn nothing_is_found_of_another_principal<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let beside = scene.other_session("beside").await;
    let opened = |session, who| {
        step(
            0,
            vec![turn_opened_for(session, 1, caller(who, "body", None))],
        )
    };
    scene.commit(0, vec![opened(&scene.session, "ann")]).await;
    scene
        .commit_to(&beside, 0, vec![opened(&beside.session, "anna")])
        .await;
    let (ours, theirs) = (turn(&scene.session), turn(&beside.session));
    let body = Mark::Body(digest("body"));
    for (who, session, its) in [
        ("ann", &scene.session, &ours),
        ("anna", &beside.session, &theirs),
    ] {
        let marks = [
            body.clone(),
            Mark::Turn(ours.clone()),
            Mark::Turn(theirs.clone()),
        ];
        let found = find(&*scene.journal, who, &marks).await;
        let expected = [
            found_turn(&body, session, its),
            found_turn(&Mark::Turn(its.clone()), session, its),
        ];
        assert_eq!(found, expected);
    }
    // A turn is found by its id for any end user of the key, and by nothing else.
    let of_user = scene.other_session("of_user").await;
    scene
        .commit_to(&of_user, 0, vec![opened(&of_user.session, "ann/eve")])
        .await;
    let id = Mark::Turn(turn(&of_user.session));
    for who in ["ann", "ann/eve", "ann/adam"] {
        let found = find(&*scene.journal, who, &[id.clone(), body.clone()]).await;
        assert!(found.contains(&found_turn(&id, &of_user.session, &turn(&of_user.session))));
        let by_body = found_turn(&body, &of_user.session, &turn(&of_user.session));
        assert_eq!(found.contains(&by_body), who == "ann/eve", "{who}");
    }
    for who in ["", "an", "bob", "anna/eve"] {
        assert_eq!(
            find(&*scene.journal, who, std::slice::from_ref(&id)).await,
            []
        );
        assert_eq!(
            find(&*scene.journal, who, std::slice::from_ref(&body)).await,
            []
        );
    }
}

pub(super) async fn a_session_is_its_first_callers<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    // Before the first caller, the session belongs to no principal.
    let first = vec![turn_opened(&scene.session, 1, "Hi"), turn_ended()];
    let second = vec![
        turn_opened_for(&scene.session, 2, caller("ann", "b", None)),
        turn_ended(),
    ];
    let third = vec![
        turn_opened_for(&scene.session, 3, caller("bob", "c", None)),
        turn_ended(),
    ];
    for (number, facts) in (0..).zip([first, second, third]) {
        scene.commit(number, vec![step(number, facts)]).await;
    }
    let row = scene.row().await.expect("a row");
    assert_eq!(row.principal.as_deref(), Some("ann"));
    let nth = |ordinal| TurnId::derive(&scene.session, ordinal);
    let marks = [1, 2, 3].map(|ordinal| Mark::Turn(nth(ordinal)));
    let found =
        [2, 3].map(|ordinal| found_turn(&Mark::Turn(nth(ordinal)), &scene.session, &nth(ordinal)));
    assert_eq!(find(&*scene.journal, "ann", &marks).await, found);
    let body = Mark::Body(digest("c"));
    let by_body = [found_turn(&body, &scene.session, &nth(3))];
    assert_eq!(
        find(&*scene.journal, "ann", std::slice::from_ref(&body)).await,
        by_body
    );
    let marks = [marks.to_vec(), vec![body]].concat();
    assert_eq!(find(&*scene.journal, "bob", &marks).await, []);
}

pub(super) async fn of_each_mark_the_newest_turns_are_found_first<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let mut newest = Vec::new();
    for (name, body) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
        let beside = scene.other_session(name).await;
        let opened = turn_opened_for(&beside.session, 1, caller("ann", body, None));
        scene
            .commit_to(&beside, 0, vec![step(0, vec![opened])])
            .await;
        newest.insert(0, (Mark::Body(digest(body)), beside.session));
    }
    let marks = [Mark::Body(digest("y")), Mark::Body(digest("x"))];
    for most in 0..=4 {
        let expected: Vec<FoundTurn> = marks
            .iter()
            .flat_map(|mark| {
                let having = newest.iter().filter(move |(has, _)| has == mark);
                having.take(most)
            })
            .map(|(mark, session)| found_turn(mark, session, &turn(session)))
            .collect();
        let found = scene.journal.find("ann", &marks, most).await;
        assert_eq!(found.expect("a list"), expected, "{most} of each");
    }
}

pub(super) async fn what_was_not_written_is_not_found<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let id = turn(&scene.session);
    let mark = Mark::Turn(id.clone());
    let opened = vec![turn_opened_for(
        &scene.session,
        1,
        caller("ann", "body", None),
    )];
    let append = scene.append(1, vec![step(1, opened.clone())]);
    scene.expect(&append, Some(&AppendRefusal::Position)).await;
    assert_eq!(
        find(&*scene.journal, "ann", std::slice::from_ref(&mark)).await,
        []
    );
    // A repeated append is found once.
    let append = scene.append(0, vec![step(0, opened)]);
    for _ in 0..2 {
        scene.expect(&append, None).await;
        let found = find(&*scene.journal, "ann", std::slice::from_ref(&mark)).await;
        assert_eq!(found, [found_turn(&mark, &scene.session, &id)]);
    }
}

pub(super) async fn what_is_deleted_is_not_found<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let beside = scene.other_session("beside").await;
    let body = Mark::Body(digest("body"));
    let opened = |session| {
        step(
            0,
            vec![turn_opened_for(session, 1, caller("ann", "body", None))],
        )
    };
    scene.commit(0, vec![opened(&scene.session)]).await;
    scene
        .commit_to(&beside, 0, vec![opened(&beside.session)])
        .await;
    assert_eq!(
        find(&*scene.journal, "ann", std::slice::from_ref(&body))
            .await
            .len(),
        2
    );
    scene.release().await;
    scene.journal.delete(&scene.session).await.expect("deleted");
    let others = found_turn(&body, &beside.session, &turn(&beside.session));
    let marks = [body, Mark::Turn(turn(&scene.session))];
    assert_eq!(
        find(&*scene.journal, "ann", &marks).await,
        std::slice::from_ref(&others)
    );
    // A later session with the same name belongs to another principal.
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    let opened = step(
        0,
        vec![turn_opened_for(
            &scene.session,
            1,
            caller("bob", "body", None),
        )],
    );
    scene.commit(0, vec![opened]).await;
    assert_eq!(find(&*scene.journal, "ann", &marks).await, [others]);
    assert_eq!(find(&*scene.journal, "bob", &marks).await.len(), 2);
}

pub(super) async fn what_is_only_noted_is_not_due<H: JournalHarness>() {
    let asked = vec![approval_opened("a", DEADLINE)];
    let scene = JournalScene::<H>::with_calls(&["a"], asked).await;
    scene.release().await;
    let noted = || {
        let turn = turn(&scene.session);
        [
            (
                "late",
                DeliveryBody::Late {
                    attempt: ToolAttempt {
                        attempt: 1,
                        call: ToolCallId::parse("a").expect("a valid id"),
                    },
                    is_error: false,
                    size: 4,
                    text: "done".into(),
                },
            ),
            (
                "written",
                DeliveryBody::Written {
                    segment: 0,
                    turn: turn.clone(),
                },
            ),
            ("withdrawn", DeliveryBody::Withdrawn { turn }),
        ]
    };
    for (id, body) in noted() {
        scene.deliver(id, "ann", body).await;
        assert_eq!(scene.due(START).await, (vec![], Some(DEADLINE)));
    }
    assert_eq!(scene.load().await.deliveries.len(), 3);
    assert_eq!(scene.inbox(1).await.len(), 2);
    scene.deliver("d", "ann", cancel()).await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
    // An owner that has seen the relevant deliveries is done, regardless of later notes.
    let again = noted().map(|(id, body)| (format!("{id}-again"), body));
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    for (id, body) in again {
        scene.deliver(&id, "ann", body).await;
    }
    let append = Append {
        seen: 4,
        ..scene.append(2, vec![step(2, vec![turn_resumed(1)])])
    };
    scene.expect(&append, None).await;
    scene.release().await;
    assert_eq!(scene.due(START).await, (vec![], Some(DEADLINE)));
    // An unseen delivery among the rest is still due.
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    scene.deliver("e", "ann", cancel()).await;
    scene.commit(3, vec![resumed_step(3)]).await;
    scene.release().await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
}

/// The caller of a turn.
pub(super) fn caller(principal: &str, body: &str, key: Option<&str>) -> Caller {
    Caller {
        body: Some(digest(body)),
        dialect: "claude".into(),
        display: Display::default(),
        echo: None,
        key: key.map(Into::into),
        model: "model".into(),
        principal: principal.into(),
        view: Some(digest("brought")),
    }
}

fn turn_ended_with_view(view: &str) -> Fact {
    Fact::TurnEnded {
        end: TurnEnd::Answered(FinishReason::Stop),
        view: Some(digest(view)),
    }
}

fn found_turn(mark: &Mark, session: &SessionId, turn: &TurnId) -> FoundTurn {
    FoundTurn {
        mark: mark.clone(),
        session: session.clone(),
        turn: turn.clone(),
    }
}

async fn find(journal: &dyn Journal, principal: &str, marks: &[Mark]) -> Vec<FoundTurn> {
    journal.find(principal, marks, 9).await.expect("a list")
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}
