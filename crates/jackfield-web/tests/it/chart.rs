//! Charts.

use jackfield_web::chart::{ChartBar, columns};

#[test]
fn the_labels_below_columns_are_within_the_picture() {
    let days = (1..=29).map(|day| ChartBar {
        label: format!("2026-11-{day:02}"),
        parts: vec![f64::from(day)],
        value: day.to_string(),
    });
    let chart = columns(&days.collect::<Vec<_>>());
    let labels = chart.split("<text x=\"").skip(1);
    let labels = labels.filter(|label| label.contains(">2026-"));
    let middles: Vec<f64> = labels
        .filter_map(|label| label.split('"').next()?.parse().ok())
        .collect();
    assert_eq!(middles.len(), 8, "{chart}");
    // A date is about 70 wide, and the picture 720.
    assert!(
        middles.iter().all(|at| (35.0..=685.0).contains(at)),
        "{middles:?}"
    );
}
