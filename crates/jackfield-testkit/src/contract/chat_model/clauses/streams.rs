//! Clauses about the delivery of a reply's bytes. For adapters that do not stream, the reply is one piece.

use jackfield_domain::delta::Delta;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};

use super::super::bench::{Bench, WatchedSink};
use super::super::{
    ChatModelHarness, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, VendorReply, WireReply,
};
use tokio::time::timeout;

use crate::server::{Framing, Gate, TIME_LIMIT};

pub(in super::super) async fn any_chunking_gives_the_same_reply<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&everything(harness));
    let whole = bench.call(wire.response()).await.reply();
    for framing in [
        Framing::Chunked,
        Framing::CloseDelimited,
        Framing::ContentLength,
    ] {
        for size in [1, 2, 3, 5, 7, 13, 64, 1_000, usize::MAX] {
            let response = wire.response().framed(framing).split_sends(size);
            let reply = bench.call(response).await.reply();
            assert_eq!(reply, whole, "{framing:?} in pieces of {size} bytes");
        }
    }
}

pub(in super::super) async fn a_cut_at_every_byte_gives_the_same_reply<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&everything(harness));
    let whole = bench.call(wire.response()).await.reply();
    for place in 1..wire.pieces.concat().len() {
        let reply = bench.call(wire.cut_in_two(place)).await.reply();
        assert_eq!(reply, whole, "cut at byte {place}");
    }
}

pub(in super::super) async fn a_server_that_is_alive_is_not_silent<H: ChatModelHarness>(
    harness: &H,
) {
    if !harness.capabilities().streaming {
        return;
    }
    let (bench, gate) = (Bench::new(harness).await, Gate::new());
    let wire = bench.render(&VendorReply::text(WORDS));
    let half = wire.pieces.first().map_or(0, |piece| piece.len() / 2);
    bench.answer(wire.held_at(half, &gate));
    let (request, mut sink) = (bench.request(), WatchedSink::new());
    let (deltas, mut lives) = (sink.deltas.subscribe(), sink.lives.subscribe());
    let heard = async {
        let heard = timeout(TIME_LIMIT, lives.wait_for(|lives| *lives > 0)).await;
        assert!(
            heard.is_ok_and(|heard| heard.is_ok()),
            "it seems to be silent"
        );
        assert_eq!(deltas.borrow().len(), 0, "half a piece is none");
        gate.open();
    };
    let (replied, ()) = tokio::join!(bench.call_into(&request, &mut sink), heard);
    assert!(replied.is_ok(), "{replied:?}");
}

pub(in super::super) async fn broken_stream_is_interrupted_mid_reply<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(WORDS));
    for count in 0..wire.ending {
        let response = wire.first_pieces(count).cut_off();
        let failure = bench.call(response).await.failure();
        assert_eq!(
            failure.kind,
            ModelFailureKind::Interrupted,
            "after piece {count}"
        );
        assert_ne!(failure.advice, RetryAdvice::Never, "after piece {count}");
        if sends_words_before(harness, &wire, count) {
            assert_eq!(failure.phase, Phase::MidReply, "after piece {count}");
        }
    }
}

pub(in super::super) async fn ending_without_finish_is_an_error<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&everything(harness));
    let length = wire.length_to_ending();
    // Testing every place would be slow for a long reply; these are spread over all of it.
    let step = (length / 48).max(1);
    let places = (0..length).step_by(step).chain([length - 2, length - 1]);
    for place in places {
        for framing in [Framing::Chunked, Framing::CloseDelimited] {
            // The body ends here with a regular close.
            let mut response = wire.response().framed(framing).cut_at(place);
            response.steps.pop();
            let failure = bench.call(response).await.failure();
            let kind = failure.kind;
            let broken =
                !harness.capabilities().streaming && kind == ModelFailureKind::ProtocolViolation;
            assert!(
                broken || kind == ModelFailureKind::Interrupted,
                "{failure:?} at byte {place} of {length}, {framing:?}"
            );
        }
    }
}

pub(in super::super) async fn slow_stream_is_not_an_error<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(WORDS));
    let gates: Vec<Gate> = wire.pieces.iter().map(|_| Gate::new()).collect();
    let steps = wire.pieces.iter().zip(&gates);
    let response = steps.fold(wire.head(), |response, (piece, gate)| {
        response.pause(gate).send(piece.clone())
    });
    bench.answer(response);
    let mut sink = WatchedSink::new();
    let mut pushed = sink.deltas.subscribe();
    let last = wire.ending - 1;
    let sent = wire.words_in_first(last, WORDS);
    let open = async {
        for (place, gate) in gates.iter().enumerate() {
            gate.reached().await;
            if place == last && harness.capabilities().streaming {
                // What was sent by now must be pushed before anything else; the last event may have words of its own.
                let all = pushed.wait_for(|deltas| text(deltas).starts_with(&sent));
                assert!(
                    timeout(TIME_LIMIT, all).await.is_ok(),
                    "{sent:?} was sent, and not pushed before the stream went on"
                );
            }
            gate.open();
        }
    };
    let request = bench.request();
    let call = bench.call_into(&request, &mut sink);
    tokio::pin!(call, open);
    // A call that ends too early says why; waiting for it in vain would not.
    let result = tokio::select! {
        result = &mut call => result,
        () = &mut open => call.await,
    };
    assert!(result.is_ok(), "{result:?}");
    assert!(
        gates.iter().take(wire.ending).all(Gate::is_reached),
        "the call ended before its reply"
    );
}

