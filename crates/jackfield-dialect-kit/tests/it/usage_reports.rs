//! What the reports of a reply come to, and what is noted of them.

use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::price::ServiceTier;
use jackfield_domain::usage::Usage;

fn used(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage {
        cache_read,
        input,
        output,
        ..Usage::default()
    }
}

/// What these reports come to, with the paths of their notes.
fn come_to(reports: &[(Usage, Option<u64>)], tier: Option<&str>) -> (Option<Usage>, Vec<String>) {
    let mut all = UsageReports::default();
    for (usage, total) in reports {
        all.add(*usage, *total);
    }
    all.tier(tier);
    let notes = all.notes().map(|note| note.path).collect();
    (all.usage(), notes)
}

#[test]
fn a_report_that_cannot_be_true_is_mended_and_noted() {
    let mended = || vec!["usage".to_owned()];
    for (reports, expected, notes) in [
        (vec![(used(10, 4, 5), Some(15))], used(10, 4, 5), vec![]),
        // More from the cache than there was.
        (vec![(used(10, 40, 5), None)], used(40, 40, 5), mended()),
        // The total includes the cached input, and the input does not; then with reasoning beside the output.
        (
            vec![(used(10, 1000, 5), Some(1015))],
            used(1010, 1000, 5),
            mended(),
        ),
        (
            vec![(used(10, 1000, 5), Some(1040))],
            used(1010, 1000, 30),
            mended(),
        ),
        // A total alone, or with one part.
        (vec![(used(0, 0, 0), Some(12))], used(12, 0, 0), mended()),
        (vec![(used(0, 0, 5), Some(12))], used(7, 0, 5), mended()),
        // Reasoning beside the output.
        (vec![(used(10, 0, 5), Some(40))], used(10, 0, 30), vec![]),
        // Embeddings have no output.
        (vec![(used(10, 0, 0), Some(10))], used(10, 0, 0), vec![]),
        // Running totals, and the same twice.
        (
            vec![(used(10, 4, 1), None), (used(10, 4, 5), None)],
            used(10, 4, 5),
            vec![],
        ),
        (
            vec![(used(10, 4, 5), None), (used(10, 4, 5), None)],
            used(10, 4, 5),
            vec![],
        ),
        // A later report with less.
        (
            vec![(used(10, 4, 5), None), (used(10, 0, 2), None)],
            used(10, 4, 5),
            mended(),
        ),
        // More than any reply has.
        (
            vec![
                (used(10, 4, 5), Some(u64::MAX)),
                (used(u64::MAX, u64::MAX, u64::MAX), None),
            ],
            used(10, 4, 5),
            mended(),
        ),
    ] {
        let told = come_to(&reports, None);
        assert_eq!(told, (Some(expected), notes), "{reports:?}");
    }
    assert_eq!(come_to(&[], Some("scale")), (None, vec![]));
    let absurd = [(used(u64::MAX, 0, 1), None)];
    assert_eq!(come_to(&absurd, None), (None, mended()));
}

#[test]
fn a_tier_that_is_not_known_is_noted_by_its_name() {
    let tiers = |word| {
        let (usage, notes) = come_to(&[(used(1, 0, 1), None)], Some(word));
        (usage.and_then(|usage| usage.tier), notes)
    };
    assert_eq!(tiers("default"), (None, vec![]));
    assert_eq!(tiers("flex"), (Some(ServiceTier::Flex), vec![]));
    let note = "usage.service_tier.scale".to_owned();
    assert_eq!(tiers("scale"), (Some(ServiceTier::Other), vec![note]));
    let (_, notes) = tiers(&"x".repeat(10_000));
    assert!(notes.iter().all(|note| note.len() < 100), "{notes:?}");
}
