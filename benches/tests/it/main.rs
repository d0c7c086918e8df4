//! The benchmarks' own arithmetic, and that every case runs.

use std::process::Command;
use std::time::Duration;

use jackfield_benches::document::{BEGIN, END, filled};
use jackfield_benches::measure::{Series, ratio};
use jackfield_benches::plan::Plan;
use jackfield_benches::report::{Report, compared, shown};

fn series(millis: impl IntoIterator<Item = u64>) -> Series {
    let mut series = Series::default();
    for millis in millis {
        series.push(Duration::from_millis(millis));
    }
    series
}

#[test]
fn the_middle_the_least_and_the_mean_of_samples() {
    let odd = series([5, 1, 9]);
    assert_eq!(odd.p50(), Duration::from_millis(5));
    assert_eq!(odd.least(), Duration::from_millis(1));
    assert_eq!(odd.mean(), Duration::from_millis(5));
    assert_eq!(odd.at(100), Duration::from_millis(9));
    // 0, 1, …, 100 are their own percentiles.
    let all = series((0..=100).rev());
    for percent in [0, 1, 37, 90, 100] {
        assert_eq!(all.at(percent), Duration::from_millis(percent as u64));
    }
    assert_eq!(Series::default().p50(), Duration::ZERO);
    assert_eq!(Series::default().mean(), Duration::ZERO);
}

#[test]
fn a_ratio_is_ours_by_the_floor() {
    let (ours, floor) = (Duration::from_millis(3), Duration::from_millis(2));
    assert!((ratio(ours, floor) - 1.5).abs() < 1e-9);
    assert!(ratio(ours, Duration::ZERO).is_nan());
    let row = compared("a turn", ours, floor, "1.50");
    assert_eq!(row, ["a turn", "1.50", "1.50", "3.00 ms", "2.00 ms"]);
}

#[test]
fn times_are_shown_with_three_digits_and_a_unit() {
    let cases = [
        (999, "999 µs"),
        (1_000, "1.00 ms"),
        (9_994, "9.99 ms"),
        (12_345, "12.3 ms"),
        (1_210_000, "1.210 s"),
    ];
    for (micros, text) in cases {
        assert_eq!(shown(Duration::from_micros(micros)), text);
    }
}

#[test]
fn a_plan_is_read_as_it_was_said() {
    for plan in [Plan::COMPARED, Plan::one_round(5, 200)] {
        assert_eq!(Plan::parse(&plan.to_string()), Some(plan));
    }
    assert_eq!(Plan::COMPARED.all_calls(), 15);
    assert_eq!(Plan::parse("rounds=3 calls=x sleep=0"), None);
    assert_eq!(Plan::parse("hello"), None);
}

#[test]
fn only_what_stands_between_the_marks_is_written() {
    let page = format!("# Page\n\n{BEGIN}\nold\n{END}\n\nThe rest.\n");
    let mut report = Report::default();
    report.table("Of this.", ["a", "b"], &[["1".to_owned(), "2".to_owned()]]);
    let new = filled(&page, &report.to_string()).expect("there are marks");
    let table = "Of this.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |";
    assert_eq!(
        new,
        format!("# Page\n\n{BEGIN}\n\n{table}\n\n{END}\n\nThe rest.\n")
    );
    assert_eq!(filled(&new, &report.to_string()), Some(new));
    assert_eq!(filled("# No marks", "new"), None);
}

/// All that is in process, once, as small as it gets: ours and the floor give the same answers.
#[test]
fn the_cases_run() {
    for case in ["turn", "call", "calls", "catalog", "recovery"] {
        let driver = env!("CARGO_BIN_EXE_jackfield-bench");
        let ran = Command::new(driver)
            .args(["--quick", "--only", case])
            .output();
        let ran = ran.expect("the driver starts");
        let (out, err) = (
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr),
        );
        assert!(ran.status.success(), "{case}: {err}");
        assert!(out.contains("| "), "{case}: {out}");
    }
}
