//! The shares of deployments, as weights of a route.

use jackfield_import::litellm;

/// The weights that deployments of one name with these get, and whether their ratio is kept.
#[track_caller]
fn check_shares(weights: &[&str], expected: &[&str], is_exact: bool) {
    let mut text = "model_list:\n".to_owned();
    for (nth, weight) in weights.iter().enumerate() {
        let params = format!("{{model: groq/m{nth}, weight: {weight}}}");
        text.push_str(&format!(
            "  - {{model_name: m, litellm_params: {params}}}\n"
        ));
    }
    let imported = litellm(&text, &|_| None).unwrap();
    let made = (0..weights.len()).map(|nth| {
        let model = format!("\"groq/m{nth}\"");
        let mut lines = imported.configuration.lines();
        let line = lines.find(|line| line.contains(&model)).unwrap();
        // A weight of 1 is not written.
        let weight = line.split_once("weight = ");
        weight.map_or("1", |(_, weight)| weight.trim_end_matches(" },"))
    });
    assert_eq!(made.collect::<Vec<_>>(), expected);
    let mut remarks = imported.remarks.iter();
    let is_rounded = remarks.any(|remark| remark.text.contains("were rounded"));
    assert_eq!(!is_rounded, is_exact, "{weights:?}");
}

#[test]
fn shares_keep_their_ratio_where_whole_numbers_can() {
    check_shares(&["900", "300"], &["900", "300"], true);
    check_shares(&["0.9", "0.1"], &["9", "1"], true);
    check_shares(&["0.29", "1"], &["29", "100"], true);
    check_shares(&["2e6", "1e6"], &["1000000", "500000"], true);
    check_shares(&["3e6", "1e6"], &["1000000", "333333"], false);
    check_shares(&["1e300", "1"], &["1000000", "1"], false);
    check_shares(&["1", "1e-9"], &["1000000", "1"], false);
    check_shares(&["5e-324", "5e-324"], &["1000000", "1000000"], false);
    check_shares(&["7e9"], &["1"], true);
}
