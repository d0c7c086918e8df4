//! Tags of requests: what becomes one, and what reports sum by them.

use jackfield_domain::caller::tags::{InvalidTagName, MAX_TAGS, MAX_VALUE, Tag, TagNames};
use jackfield_domain::ids::SessionId;
use jackfield_domain::setup::Setup;
use jackfield_domain::spending;
use jackfield_domain::spending::report::{SpendingGroup, SpendingReport, UNTAGGED};
use jackfield_domain::time::WallTime;
use proptest::prelude::*;

use crate::spending::{plain, steps_of_a_call};

fn names(names: &[&str]) -> TagNames {
    TagNames::parse(names.iter().copied()).expect("names of tags")
}

fn tag(name: &str, value: &str) -> Tag {
    Tag {
        name: name.into(),
        value: value.into(),
    }
}

#[test]
fn tags_are_of_the_listed_names_and_the_first_of_a_name_counts() {
    let names = names(&["team", "feature"]);
    let pairs = [
        ("team", " "),
        (" team ", " search "),
        ("team", "ads"),
        ("cost_centre", "7"),
        ("Feature", "no"),
        ("feature", "sum\u{1b}[2Jmary"),
    ];
    assert_eq!(names.tags(pairs), [tag("team", "search")]);
    let (longest, longer) = ("ё".repeat(MAX_VALUE), "ё".repeat(MAX_VALUE + 1));
    let pairs = [("team", &*longer), ("feature", &*longest)];
    assert_eq!(names.tags(pairs), [tag("feature", &longest)]);
    assert_eq!(TagNames::default().tags([("team", "search")]), []);
}

#[test]
fn names_of_tags_are_short_plain_and_few() {
    for wrong in ["", "Team", "two words", "a=b", "команда", &"n".repeat(33)] {
        let refused = TagNames::parse([wrong]);
        assert!(matches!(refused, Err(InvalidTagName::Form(_))), "{wrong}");
    }
    let many: Vec<String> = (0..=MAX_TAGS).map(|nth| format!("n{nth}")).collect();
    let all = many.iter().map(|name| &**name);
    assert_eq!(TagNames::parse(all.clone()), Err(InvalidTagName::TooMany));
    let most = TagNames::parse(all.take(MAX_TAGS).chain(["n0"]));
    assert_eq!(most.expect("as many as may be").iter().count(), MAX_TAGS);
}

proptest! {
    #[test]
    fn tags_of_any_pairs_are_few_short_in_order_and_tags_again(
        pairs in prop::collection::vec((prop_oneof!["[a-d ]{1,2}", any::<String>()], any::<String>()), 0..40),
    ) {
        let names = names(&["a", "b", "c", "d"]);
        let tags = names.tags(pairs);
        prop_assert!(tags.len() <= 4);
        prop_assert!(tags.is_sorted_by(|one, next| one.name < next.name));
        for tag in &tags {
            prop_assert!(names.get(&tag.name).is_some());
            prop_assert!((1..=MAX_VALUE).contains(&tag.value.chars().count()));
            prop_assert!(!tag.value.chars().any(char::is_control));
        }
        let again = names.tags(tags.iter().map(|tag| (&*tag.name, &*tag.value)));
        prop_assert_eq!(again, tags);
    }
}

#[test]
fn groups_of_reports_are_read_as_they_are_written() {
    for word in [
        "day", "model", "provider", "reply", "session", "tool", "turn", "user", "tag:team",
    ] {
        let group: SpendingGroup = word.parse().expect(word);
        assert_eq!(group.to_string(), word);
    }
    for wrong in ["", "tag", "tag:", "tag:Team", "Day", "tag:a b"] {
        assert!(wrong.parse::<SpendingGroup>().is_err(), "{wrong}");
    }
}

/// A turn with tags, its records and one without tags are the same rows by tag, and the rows are the total.
#[test]
fn the_rows_of_a_tag_are_the_total() {
    let setup = Setup {
        tags: vec![tag("feature", "chat"), tag("team", "search")],
        ..plain()
    };
    let steps = steps_of_a_call(setup);
    let turns = spending::by_turn(&steps);
    let records = spending::records_of_turn(&turns[0].turn, &steps);
    let session = SessionId::parse("s").expect("a valid id");
    let rows = |name: &str| {
        let group = SpendingGroup::Tag(name.into());
        let mut report = SpendingReport::new(group, None, |_: WallTime| String::new());
        report.add_session(&session, &"".into(), &turns);
        for record in &records {
            let mut untagged = record.clone();
            untagged.tags.clear();
            report.add_record(record);
            report.add_record(&untagged);
        }
        let total = report.total();
        let all: u64 = report.rows().map(|row| row.totals.usage.total()).sum();
        assert_eq!(all, total.usage.total());
        let rows = report
            .rows()
            .map(|row| (row.label.clone(), row.totals.replies));
        rows.collect::<Vec<_>>()
    };
    let untagged = |replies| (UNTAGGED.to_owned(), replies);
    assert_eq!(rows("team"), [("search".to_owned(), 4), untagged(2)]);
    assert_eq!(rows("feature"), [("chat".to_owned(), 4), untagged(2)]);
    assert_eq!(rows("agent"), [untagged(6)]);
}
