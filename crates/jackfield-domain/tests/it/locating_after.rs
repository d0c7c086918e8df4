//! Going on from a reply that the client names.

use std::sync::Arc;

use jackfield_domain::block::Content;
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::fact::{Envelope, InputKind};
use jackfield_domain::ids::{ForkPlace, SessionId, ToolCallId, TurnId};
use jackfield_domain::limits::Limits;
use jackfield_domain::locate::{Located, ResultsRefused, SessionIndex, locate_after};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::wait::Answer;

use crate::scene::{Scene, answer, calls, passes, says};
use crate::world::setup;

fn of(principal: &str) -> Setup {
    let caller = Caller {
        body: None,
        dialect: "openai-responses".into(),
        display: Display::default(),
        echo: None,
        key: None,
        model: "m".into(),
        principal: principal.into(),
        view: None,
    };
    Setup {
        caller: Some(Arc::new(caller)),
        ..setup(Limits::default())
    }
}

fn known(scene: &Scene) -> SessionIndex {
    let steps = scene.facts.iter().zip(0..).map(|(fact, step)| Envelope {
        facts: vec![fact.clone()],
        input: InputKind::Began,
        now: Now {
            mono: MonoTime::from_start(std::time::Duration::ZERO),
            wall: WallTime::from_millis(0),
        },
        step,
        version: 1,
    });
    let steps: Vec<Envelope> = steps.collect();
    SessionIndex::from_steps(session(scene), &steps)
}

fn session(scene: &Scene) -> SessionId {
    scene.machine.session().clone()
}

fn turn(scene: &Scene) -> TurnId {
    scene.machine.turn().id().clone()
}

fn brings(call: &ToolCallId, text: &str) -> Message {
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: call.clone(),
        opaque: Vec::new(),
        result: ToolResult::text(text),
    }));
    Message::new(Role::Tool, vec![outcome.into()])
}

fn after(scene: &Scene, turn: &TurnId, segment: u32, new: &[Message]) -> Option<Located> {
    locate_after("ann", turn, segment, new, &known(scene))
}

#[test]
fn what_follows_the_last_reply_goes_on_there_and_what_follows_another_forks() {
    let (mut scene, _) = Scene::begin(Arc::new(of("ann")));
    let new = [Message::user("and?")];
    let first = turn(&scene);
    let here = || Located::Continue {
        known_messages: 0,
        session: session(&scene),
    };
    // At work: the same session, which says so.
    assert_eq!(after(&scene, &first, 0, &new), Some(here()));
    drop(scene.play(says("hello")));
    let continued = Some(Located::Continue {
        known_messages: 0,
        session: session(&scene),
    });
    assert_eq!(after(&scene, &first, 0, &new), continued);
    let more = Opening::UserMessage(Arc::new(Message::user("more")));
    let (mut scene, _) = scene.next_turn(more, of("ann"));
    drop(scene.play(says("again")));
    let forks = Some(Located::Fork {
        at: ForkPlace {
            ordinal: 1,
            round: None,
            turn: first.clone(),
        },
        known_messages: 0,
        session: session(&scene),
    });
    assert_eq!(after(&scene, &first, 0, &new), forks);
    let second = turn(&scene);
    assert_eq!(after(&scene, &second, 0, &new), continued);
    // Neither a reply that there is not, nor somebody else's.
    assert_eq!(after(&scene, &first, 1, &new), None);
    let other = TurnId::parse("turn_other").expect("an id");
    assert_eq!(after(&scene, &other, 0, &new), None);
    assert_eq!(locate_after("bob", &second, 0, &new, &known(&scene)), None);
}

#[test]
fn a_reply_that_asked_the_client_wants_its_results() {
    let (mut scene, _) = Scene::begin(Arc::new(of("ann")));
    drop(scene.play(calls(&["client"])));
    let (id, call) = (turn(&scene), scene.call_named("client"));
    let missing = Some(Located::Refused(ResultsRefused::Missing {
        calls: vec![call.clone()],
    }));
    let new = [Message::user("and?")];
    assert_eq!(after(&scene, &id, 0, &new), missing);
    let results = [brings(&call, "mine")];
    assert!(matches!(
        after(&scene, &id, 0, &results),
        Some(Located::Answer { .. })
    ));
    let unknown = ToolCallId::parse("call_other").expect("an id");
    assert_eq!(
        after(
            &scene,
            &id,
            0,
            &[brings(&call, "mine"), brings(&unknown, "?")]
        ),
        Some(Located::Refused(ResultsRefused::Unknown { call: unknown }))
    );
    let mine = Answer::ClientResult(ToolResult::text("mine").into());
    drop(scene.play(answer("client", mine)));
    drop(scene.play(says("done")));
    // It was answered: another message does not follow it, but the reply that came of that.
    assert_eq!(after(&scene, &id, 0, &new), missing);
    assert!(matches!(
        after(&scene, &id, 1, &new),
        Some(Located::Continue {
            known_messages: 0,
            ..
        })
    ));
    assert!(matches!(
        after(&scene, &id, 0, &results),
        Some(Located::Collect { segment: 1, .. })
    ));
    assert!(matches!(
        after(&scene, &id, 0, &[brings(&call, "other")]),
        Some(Located::Refused(ResultsRefused::Conflict { .. }))
    ));
}

#[test]
fn a_reply_whose_calls_have_expired_can_be_followed() {
    let (mut scene, _) = Scene::begin(Arc::new(of("ann")));
    drop(scene.play(calls(&["client"])));
    drop(scene.play(passes(120_000)));
    let id = turn(&scene);
    assert!(matches!(
        after(&scene, &id, 0, &[Message::user("and?")]),
        Some(Located::Continue {
            known_messages: 0,
            ..
        })
    ));
}
