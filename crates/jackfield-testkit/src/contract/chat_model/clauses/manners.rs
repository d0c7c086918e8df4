//! Clauses about the manners in which servers send the same reply.

use std::collections::BTreeSet;

use jackfield_domain::reply::FinishReason;

use super::super::bench::Bench;
use super::super::reply_meaning::ReplyMeaning;
use super::super::{BlockKind, ChatModelHarness, Manner, ScriptedBlock, VendorReply, WireReply};
use super::scripts::{for_manner, with_calls};

pub(in super::super) async fn every_manner_is_rendered_or_said_to_be_impossible<
    H: ChatModelHarness,
>(
    harness: &H,
) {
    let mut named = BTreeSet::new();
    for (manner, reason) in harness.impossible() {
        assert!(!reason.trim().is_empty(), "{manner:?} has no reason");
        assert!(*manner != Manner::Usual, "the usual manner is possible");
        assert!(named.insert(manner), "{manner:?} is named twice");
    }
    let mut named = BTreeSet::new();
    for (kind, reason) in harness.never_sends() {
        assert!(!reason.trim().is_empty(), "{kind:?} has no reason");
        assert!(named.insert(kind), "{kind:?} is named twice");
    }
    let bench = Bench::new(harness).await;
    let mut nothing_given = Vec::new();
    let mut known: Vec<(&Manner, Vec<WireReply>)> = Vec::new();
    for manner in Manner::HOSTILE {
        let calls: Option<Vec<WireReply>> = with_calls(harness)
            .into_iter()
            .map(|one| harness.render(&one.with_manner(*manner)))
            .collect();
        if let Some(calls) = calls.filter(|calls| {
            let usual = as_usual(&bench, with_calls(harness));
            *calls != usual
        }) {
            let same = known.iter().find(|(_, wires)| *wires == calls);
            assert!(
                same.is_none(),
                "{manner:?} looks like {:?} on the wire: render what each names, or name one in `impossible`",
                same.map(|(other, _)| other)
            );
            known.push((manner, calls));
        }
        let scripts = for_manner(harness, *manner);
        let sent: Option<Vec<WireReply>> = scripts
            .iter()
            .map(|one| bench.render_if_possible(one))
            .collect();
        if sent.is_none_or(|sent| sent.is_empty() || sent != as_usual(&bench, scripts)) {
            continue;
        }
        let one_is_usual = [
            Manner::ArgumentsEmpty,
            Manner::ArgumentsMissing,
            Manner::ArgumentsNull,
        ];
        assert!(
            one_is_usual.contains(manner),
            "{manner:?} looks like the usual manner on the wire: render what it names, or name it in \
             `impossible` and render `None`"
        );
        nothing_given.push(manner);
    }
    assert!(
        nothing_given.len() < 2,
        "{nothing_given:?} look the same on the wire"
    );
    for (kind, block) in [
        (
            BlockKind::CustomCall,
            ScriptedBlock::custom("call_1", "note", &["a b"]),
        ),
        (
            BlockKind::Reasoning,
            ScriptedBlock::reasoning(&["Hm."], "state"),
        ),
        (BlockKind::Refusal, ScriptedBlock::refusal(&["No."])),
    ] {
        let _checked = bench
            .with_block(kind, &VendorReply::from_blocks(vec![block]))
            .is_some();
    }
}

pub(in super::super) async fn arguments_in_any_manner_are_the_same<H: ChatModelHarness>(
    harness: &H,
) {
    let manners = [
        Manner::ArgumentsAsObject,
        Manner::ArgumentsAtEnd,
        Manner::ArgumentsAtOnce,
        Manner::ArgumentsCumulative,
        Manner::ArgumentsEmpty,
        Manner::ArgumentsInterleaved,
        Manner::ArgumentsMissing,
        Manner::ArgumentsNull,
    ];
    check_manners(harness, &manners, |said| said).await;
}

pub(in super::super) async fn calls_in_one_piece_are_all_taken<H: ChatModelHarness>(harness: &H) {
    check_manners(harness, &[Manner::CallsInOnePiece], |said| said).await;
}

pub(in super::super) async fn calls_in_any_numbering_are_kept_apart<H: ChatModelHarness>(
    harness: &H,
) {
    let manners = [
        Manner::IndexMissing,
        Manner::IndexNegative,
        Manner::IndexOneBased,
        Manner::IndexReused,
    ];
    check_manners(harness, &manners, |said| said).await;
}

