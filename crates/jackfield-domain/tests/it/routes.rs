//! Turns of a route: which target is called after what, and why.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::limits::Limits;
use jackfield_domain::price::Money;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Setup;
use jackfield_domain::target::{BreakerSnapshot, Target};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::Catalog;
use jackfield_domain::tool_loop::{Input, Restrictions};

use crate::routing::price;
use crate::scene::{It, Scene, calls, check, fails, finishes, passes, says, text};
use crate::world::setup;

/// A route of three targets, which may pause once in a round.
fn route() -> Setup {
    let limits = Limits {
        model_retries: 1,
        ..Limits::default()
    };
    let target = |n: u32| Target {
        content_filter: false,
        first_byte: None,
        model: ModelRef {
            model: format!("model-{n}").into(),
            provider: format!("other-{n}").into(),
        },
        price: None,
        window: None,
    };
    Setup {
        fallbacks: vec![target(1), target(2)],
        route: Some("route".into()),
        ..setup(limits)
    }
}

fn failed(kind: ModelFailureKind) -> It {
    fails(ModelFailure::new(kind, Phase::BeforeFirstDelta, "a test"))
}

fn overloaded() -> It {
    failed(ModelFailureKind::Overloaded)
}

/// Breakers that are not closed, each with the seconds until it may be tried; `None` has its trial in flight.
fn breakers(not_closed: &[(u32, Option<i64>)]) -> It {
    let snapshot = |(target, seconds): &(u32, Option<i64>)| BreakerSnapshot {
        retry_at: seconds.map(|seconds| WallTime::from_millis(1_000_000 + seconds * 1_000)),
        target: *target,
    };
    It::Told(Input::BreakersSeen(
        not_closed.iter().map(snapshot).collect(),
    ))
}

const AGAIN: &str = "reply failed: Overloaded, again in 0 ms";

#[test]
fn the_next_target_is_called_at_once_and_kept_for_the_rounds_that_follow() {
    check(
        route(),
        &["to 0: Strategy", "model 1.1"],
        vec![
            (overloaded(), &[AGAIN, "to 1: Fallback", "model 1.2"]),
            (calls(&["read"]), &["run read"]),
            (finishes("read", "a"), &["read Ran: a", "model 2.1"]),
            // It fails between rounds: the first one may be called again.
            (overloaded(), &[AGAIN, "to 0: Fallback", "model 2.2"]),
            (says("here"), &["end Answered(Stop)"]),
        ],
    );
}

#[test]
fn once_all_have_failed_they_get_another_pass_after_a_pause() {
    let mut scene = check(
        route(),
        &["to 0: Strategy", "model 1.1"],
        vec![
            (overloaded(), &[AGAIN, "to 1: Fallback", "model 1.2"]),
            (
                failed(ModelFailureKind::Unauthenticated),
                &[
                    "reply failed: Unauthenticated, again in 0 ms",
                    "to 2: Fallback",
                    "model 1.3",
                ],
            ),
        ],
    );
    scene.play(overloaded());
    let pause = scene.sleep().expect("a pause");
    assert!(pause <= Duration::from_secs(1), "{pause:?}");
    scene.go_on(vec![
        (passes(1000), &["to 0: Fallback", "model 1.4"]),
        // The second has no key, and is left out.
        (overloaded(), &[AGAIN, "to 2: Fallback", "model 1.5"]),
        (
            overloaded(),
            &["reply failed: Overloaded", "end Failed(Overloaded)"],
        ),
    ]);
}

#[test]
fn a_target_whose_breaker_is_open_is_passed_over() {
    check(
        route(),
        &["to 0: Strategy", "model 1.1"],
        vec![
            (breakers(&[(1, Some(30)), (2, Some(0))]), &[]),
            // The third may be tried now.
            (overloaded(), &[AGAIN, "to 2: Fallback", "model 1.2"]),
            (calls(&["read"]), &["run read"]),
            (breakers(&[(2, Some(30))]), &[]),
            (
                finishes("read", "a"),
                &["read Ran: a", "to 0: Fallback", "model 2.1"],
            ),
        ],
    );
}

