//! Unheard: turns that end because nobody listens to them.

use std::time::Duration;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::Disconnect;
use jackfield_ports::journal::Journal as _;
use jackfield_testkit::fakes::{Gate, ScriptedReply};

use crate::harness::{named, request, scene, to_the_end};

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_because_nobody_listened_is_tried_again_if_nothing_was_said() {
    for (key, by_somebody) in [
        (None, false),
        (Some("k"), false),
        (None, true),
        (Some("k"), true),
    ] {
        let (gate, session) = (Gate::new(), named("one"));
        let scene = scene([ScriptedReply::text("lost").held_at(&gate)]);
        let mut begun = scene.begin("one", "a", key).await;
        gate.reached().await;
        let turn = begun.turn.clone();
        if by_somebody {
            let id = DeliveryId::parse("by-somebody").expect("a valid id");
            let body = DeliveryBody::Cancel {
                cause: CancelCause::Asked,
                turn: turn.clone(),
            };
            let delivered = scene.engine.deliver(&session, id, "somebody", body);
            delivered.await.expect("cancelled");
        } else {
            let disconnect = Disconnect::Cancel(Duration::ZERO);
            let other = scene.engine.subscribe(&session, &turn, 0, disconnect);
            let other = other.await.expect("attended");
            drop(begun.connection);
            drop(other.connection);
        }
        let (_, end) = to_the_end(&mut begun.watcher).await;
        assert!(matches!(end, TurnEnd::Cancelled(_)), "{end:?}");
        let owed = scene.owed(&request("a", "hi", key, true)).await;
        assert_eq!(owed, by_somebody.then(|| "one".to_owned()), "{key:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_ends_in_order_knows_of_every_answer_that_it_was_written() {
    let scene = scene([ScriptedReply::text("hello")]);
    let mut begun = scene.begin("one", "a", None).await;
    to_the_end(&mut begun.watcher).await;
    begun.connection.mark_written();
    scene.engine.flush_receipts().await;
    let loaded = scene.journal.load(&named("one")).await;
    let deliveries = loaded.expect("a session").deliveries;
    let written = DeliveryBody::Written {
        segment: 0,
        turn: begun.turn,
    };
    assert!(
        deliveries.iter().any(|delivery| delivery.body == written),
        "{deliveries:?}"
    );
}
