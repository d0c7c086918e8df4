//! Questions about days, in three languages.

use jackfield_domain::outcome::ToolResult;
use serde_json::json;

use crate::asking::Talk;

/// Asks, and says that today is this date.
#[track_caller]
fn check(text: &str, today: &str, answer: &str) {
    let mut talk = Talk::asking(text);
    let asked = talk.reply();
    let wanted = (
        "current_datetime".to_owned(),
        json!({ "format": "%Y-%m-%d" }),
    );
    assert_eq!(asked.calls.len(), 1, "{text}: {asked:?}");
    let call = &asked.calls[0];
    assert_eq!(
        (call.tool.as_str().to_owned(), json!(call.arguments)),
        wanted,
        "{text}"
    );
    talk.outcomes(&asked, vec![ToolResult::text(today)]);
    let reply = talk.reply();
    assert_eq!(
        (reply.text.as_str(), reply.calls.len()),
        (answer, 0),
        "{text}"
    );
}

#[test]
fn the_date_of_a_day_is_counted_from_today() {
    for (text, answer) in [
        ("What is tomorrow's date?", "Tomorrow is 2027-01-01."),
        ("what date is it tomorrow", "Tomorrow is 2027-01-01."),
        ("What was yesterday's date?", "Yesterday was 2026-12-30."),
        ("What day is it today?", "Today is 2026-12-31."),
        ("what's the date?", "Today is 2026-12-31."),
        ("Какое завтра число?", "Завтра 2027-01-01."),
        ("Какое сегодня число?", "Сегодня 2026-12-31."),
        ("明天几号？", "明天是 2027-01-01。"),
        ("今天几号", "今天是 2026-12-31。"),
    ] {
        check(text, "2026-12-31", answer);
    }
    check("tomorrow's date?", "2028-02-28", "Tomorrow is 2028-02-29.");
}

#[test]
fn the_days_until_a_date_are_counted() {
    for (text, answer) in [
        (
            "How many days until Christmas?",
            "Until 2026-12-25: 29 days.",
        ),
        (
            "How many days until 2026-12-01?",
            "Until 2026-12-01: 5 days.",
        ),
        ("days until March 3rd", "Until 2027-03-03: 97 days."),
        (
            "How many days is it until 27 November?",
            "Until 2026-11-27: 1 day.",
        ),
        ("How many days until November 26?", "2026-11-26 is today."),
        (
            "How many days until 2026-11-20?",
            "2026-11-20 was 6 days ago.",
        ),
        ("Сколько дней до нового года?", "Дней до 2027-01-01: 36."),
        ("Сколько дней до 1 мая?", "Дней до 2027-05-01: 156."),
        ("距离圣诞节还有多少天？", "距离 2026-12-25 还有 29 天。"),
    ] {
        check(text, "2026-11-26", answer);
    }
}

#[test]
fn days_are_counted_as_the_calendar_does() {
    for (date, days) in [
        ("2000-02-29", 11_016),
        ("2024-03-01", 19_783),
        ("2026-12-31", 20_818),
    ] {
        let text = format!("How many days until {date}?");
        check(&text, "1970-01-01", &format!("Until {date}: {days} days."));
    }
    // Within a month, only its ends can go wrong, and years differ only at the end of February.
    let mut days = 0;
    for year in 1970..2135 {
        let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let is_looked_at = matches!(year, 1970..1976 | 1996..2004 | 2096..2104);
        for month in 1..=12 {
            let last = match month {
                2 if is_leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let is_end = |day: &i64| {
                let is_leap_days = (month == 2 && *day == last) || (month == 3 && *day == 1);
                is_leap_days || (is_looked_at && (*day == 1 || *day >= 28))
            };
            for day in (1..=last).filter(is_end) {
                let date = format!("{year}-{month:02}-{day:02}");
                let text = format!("How many days until {date}?");
                let answer = match days + day - 1 {
                    0 => format!("{date} is today."),
                    days => format!("Until {date}: {days} days."),
                };
                check(&text, "1970-01-01", &answer);
            }
            days += last;
        }
    }
}

#[test]
fn what_it_cannot_count_it_says() {
    for text in [
        "How many days until my birthday?",
        "What day is Easter?",
        "How many kilometres are 5 miles?",
        "How many days are there?",
    ] {
        let reply = Talk::asking(text).reply();
        assert!(reply.calls.is_empty(), "{text}: {reply:?}");
        assert!(
            reply.text.contains("I cannot help with that"),
            "{text}: {}",
            reply.text
        );
    }
}