#[test]
fn the_last_target_that_is_left_is_never_blocked_and_none_follows_it() {
    check(
        Setup {
            limits: Limits {
                model_retries: 0,
                ..Limits::default()
            },
            ..route()
        },
        &["to 0: Strategy", "model 1.1"],
        vec![
            (breakers(&[(1, None), (2, Some(30))]), &[]),
            (overloaded(), &[AGAIN, "to 2: LastLeft", "model 1.2"]),
            (breakers(&[]), &[]),
            (
                overloaded(),
                &["reply failed: Overloaded", "end Failed(Overloaded)"],
            ),
        ],
    );
}

#[test]
fn a_target_that_is_too_dear_is_no_way_past_a_breaker() {
    let mut setup = route();
    setup.price = Some(price(1));
    setup.fallbacks.truncate(1);
    setup.fallbacks[0].price = Some(price(1_000));
    setup.allowance.cost = Some(Money::from_picos(200_000));
    check(
        setup,
        &["to 0: Strategy", "model 1.1"],
        vec![
            (calls(&["read"]), &["run read"]),
            (breakers(&[(0, Some(30))]), &[]),
            (
                finishes("read", "a"),
                &["read Ran: a", "to 0: LastLeft", "model 2.1"],
            ),
        ],
    );
}

#[test]
fn a_conversation_stays_where_it_was() {
    let setup = Setup {
        affinity: Some(2),
        ..route()
    };
    check(
        setup,
        &["to 2: Affinity", "model 1.1"],
        vec![(overloaded(), &[AGAIN, "to 0: Fallback", "model 1.2"])],
    );
}

/// The targets of a provider have one key: no other one of them is asked with it.
#[test]
fn a_refused_key_leaves_out_all_targets_of_its_provider() {
    let mut setup = route();
    setup.fallbacks[1].model.provider = Arc::clone(&setup.fallbacks[0].model.provider);
    let mut scene = check(
        setup,
        &["to 0: Strategy", "model 1.1"],
        vec![(overloaded(), &[AGAIN, "to 1: Fallback", "model 1.2"])],
    );
    scene.play(failed(ModelFailureKind::Unauthenticated));
    assert!(scene.sleep().is_some(), "only the first one is left");
    scene.go_on(vec![
        (passes(1000), &["to 0: Fallback", "model 1.3"]),
        (says("here"), &["end Answered(Stop)"]),
    ]);
}

#[test]
fn the_clients_fault_goes_nowhere_else() {
    for kind in [ModelFailureKind::InvalidRequest, ModelFailureKind::TooLarge] {
        let (mut scene, _) = Scene::begin(Arc::new(route()));
        let ends = [
            format!("reply failed: {kind:?}"),
            format!("end Failed({kind:?})"),
        ];
        assert_eq!(scene.play(failed(kind)), ends);
    }
}

#[test]
fn a_request_that_is_too_long_goes_where_more_fits() {
    let mut setup = route();
    setup.window = Some(1_000);
    setup.fallbacks[0].window = Some(1_000);
    setup.fallbacks[1].window = Some(2_000);
    let too_long = ModelFailureKind::ContextTooLong {
        limit: None,
        requested: None,
    };
    let line = format!("reply failed: {too_long:?}, again in 0 ms");
    check(
        setup,
        &["to 0: Strategy", "model 1.1"],
        vec![(
            failed(too_long),
            &[&line, "to 2: ContextTooLong", "model 1.2"],
        )],
    );
}

#[test]
fn what_a_content_filter_refuses_goes_to_its_own_list_alone() {
    let mut setup = route();
    setup.fallbacks[1].content_filter = true;
    let again = "reply failed: ContentFilter, again in 0 ms";
    check(
        setup,
        &["to 0: Strategy", "model 1.1"],
        vec![
            (
                failed(ModelFailureKind::ContentFilter),
                &[again, "to 2: ContentFilter", "model 1.2"],
            ),
            (
                failed(ModelFailureKind::ContentFilter),
                &["reply failed: ContentFilter", "end Failed(ContentFilter)"],
            ),
        ],
    );
    check(
        route(),
        &["to 0: Strategy", "model 1.1"],
        vec![(
            failed(ModelFailureKind::ContentFilter),
            &["reply failed: ContentFilter", "end Failed(ContentFilter)"],
        )],
    );
}