pub(in super::super) async fn mid_stream_error_event_is_classified<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(WORDS));
    let mut has_failed = false;
    for (scripted, kind, again) in [
        (
            ScriptedFailureKind::Overloaded,
            ModelFailureKind::Overloaded,
            true,
        ),
        (
            ScriptedFailureKind::InvalidRequest,
            ModelFailureKind::InvalidRequest,
            false,
        ),
    ] {
        let Some(event) = harness.render_failure_event(&ScriptedFailure::new(scripted)) else {
            continue;
        };
        has_failed = true;
        for place in 0..wire.ending {
            let response = wire
                .with_piece(place, event.clone())
                .first_pieces(place + 1);
            let failure = bench.call(response).await.failure();
            assert_eq!(failure.kind, kind, "before piece {place}: {failure:?}");
            assert_eq!(failure.advice != RetryAdvice::Never, again, "{failure:?}");
            if sends_words_before(harness, &wire, place) {
                assert_eq!(failure.phase, Phase::MidReply, "{failure:?}");
            }
        }
    }
    assert!(
        has_failed || !harness.capabilities().streaming,
        "a vendor that never tells failures inside of a stream is an exception, with that reason"
    );
}

pub(in super::super) async fn unknown_events_are_ignored<H: ChatModelHarness>(harness: &H) {
    let events = harness.unknown_events();
    assert!(
        events.iter().any(|event| !event.trim_ascii().is_empty())
            || !harness.capabilities().streaming,
        "an adapter that streams has to live with events that nobody knows"
    );
    let bench = Bench::new(harness).await;
    let wire = bench.render(&everything(harness));
    let whole = bench.call(wire.response()).await.reply();
    for event in events {
        for place in 0..=wire.pieces.len() {
            let response = wire.with_piece(place, event.clone()).response();
            let reply = bench.call(response).await.reply();
            assert_eq!(reply, whole, "{event:?} before piece {place}");
        }
    }
}

pub(in super::super) async fn broken_events_are_a_protocol_violation<H: ChatModelHarness>(
    harness: &H,
) {
    let Some(event) = harness.broken_event() else {
        assert!(
            !harness.capabilities().streaming,
            "an adapter that streams has to find what breaks its language"
        );
        return;
    };
    let bench = Bench::new(harness).await;
    let wire = bench.render(&VendorReply::text(WORDS));
    for place in 0..wire.ending {
        let response = wire.with_piece(place, event.clone()).response();
        let failure = bench.call(response).await.failure();
        assert_eq!(
            failure.kind,
            ModelFailureKind::ProtocolViolation,
            "before piece {place}: {failure:?}"
        );
        assert_eq!(failure.advice, RetryAdvice::Never, "{failure:?}");
    }
}

/// Whether a stream has words before this piece, so that some of its reply has been pushed by then.
fn sends_words_before<H: ChatModelHarness>(harness: &H, wire: &WireReply, place: usize) -> bool {
    harness.capabilities().streaming && !wire.words_in_first(place, WORDS).is_empty()
}

/// Words that stand in no other part of a stream.
const WORDS: &[&str] = &["Oslo, ", "Bergen, ", "Voss"];

/// Text, and calls if supported, with characters that a cut can split.
fn everything<H: ChatModelHarness>(harness: &H) -> VendorReply {
    let mut blocks = vec![ScriptedBlock::text(&[
        "Ø",
        "slo: −3 °C 🌨",
        "\r\n\n",
        "done",
    ])];
    if harness.capabilities().tools {
        let city = ["{\"city\":", "\"Tromsø 🌨\"}"];
        blocks.push(ScriptedBlock::call("call_1", "weather", &city));
    }
    if harness.capabilities().parallel_calls {
        blocks.push(ScriptedBlock::call("call_2", "clock", &[]));
    }
    VendorReply::from_blocks(blocks)
}

/// The text in the deltas of a reply.
fn text(deltas: &[Delta]) -> String {
    let mut words = String::new();
    for delta in deltas {
        if let Delta::TextAppended { text, .. } = delta {
            words.push_str(text);
        }
    }
    words
}