pub(in super::super) async fn calls_count_whatever_the_finish_reason_says<H: ChatModelHarness>(
    harness: &H,
) {
    // The tool loop only looks at the calls; an adapter may report either finish reason.
    check_manners(harness, &[Manner::FinishSaysStop], |mut said| {
        if said.finish == FinishReason::Stop {
            said.finish = FinishReason::ToolCalls;
        }
        said
    })
    .await;
}

pub(in super::super) async fn names_in_any_manner_come_whole_and_once<H: ChatModelHarness>(
    harness: &H,
) {
    let manners = [
        Manner::LaterIdAndNameEmpty,
        Manner::NameLate,
        Manner::NameRepeated,
    ];
    check_manners(harness, &manners, |said| said).await;
}

pub(in super::super) async fn fields_that_say_nothing_change_nothing<H: ChatModelHarness>(
    harness: &H,
) {
    let manners = [
        Manner::NullsForNothing,
        Manner::RoleMissing,
        Manner::RoleRepeated,
    ];
    check_manners(harness, &manners, |said| said).await;
}

pub(in super::super) async fn a_missing_end_marker_loses_nothing<H: ChatModelHarness>(harness: &H) {
    check_manners(harness, &[Manner::EndMarkerMissing], |said| said).await;
}

pub(in super::super) async fn a_reply_that_is_not_streamed_is_told_the_same<H: ChatModelHarness>(
    harness: &H,
) {
    check_manners(harness, &[Manner::NotStreamed], |said| said).await;
}

pub(in super::super) async fn usage_in_any_manner_is_counted_once<H: ChatModelHarness>(
    harness: &H,
) {
    check_manners(
        harness,
        &[Manner::UsageApart, Manner::UsageInEachPiece],
        |said| said,
    )
    .await;
    let bench = Bench::new(harness).await;
    for script in for_manner(harness, Manner::UsageMissing) {
        let Some(wire) = bench.render_if_possible(&script) else {
            return;
        };
        let said = ReplyMeaning::from_reply(&bench.call(wire.response()).await.reply());
        assert_eq!(
            said,
            ReplyMeaning::from_script(&script).with_usage(None),
            "{script:?}"
        );
    }
}

pub(in super::super) async fn a_reply_cut_at_any_event_is_an_error_or_whole<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let manners = Manner::HOSTILE.iter().chain(&[Manner::Usual]);
    for script in manners.flat_map(|manner| for_manner(harness, *manner).into_iter().take(4)) {
        let Some(wire) = bench.render_if_possible(&script) else {
            continue;
        };
        let whole = bench.call(wire.response()).await.reply();
        // Usage may be lost with the end of a reply; its content may not.
        let whole = ReplyMeaning::from_reply(&whole).with_usage(None);
        for count in 0..wire.pieces.len() {
            let asked = bench.call(wire.first_pieces(count)).await;
            if asked.result.is_ok() {
                let said = ReplyMeaning::from_reply(&asked.reply()).with_usage(None);
                assert_eq!(said, whole, "after piece {count} of {script:?}");
            } else {
                let _failure = asked.failure();
            }
        }
    }
}

/// Checks that replies in these manners have the scripted meaning.
async fn check_manners<H: ChatModelHarness>(
    harness: &H,
    manners: &[Manner],
    normalize: impl Fn(ReplyMeaning) -> ReplyMeaning,
) {
    let bench = Bench::new(harness).await;
    for manner in manners {
        for script in for_manner(harness, *manner) {
            let Some(wire) = bench.render_if_possible(&script) else {
                break;
            };
            let meaning = ReplyMeaning::from_reply(&bench.call(wire.response()).await.reply());
            assert_eq!(
                normalize(meaning),
                ReplyMeaning::from_script(&script),
                "{script:?}"
            );
        }
    }
}

/// The same replies in the usual manner.
fn as_usual<H: ChatModelHarness>(
    bench: &Bench<'_, H>,
    scripts: Vec<VendorReply>,
) -> Vec<WireReply> {
    let usual = scripts
        .into_iter()
        .map(|one| one.with_manner(Manner::Usual));
    usual.map(|one| bench.render(&one)).collect()
}
