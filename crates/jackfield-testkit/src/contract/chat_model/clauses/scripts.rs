//! The replies for the clauses about manners.

use super::super::{ChatModelHarness, Manner, ScriptedBlock, VendorReply};

/// Replies with calls: several at once if the adapter supports it, in pieces, whole, equal, and without arguments;
/// none for an adapter without tools.
pub(super) fn with_calls<H: ChatModelHarness>(harness: &H) -> Vec<VendorReply> {
    let can = harness.capabilities();
    if !can.tools {
        return Vec::new();
    }
    let words = || ScriptedBlock::text(&["I shall ", "look."]);
    let in_pieces = |id, city| {
        let city = format!("y\":\"{city} 🌨\"");
        ScriptedBlock::call(id, "weather", &["{\"cit", &city, "}"])
    };
    let whole = |id| ScriptedBlock::call(id, "weather", &[r#"{"city":"Oslo"}"#]);
    let bare = |id| ScriptedBlock::call(id, "clock", &[]);
    let one = [
        vec![words(), in_pieces("call_1", "Oslo")],
        vec![whole("call_1")],
        vec![bare("call_1")],
    ];
    let several = [
        vec![
            words(),
            in_pieces("call_1", "Tromsø"),
            in_pieces("call_2", "Oslo"),
            ScriptedBlock::call("call_3", "clock", &["{\"city\":", "\"Bergen\"", "}"]),
        ],
        vec![whole("call_1"), whole("call_2")],
        vec![bare("call_1"), whole("call_2"), bare("call_3")],
    ];
    let several = several.into_iter().filter(|_| can.parallel_calls);
    one.into_iter()
        .chain(several)
        .map(VendorReply::from_blocks)
        .collect()
}

/// The replies for this manner; none if it concerns a capability that the adapter does not declare.
pub(super) fn for_manner<H: ChatModelHarness>(harness: &H, manner: Manner) -> Vec<VendorReply> {
    let can = harness.capabilities();
    let (calls, several, streams) = match manner {
        Manner::ArgumentsInterleaved => (true, true, true),
        Manner::CallsInOnePiece | Manner::IdSame | Manner::IndexReused => (true, true, false),
        Manner::ArgumentsAtEnd
        | Manner::ArgumentsAtOnce
        | Manner::ArgumentsCumulative
        | Manner::LaterIdAndNameEmpty => (true, false, true),
        Manner::ArgumentsAsObject
        | Manner::ArgumentsEmpty
        | Manner::ArgumentsMissing
        | Manner::ArgumentsNull
        | Manner::FinishSaysStop
        | Manner::IdEmpty
        | Manner::IdMissing
        | Manner::IndexMissing
        | Manner::IndexNegative
        | Manner::IndexOneBased
        | Manner::NameLate
        | Manner::NameRepeated => (true, false, false),
        Manner::EndMarkerMissing
        | Manner::NotStreamed
        | Manner::RoleRepeated
        | Manner::UsageApart
        | Manner::UsageInEachPiece => (false, false, true),
        Manner::NullsForNothing | Manner::RoleMissing | Manner::UsageMissing | Manner::Usual => {
            (false, false, false)
        }
    };
    if several && !can.parallel_calls || streams && !can.streaming || calls && !can.tools {
        return Vec::new();
    }
    let mut scripts = with_calls(harness);
    if !calls {
        scripts.push(VendorReply::text(&["one ", "two ", "three"]));
    }
    scripts
        .into_iter()
        .map(|one| one.with_manner(manner))
        .collect()
}
