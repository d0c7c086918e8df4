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
    let mut faults = naming_faults(harness);
    let (mut missing, mut like_usual) = (Vec::new(), Vec::new());
    let mut seen: Vec<(Manner, Vec<WireReply>)> = Vec::new();
    let bench = Bench::new(harness).await;
    for &manner in Manner::HOSTILE {
        let scripts = for_manner(harness, manner);
        if scripts.is_empty() {
            continue;
        }
        let wires: Vec<Option<WireReply>> = scripts.iter().map(|one| harness.render(one)).collect();
        let usual = as_usual(&bench, scripts);
        let is_rendered = wires.iter().any(Option::is_some);
        let is_usual = wires
            .iter()
            .flatten()
            .zip(&usual)
            .all(|(wire, usual)| wire == usual);
        let reason = harness
            .impossible()
            .iter()
            .find(|(known, _)| *known == manner);
        if let Some((_, reason)) = reason {
            if is_rendered {
                faults.push(format!(
                    "{manner:?} is rendered, although it is said to be impossible: {reason}"
                ));
            }
        } else if harness.usual().contains(&manner) {
            if !is_usual {
                faults.push(format!(
                    "{manner:?} is said to be usual, and rendered in another form"
                ));
            }
        } else if wires.iter().any(Option::is_none) {
            missing.push(manner);
        } else if is_usual {
            like_usual.push(manner);
        }
        // Compared by the same replies.
        let calls = with_calls(harness).into_iter();
        let wires = calls.map(|one| harness.render(&one.with_manner(manner)));
        if let Some(wires) = wires.collect::<Option<Vec<WireReply>>>()
            && wires != as_usual(&bench, with_calls(harness))
        {
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == wires) {
                faults.push(format!(
                    "{manner:?} looks like {other:?} on the wire: render what each names, or name one in `impossible`"
                ));
            }
            seen.push((manner, wires));
        }
    }
    if !missing.is_empty() {
        faults.push(format!(
            "{missing:?} are neither rendered nor named: render what each names, or name it in `usual` if it is the \
             vendor's usual form, or in `impossible` with the reason"
        ));
    }
    if !like_usual.is_empty() {
        faults.push(format!(
            "{like_usual:?} look like the usual form on the wire: render what each names, or name it in `usual` if \
             that is the vendor's usual form, or in `impossible` with the reason, and render `None`"
        ));
    }
    for (kind, block) in [
        (
            BlockKind::CallWithState,
            ScriptedBlock::call("call_1", "clock", &["{}"]).with_state("st4te"),
        ),
        (
            BlockKind::CustomCall,
            ScriptedBlock::custom("call_1", "note", &["a b"]),
        ),
        (
            BlockKind::Reasoning,
            ScriptedBlock::reasoning(&["Hm."], "state"),
        ),
        (BlockKind::Refusal, ScriptedBlock::refusal(&["No."])),
        (
            BlockKind::TextWithState,
            ScriptedBlock::text(&["Yes."]).with_state("st4te"),
        ),
    ] {
        let reply = VendorReply::from_blocks(vec![block]);
        faults.extend(bench.block(kind, &reply).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with the names of manners, blocks and parts alone.
fn naming_faults<H: ChatModelHarness>(harness: &H) -> Vec<String> {
    let impossible = harness.impossible().iter();
    let usual = harness.usual().iter();
    let never_sends = harness.never_sends().iter();
    let never_takes = harness.never_takes().iter();
    let named: Vec<(String, &str)> = impossible
        .map(|(manner, reason)| (format!("{manner:?}"), *reason))
        .chain(usual.map(|manner| (format!("{manner:?}"), "usual")))
        .chain(never_sends.map(|(kind, reason)| (format!("{kind:?}"), *reason)))
        .chain(never_takes.map(|(part, reason)| (format!("{part:?}"), *reason)))
        .collect();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, reason) in named {
        if reason.trim().is_empty() {
            faults.push(format!("{name} has no reason"));
        }
        if name == "Usual" {
            faults.push("the usual manner is neither named as usual nor impossible".to_owned());
        }
        if !seen.insert(name.clone()) {
            faults.push(format!("{name} is named twice"));
        }
    }
    faults
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
            ReplyMeaning::from_script(harness, &script).with_usage(None),
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
                ReplyMeaning::from_script(harness, &script),
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