#[test]
fn a_target_that_is_silent_for_its_own_limit_is_given_up() {
    let mut setup = route();
    setup.first_byte = Some(Duration::from_secs(3));
    let mut scene = check(
        setup,
        &["to 0: Strategy", "model 1.1"],
        vec![
            (passes(2_999), &[]),
            (
                passes(1),
                &[
                    "reply failed: Timeout, again in 0 ms",
                    "to 1: Fallback",
                    "abort model 1.1",
                    "model 1.2",
                ],
            ),
        ],
    );
    // The second has no such limit.
    assert_eq!(scene.sleep(), Some(Duration::from_secs(120)));
    assert_eq!(scene.play(passes(3_000)), Vec::<String>::new());
}

#[test]
fn a_target_that_has_begun_has_the_time_of_any_model() {
    let mut setup = route();
    setup.first_byte = Some(Duration::from_secs(3));
    let (mut scene, _) = Scene::begin(Arc::new(setup));
    let parts = vec![crate::scene::Part::Thinking("hm")];
    scene.play(It::Replies { parts, end: None });
    assert_eq!(scene.sleep(), Some(Duration::from_secs(120)));
}

#[test]
fn no_target_follows_one_whose_tools_may_have_run() {
    let mut setup = route();
    let catalog = setup.catalog.iter().cloned().map(|mut tool| {
        if tool.definition.name.as_str() == "write" {
            tool.ran_by = RanBy::Provider;
        }
        tool
    });
    setup.catalog = Arc::new(catalog.collect::<Catalog>());
    let broken = ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, "a test");
    let (mut scene, _) = Scene::begin(Arc::new(setup.clone()));
    let lines = scene.play(fails(broken));
    assert_eq!(
        lines.last().map(String::as_str),
        Some("end Failed(Interrupted)")
    );
    // A request that was refused has run nothing.
    let (mut scene, _) = Scene::begin(Arc::new(setup));
    let lines = scene.play(overloaded());
    assert_eq!(lines, [AGAIN, "to 1: Fallback", "model 1.2"]);
}

#[test]
fn text_that_was_shown_is_taken_back_where_it_can_be() {
    let begun = || It::Replies {
        parts: vec![text("It is")],
        end: None,
    };
    let broken = || {
        let kind = ModelFailureKind::Interrupted;
        fails(ModelFailure::new(kind, Phase::MidReply, "a test"))
    };
    let (mut scene, _) = Scene::begin(Arc::new(route()));
    scene.play(begun());
    let lines = scene.play(broken());
    assert_eq!(
        lines.last().map(String::as_str),
        Some("end Interrupted(Interrupted)")
    );
    let (mut scene, _) = Scene::begin(Arc::new(Setup {
        can_supersede: true,
        ..route()
    }));
    scene.play(begun());
    let lines = scene.play(broken());
    assert_eq!(lines[1..], ["to 1: Fallback", "model 1.2"]);
}

#[test]
fn a_turn_that_was_left_between_two_targets_goes_on_at_the_second() {
    let (mut scene, _) = Scene::begin(Arc::new(route()));
    scene.play(overloaded());
    let lines = scene.play(It::Crashes(Restrictions::default()));
    assert_eq!(lines.last().map(String::as_str), Some("model 1.3"));
    assert_eq!(&*scene.machine.turn().model().model, "model-1");
    // The first has failed in this round, and is not called before the third.
    let lines = scene.play(overloaded());
    assert_eq!(lines, [AGAIN, "to 2: Fallback", "model 1.4"]);
}

#[test]
fn a_target_is_called_again_at_once_where_nothing_was_begun() {
    let at_once = || {
        fails(ModelFailure {
            advice: RetryAdvice::AtOnce,
            ..ModelFailure::new(ModelFailureKind::Transport, Phase::BeforeSend, "a test")
        })
    };
    let again = "reply failed: Transport, again in 0 ms";
    check(
        route(),
        &["to 0: Strategy", "model 1.1"],
        vec![
            (at_once(), &[again, "model 1.2"]),
            (at_once(), &[again, "model 1.3"]),
            (at_once(), &[again, "to 1: Fallback", "model 1.4"]),
        ],
    );
}
