//! The catalogue that comes with Jackfield, and those that are read.

use jackfield_domain::price::{Money, ServiceTier};
use jackfield_domain::usage::Usage;
use jackfield_prices::Catalogue;

#[test]
fn the_catalogue_is_valid_and_every_price_has_a_day_and_a_source() {
    let catalogue = Catalogue::built_in();
    assert_eq!(
        Catalogue::parse(catalogue.text().to_owned())
            .unwrap()
            .text(),
        catalogue.text()
    );
    let listings: Vec<_> = catalogue.listings().collect();
    assert_eq!(listings.len(), catalogue.names().count());
    assert!(listings.len() > 2_000, "{}", listings.len());
    for listing in listings {
        let price = &listing.price;
        assert!(price.date.starts_with("2026-"), "{listing:?}");
        assert!(!price.source.is_empty(), "{listing:?}");
        assert_eq!(&*price.currency, "USD");
        // The search finds the same line.
        let (kind, model) = listing.name.split_once('/').unwrap();
        assert_eq!(catalogue.get(kind, model).as_ref(), Some(&listing));
    }
}

#[test]
fn own_prices_are_in_the_catalogue_word_for_word() {
    let text = Catalogue::built_in();
    for line in include_str!("../../own.txt").lines() {
        assert!(
            line.starts_with('#') || text.text().lines().any(|other| other == line),
            "{line}"
        );
    }
}

#[test]
fn a_name_with_a_day_is_the_model_without_it() {
    let catalogue = Catalogue::built_in();
    let named = |model| catalogue.get("claude", model).map(|listing| listing.name);
    for model in [
        "claude-opus-5-5",
        "claude-opus-5-5-20261001",
        "claude-opus-5-5@20261001",
        "claude-opus-5-5-2026-10-01",
    ] {
        assert_eq!(
            named(model).as_deref(),
            Some("claude/claude-opus-5-5"),
            "{model}"
        );
    }
    for model in [
        "claude-opus-5-5-9",
        "claude-opus",
        "",
        "-20261001",
        "claude-opus-5-5-é0261001",
    ] {
        assert_eq!(named(model), None, "{model}");
    }
    assert_eq!(catalogue.get("claude/x", "y"), None);
    assert_eq!(catalogue.get("claude", &"x".repeat(100_000)), None);
    // At other places, under the same names.
    let elsewhere = catalogue
        .get("claude-bedrock", "anthropic.claude-opus-5-5")
        .unwrap();
    assert_eq!(&*elsewhere.name, "bedrock/anthropic.claude-opus-5-5");
}

#[test]
fn a_threshold_is_a_cliff_in_every_tier() {
    let sol = Catalogue::built_in()
        .get("openai", "gpt-6-sol")
        .unwrap()
        .price;
    let bill = |input, tier| {
        let usage = Usage {
            input,
            output: 1_000,
            tier,
            ..Usage::default()
        };
        sol.cost(&usage)
    };
    let dollars = |text| Money::parse(text).ok();
    // 272,000 × 2 + 1,000 × 10, and one token more at 4 and 15, all of it.
    assert_eq!(bill(272_000, None), dollars("0.554"));
    assert_eq!(bill(272_001, None), dollars("1.103004"));
    assert_eq!(bill(272_001, Some(ServiceTier::Flex)), dollars("0.551502"));
    assert_eq!(
        bill(272_001, Some(ServiceTier::Priority)),
        dollars("2.206008")
    );
    assert_eq!(bill(1_000, Some(ServiceTier::Ultrafast)), None);
}

#[test]
fn a_text_that_is_no_catalogue_is_refused_with_its_line() {
    let head = "@A 2026-11-01 a test\n";
    for (lines, expected) in [
        ("a/b A 1/2\na/a A 1/2\n", "line 3 is not in the order"),
        ("a/b A 1/2\na/b A 1/2\n", "line 3 is not in the order"),
        ("a/b B 1/2\n", "line 2 is not a price"),
        ("a/b A 1\n", "line 2 is not a price"),
        ("a/b A -1/2\n", "line 2 is not a price"),
        ("a/b A 1/2/3/4/5/6\n", "line 2 is not a price"),
        ("a/b A 1/2 cheap*0.5\n", "line 2 is not a price"),
        ("a/b A 1/2 flex*\n", "line 2 is not a price"),
        ("a/b A 1/2 >x=1/2\n", "line 2 is not a price"),
        ("a/b A 1/2+video:1/2\n", "line 2 is not a price"),
        ("a/b A 1/2 until=soon\n", "line 2 is not a price"),
        ("b A 1/2\n", "line 2 is not a price"),
        (
            "a/b A 1/2\n@B 2026-11-01 late\n",
            "line 3 belongs to the head",
        ),
        ("a/ü A 1/2\n", "line 2 has other letters"),
    ] {
        let error = Catalogue::parse(format!("{head}{lines}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{lines}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn each_line_that_is_read_is_found(
        lines in proptest::collection::btree_map("[a-b]/[a-b0-9.:-]{1,4}", "[0-9]{1,3}/[0-9]{1,3}( flex\\*0\\.[1-9])?", 0..12),
    ) {
        let lines: String = lines.iter().map(|(name, price)| format!("{name} A {price}\n")).collect();
        let catalogue = Catalogue::parse(format!("@A 2026-11-01 t\n{lines}")).unwrap();
        assert_eq!(catalogue.listings().count(), lines.lines().count());
        for listing in catalogue.listings() {
            let (kind, model) = listing.name.split_once('/').unwrap();
            assert_eq!(catalogue.get(kind, model), Some(listing.clone()));
        }
    }

    #[test]
    fn no_text_and_no_name_panics(text in "[@A-Ca-b0-9/ .>=*+:\n-]{0,80}", name in ".{0,20}") {
        if let Ok(catalogue) = Catalogue::parse(format!("@A 2026-11-01 t\n{text}")) {
            for listing in catalogue.listings() {
                let (kind, model) = listing.name.split_once('/').unwrap();
                assert_eq!(catalogue.get(kind, model), Some(listing.clone()));
            }
            assert!(catalogue.get("a", &name).is_none_or(|one| !one.price.date.is_empty()));
        }
    }
}
