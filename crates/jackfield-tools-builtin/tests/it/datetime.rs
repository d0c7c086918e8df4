//! What the clock tool tells, and how it finds the zone that is meant.

use std::time::{Duration, SystemTime};

use jackfield_tools_builtin::{CurrentDatetime, ToolFault};
use proptest::prelude::*;
use serde_json::{Value, json};

/// 1 July 2026, 12:00:00 in UTC, a Wednesday.
const SUMMER: u64 = 1_782_907_200;

/// 15 January 2026, 12:00:00 in UTC, a Thursday.
const WINTER: u64 = 1_768_478_400;

fn at(seconds: u64) -> CurrentDatetime {
    CurrentDatetime::new(move || SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn text(tool: &CurrentDatetime, arguments: &Value) -> String {
    match tool.answer(arguments) {
        Ok(answer) => answer.text,
        Err(fault) => format!("fault: {fault}"),
    }
}

/// Asks for each zone in summer, and compares zone and offset.
fn check_zones(cases: &[(&str, &str, &str)]) {
    let tool = at(SUMMER);
    for (asked, zone, offset) in cases {
        let answer = tool.answer(&json!({ "timezone": asked }));
        let answer = answer.unwrap_or_else(|fault| panic!("{asked}: {fault}"));
        let found = (
            &answer.structured["timezone"],
            &answer.structured["utc_offset"],
        );
        assert_eq!(found, (&json!(zone), &json!(offset)), "{asked}");
    }
}

#[test]
fn without_arguments_it_is_the_instant_in_utc() {
    let answer = at(SUMMER).answer(&json!({})).unwrap();
    assert_eq!(answer.text, "2026-07-01T12:00:00+00:00 (Wednesday, UTC)");
    assert_eq!(
        answer.structured,
        json!({
            "formatted": "2026-07-01T12:00:00+00:00",
            "iso": "2026-07-01T12:00:00+00:00",
            "date": "2026-07-01",
            "time": "12:00:00",
            "weekday": "Wednesday",
            "unix": SUMMER,
            "timezone": "UTC",
            "utc_offset": "+00:00",
        })
    );
}

#[test]
fn zones_are_found_by_name_city_and_offset() {
    check_zones(&[
        ("Asia/Tokyo", "Asia/Tokyo", "+09:00"),
        ("asia/tokyo", "Asia/Tokyo", "+09:00"),
        ("America/New York", "America/New_York", "-04:00"),
        ("Tokyo", "Asia/Tokyo", "+09:00"),
        ("new york", "America/New_York", "-04:00"),
        ("NEW_YORK", "America/New_York", "-04:00"),
        ("Vevay", "America/Indiana/Vevay", "-04:00"),
        ("London", "Europe/London", "+01:00"),
        ("Kathmandu", "Asia/Kathmandu", "+05:45"),
        ("UTC", "UTC", "+00:00"),
        ("GMT", "UTC", "+00:00"),
        ("Z", "UTC", "+00:00"),
        ("+05:30", "+05:30", "+05:30"),
        ("-0330", "-03:30", "-03:30"),
        ("UTC+3", "+03:00", "+03:00"),
        ("GMT−8", "-08:00", "-08:00"),
        ("+00:00", "UTC", "+00:00"),
        (" ", "UTC", "+00:00"),
    ]);
}

#[test]
fn summer_time_follows_the_date() {
    let summer = text(&at(SUMMER), &json!({"timezone": "Berlin"}));
    let winter = text(&at(WINTER), &json!({"timezone": "Berlin"}));
    assert_eq!(
        summer,
        "2026-07-01T14:00:00+02:00 (Wednesday, Europe/Berlin)"
    );
    assert_eq!(
        winter,
        "2026-01-15T13:00:00+01:00 (Thursday, Europe/Berlin)"
    );
}

#[test]
fn every_format_writes_the_same_instant() {
    let cases = [
        (
            "iso8601",
            "2026-07-01T21:00:00+09:00 (Wednesday, Asia/Tokyo)",
        ),
        ("ISO", "2026-07-01T21:00:00+09:00 (Wednesday, Asia/Tokyo)"),
        ("rfc2822", "Wed, 1 Jul 2026 21:00:00 +0900"),
        ("unix", "1782907200"),
        ("date", "2026-07-01"),
        ("time", "21:00:00"),
        (
            "human",
            "Wednesday, 1 July 2026, 21:00:00 (Asia/Tokyo, UTC+09:00)",
        ),
        ("%d.%m.%Y %H:%M", "01.07.2026 21:00"),
        ("%Y年%m月%d日", "2026年07月01日"),
        ("%j / week %V %Z", "182 / week 27 JST"),
        ("100%%", "100%"),
        ("%255H", "00000000000000000021"),
    ];
    for (format, expected) in cases {
        let arguments = json!({"timezone": "Asia/Tokyo", "format": format});
        assert_eq!(text(&at(SUMMER), &arguments), expected, "{format}");
    }
    let utc = json!({"format": "human"});
    assert_eq!(
        text(&at(SUMMER), &utc),
        "Wednesday, 1 July 2026, 12:00:00 UTC"
    );
}

#[test]
fn an_unknown_zone_or_format_is_refused_with_the_way_out() {
    let cases = [
        (json!({"timezone": "Tokio"}), "such as `Europe/Paris`"),
        (json!({"timezone": "Токио"}), "such as `Europe/Paris`"),
        (json!({"timezone": "San Francisco"}), "use an IANA name"),
        (json!({"timezone": "MSK"}), "use an IANA name"),
        (
            json!({"timezone": "Istanbul"}),
            "use one of Asia/Istanbul, Europe/Istanbul",
        ),
        (json!({"timezone": "+25:00"}), "is not known"),
        (json!({"timezone": "+14:30"}), "is not known"),
        (json!({"timezone": "+05:99"}), "is not known"),
        (
            json!({"timezone": "x".repeat(101)}),
            "more than 100 characters",
        ),
        (json!({"timezone": "local"}), "no local zone is configured"),
        (json!({"timezone": 5}), "`timezone` must be a string"),
        (
            json!({"format": "fancy"}),
            "the format `fancy` is not known",
        ),
        (json!({"format": "%"}), "the pattern cannot be used"),
        (json!({"format": "%!"}), "the pattern cannot be used"),
        (
            json!({"format": "%Y".repeat(51)}),
            "at most 100 are allowed",
        ),
    ];
    for (arguments, expected) in cases {
        match at(SUMMER).answer(&arguments) {
            Err(ToolFault::Arguments(fault)) => {
                assert!(fault.contains(expected), "{arguments} gives {fault}");
            }
            other => panic!("{arguments} gives {other:?}"),
        }
    }
}

#[test]
fn a_local_zone_is_the_default() {
    let tool = at(SUMMER).with_local_zone("Europe/Moscow").unwrap();
    let expected = "2026-07-01T15:00:00+03:00 (Wednesday, Europe/Moscow)";
    assert_eq!(text(&tool, &json!({})), expected);
    assert_eq!(text(&tool, &json!({"timezone": "local"})), expected);
    assert!(text(&tool, &json!({"timezone": "UTC"})).contains("12:00:00"));
    assert!(at(SUMMER).with_local_zone("Nowhere").is_err());
    assert!(at(SUMMER).with_local_zone("Istanbul").is_err());
}

#[test]
fn a_clock_beyond_the_calendar_is_a_fault() {
    let far = at(u64::from(u32::MAX) * 1_000);
    assert!(matches!(
        far.answer(&json!({})),
        Err(ToolFault::Unanswerable(_))
    ));
}

proptest! {
    #[test]
    fn any_arguments_are_answered_or_refused(zone in "\\PC{0,40}", format in "[%a-zA-Z0-9:.^#_ -]{0,40}", seconds in any::<u32>()) {
        let arguments = json!({"timezone": zone, "format": format});
        if let Ok(answer) = at(u64::from(seconds)).answer(&arguments) {
            prop_assert!(answer.text.len() < 10_000);
        }
    }
}
