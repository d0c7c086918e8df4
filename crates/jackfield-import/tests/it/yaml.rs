//! The YAML that is read: null and texts, lines, anchors and merges, and what is too large.

use std::collections::BTreeSet;

use jackfield_import::{ImportError, litellm};

/// The aliases of the configuration that this text becomes, and the lines and places of all remarks.
#[track_caller]
fn check(text: &str, aliases: &[&str], places: &[&str]) {
    let imported = litellm(text, &|_| None).unwrap();
    let lines = imported.configuration.lines();
    let made: BTreeSet<&str> = lines
        .skip_while(|line| *line != "[aliases]")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(made, aliases.iter().copied().collect());
    let said: Vec<String> = imported
        .remarks
        .iter()
        .map(|remark| format!("{}: {}", remark.line, remark.place))
        .collect();
    assert_eq!(said, places);
}

#[track_caller]
fn refused(text: &str) -> ImportError {
    litellm(text, &|_| None).unwrap_err()
}

#[test]
fn null_is_no_text_unless_it_stands_in_quotes() {
    check(
        "\
model_list:
  - model_name: 'null'
    litellm_params: {model: groq/a, strange: ''}

  # A comment.
  - model_name: null
    litellm_params: {model: groq/b}
  - {model_name: ~,
     litellm_params: {model: groq/c}}
  - model_name:
    litellm_params: {model: groq/d}
  - {model_name: e, litellm_params: {model: \"groq/e\",
     odd: ~}}
",
        &["null = \"groq/a\"", "e = \"groq/e\""],
        &[
            "3: model_list[0].litellm_params.strange",
            "6: model_list[1]",
            "8: model_list[2]",
            "10: model_list[3]",
            "13: model_list[4].litellm_params.odd",
        ],
    );
    assert!(matches!(refused(""), ImportError::Foreign { .. }));
}

#[test]
fn anchors_and_merges_are_resolved_and_own_entries_count() {
    check(
        "\
base: &b
  model: groq/one
  odd: 1
other: &o {model: groq/three}
model_list:
  - model_name: a
    litellm_params:
      <<: *b
      model: groq/two
  - model_name: b
    litellm_params: *b
  - {model_name: c, litellm_params: {<<: [*o, *b]}}
  - {model_name: d, litellm_params: {model: groq/two, <<: *o}}
",
        &[
            "a = \"groq/two\"",
            "b = \"groq/one\"",
            "c = \"groq/three\"",
            "d = \"groq/two\"",
        ],
        &[
            "1: base",
            // An entry that is given again, and which does not count.
            "2: model_list[0].litellm_params.model",
            "2: model_list[2].litellm_params.model",
            "3: model_list[0].litellm_params.odd",
            "3: model_list[1].litellm_params.odd",
            "3: model_list[2].litellm_params.odd",
            "4: model_list[3].litellm_params.model",
            "4: other",
        ],
    );
}

#[test]
fn text_that_grows_without_end_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let below = format!("*a{}", level - 1);
        let row = vec![below; 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    let too_large = |bound| ImportError::TooLarge { bound };
    assert_eq!(refused(&bomb), too_large("100,000 values"));
    let text = "x".repeat(500_000);
    let wide = format!("a: &a {text}\nb: [{}]\n", "*a, ".repeat(90_000));
    assert_eq!(refused(&wide), too_large("8 MiB of text"));
    let wide = format!("a: &a {{{text}: 1}}\nb: [{}]\n", "*a, ".repeat(40_000));
    assert_eq!(refused(&wide), too_large("8 MiB of text"));
    assert_eq!(refused(&"- ".repeat(100)), too_large("64 levels"));
    assert_eq!(refused(&"#".repeat(2 << 20)), too_large("1 MiB"));
}

#[test]
fn broken_text_is_an_error_with_its_line() {
    let ImportError::Malformed { line, .. } = refused("a: 1\nb: [1\nc: 2\n") else {
        panic!("it was read");
    };
    assert!((2..=4).contains(&line), "{line}");
}
