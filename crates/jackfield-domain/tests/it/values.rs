//! Values: names, cuts, digests, ids, policies, and the rules of conversations.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::digest::{Digest, canonical_json};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, ToolName, ToolboxId};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::naming::{bare_tool_name, prefixed_tool_name, tool_name};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict, matches};
use jackfield_domain::tool::{Grammar, InputFormat, Permission, Safety, ToolOrigin, ToolSpec};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::json;

fn toolbox(id: &str) -> ToolboxId {
    ToolboxId::parse(id).expect("a valid id")
}

fn fits_every_vendor(name: &ToolName) -> bool {
    let name = name.as_str().as_bytes();
    let begins = name
        .first()
        .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    begins
        && name.len() <= 64
        && name
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-')
}

#[test]
fn a_name_that_fits_is_left_alone() {
    for (server, tool, name) in [
        ("filesystem-data", "read_file", "filesystem-data__read_file"),
        ("files", "read", "files__read"),
        ("a", "b__c", "a__b__c"),
        ("a", "b-c", "a__b-c"),
    ] {
        assert_eq!(tool_name(&toolbox(server), tool).as_str(), name);
    }
    for name in ["calculator", "web_search", "mcp__files__read", "_x", "A-1"] {
        assert_eq!(bare_tool_name(name).as_str(), name);
    }
    assert_eq!(bare_tool_name(&"x".repeat(64)).as_str(), "x".repeat(64));
}

#[test]
fn a_name_that_had_to_be_changed_carries_a_hash() {
    for (server, tool, begins) in [
        ("files", "read file", "files__read_file_"),
        ("files", "читать", "files_________"),
        ("1st", "read", "_1st__read_"),
        ("a__b", "c", "a__b__c_"),
        ("a_", "b", "a___b_"),
        ("a", "_b", "a___b_"),
    ] {
        let name = tool_name(&toolbox(server), tool);
        let digits = name.as_str().strip_prefix(begins);
        assert_eq!(digits.map(str::len), Some(8), "{name}");
        assert!(fits_every_vendor(&name), "{name}");
    }
}

#[test]
fn a_prefix_takes_the_place_of_the_toolbox() {
    let notes = toolbox("notes-2");
    for (prefix, tool, name) in [
        ("private_", "search", "private_search"),
        ("", "search", "search"),
        ("a__", "_b", "a___b"),
    ] {
        assert_eq!(prefixed_tool_name(prefix, &notes, tool).as_str(), name);
    }
    for (prefix, tool) in [
        ("p_", "read file"),
        ("", "1st"),
        ("p_", "x_0123abcd"),
        ("", &*"x".repeat(65)),
        ("", ""),
    ] {
        let name = prefixed_tool_name(prefix, &notes, tool);
        assert!(fits_every_vendor(&name), "{name}");
        let other = prefixed_tool_name(prefix, &toolbox("other"), tool);
        assert_ne!(name, other);
    }
}

#[test]
fn names_that_are_cut_differ_where_their_ends_do() {
    let long = |end: &str| {
        tool_name(
            &toolbox(&"s".repeat(64)),
            &format!("{}{end}", "t".repeat(90)),
        )
    };
    assert_ne!(long("a"), long("b"));
    assert_eq!(long("a").as_str().len(), 64);
}

#[test]
fn a_tool_cannot_take_the_hashed_name_of_another() {
    let (a, tool) = (toolbox("a"), "b c");
    let name = tool_name(&a, tool);
    let forged = name.as_str().strip_prefix("a__").expect("a prefix");
    assert_ne!(tool_name(&a, forged), name);
    let name = tool_name(&toolbox("a__b"), "c");
    let forged = name.as_str().strip_prefix("a__").expect("a prefix");
    assert_ne!(tool_name(&a, forged), name);
    // Cut so that the hash begins where a tool's name would.
    let long = toolbox(&"x".repeat(54));
    let name = tool_name(&long, &"y".repeat(20));
    let forged = name.as_str().split_once("__").expect("two parts").1;
    assert_eq!(forged.len(), 8);
    assert_ne!(tool_name(&long, forged), name);
}

proptest! {
    #[test]
    fn names_fit_every_vendor_and_two_tools_never_share_one(
        servers in proptest::collection::vec(server(), 1..6),
        tools in proptest::collection::vec(tool(), 1..6),
    ) {
        let mut names: BTreeMap<ToolName, (&str, &str)> = BTreeMap::new();
        for server in &servers {
            for tool in &tools {
                let name = tool_name(&toolbox(server), tool);
                prop_assert!(fits_every_vendor(&name), "{}", name);
                let whose = (server.as_str(), tool.as_str());
                let known = names.insert(name.clone(), whose);
                prop_assert!(known.is_none_or(|known| known == whose), "{}: {:?} {:?}", name, known, whose);
            }
        }
        for tool in &tools {
            let name = bare_tool_name(tool);
            prop_assert!(fits_every_vendor(&name), "{}", name);
            prop_assert_eq!(bare_tool_name(name.as_str()), name);
        }
    }

    #[test]
    fn a_cut_result_is_as_long_as_it_may_be_and_a_marker(result in arb::tool_result(), limit in 0..200_usize) {
        match result.cut(limit) {
            None => prop_assert!(result.size() <= limit),
            Some(cut) => {
                prop_assert!(result.size() > limit);
                let marker = cut.content.last().map_or(0, OutcomePart::size);
                prop_assert!(cut.size() - marker <= limit, "{cut:?}");
                prop_assert_eq!(cut.is_error, result.is_error);
                // What is left of each text is its beginning.
                let texts = |result: &ToolResult| result.content.iter().filter_map(OutcomePart::as_text).map(str::to_owned).collect::<Vec<_>>();
                let (kept, whole) = (texts(&cut), texts(&result));
                let mut whole = whole.iter();
                for kept in &kept[..kept.len() - 1] {
                    prop_assert!(whole.any(|text| text.starts_with(kept.as_str())), "{kept:?}");
                }
                // A second cut with room for the marker changes nothing.
                prop_assert_eq!(cut.cut(limit + marker), None);
            }
        }
    }

    #[test]
    fn canonical_json_is_the_same_value_and_forgets_the_order_of_keys(fields in arb::json_object()) {
        let value = serde_json::Value::Object(fields.clone());
        let text = canonical_json(&value);
        prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), &value);
        let turned: serde_json::Map<_, _> = fields.into_iter().rev().collect();
        prop_assert_eq!(Digest::of_json(&serde_json::Value::Object(turned)), Digest::of_json(&value));
        let digest = Digest::of(text.as_bytes());
        prop_assert_eq!(Digest::from_hex(&digest.to_hex()), Some(digest));
    }
}

fn server() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab_]{1,3}",
        1 => "[a-z0-9_-]{1,12}",
        1 => "x{63}[ab]",
    ]
}

fn tool() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab_ ]{0,3}",
        1 => "\\PC{0,8}",
        1 => "[a-z]{62}[ab]{1,3}",
    ]
}

#[test]
fn what_fits_beside_a_picture_that_does_not_is_kept() {
    let image = OutcomePart::Image(Image {
        detail: None,
        source: MediaSource::Base64 {
            media_type: "image/png".into(),
            data: "A".repeat(100).into(),
        },
    });
    let result = ToolResult {
        content: vec![
            OutcomePart::Text("before".into()),
            image,
            OutcomePart::Text("after".into()),
        ],
        is_error: false,
        structured: Some(Arc::new(json!({"n": 1}))),
    };
    let cut = result.cut(30).expect("a cut");
    let marker = "[cut: 119 bytes were returned, at most 30 are shown]";
    let texts: Vec<_> = cut.content.iter().map(OutcomePart::as_text).collect();
    assert_eq!(texts, [Some("before"), Some("after"), Some(marker)]);
    assert_eq!(cut.structured, result.structured);
}

#[test]
fn text_is_cut_between_characters() {
    let cut = ToolResult::text("天气").cut(4).expect("a cut");
    assert_eq!(cut.content[0].as_text(), Some("天"));
    let cut = ToolResult::text("天气").cut(2).expect("a cut");
    assert_eq!(cut.content.len(), 1, "only the marker");
}

#[test]
fn canonical_json_has_sorted_keys_and_no_spaces() {
    let value = json!({"b": [1, 2.5, null], "a": {"d": "\"", "c": true}});
    let text = r#"{"a":{"c":true,"d":"\""},"b":[1,2.5,null]}"#;
    assert_eq!(canonical_json(&value), text);
}

/// Digests of tools are stored: they stay what they are.
#[test]
fn the_digest_of_a_tool_is_that_of_its_fields_as_json() {
    let schema = json!({"type": "object", "properties": {"b\n": {"enum": ["\"", 1.5]}, "a": {}}});
    let grammar = Grammar {
        definition: "start: \"a\"".into(),
        syntax: "lark".into(),
    };
    let inputs = [
        (
            InputFormat::Json(Arc::new(schema.clone())),
            json!({"schema": schema}),
        ),
        (InputFormat::Text(None), json!("text")),
        (
            InputFormat::Text(Some(grammar)),
            json!({"grammar": "start: \"a\"", "syntax": "lark"}),
        ),
    ];
    for (input, input_json) in inputs {
        for (output, title) in [
            (None, None),
            (Some(schema.clone()), Some("A \"title\" é\u{7f}")),
        ] {
            let spec = ToolSpec {
                description: "Says \\ and\tmore.".into(),
                icon: None,
                input: input.clone(),
                name: "act".into(),
                output: output.clone().map(Arc::new),
                safety: Safety::ReadOnly,
                time_limit: None,
                title: title.map(Into::into),
            };
            let json = json!({
                "description": "Says \\ and\tmore.",
                "input": input_json,
                "name": "act",
                "output": output,
                "safety": "ReadOnly",
                "title": title,
            });
            assert_eq!(spec.digest(), Digest::of_json(&json));
        }
    }
}

#[test]
fn parts_that_are_cut_elsewhere_have_another_digest() {
    assert_ne!(Digest::of_parts(["ab", "c"]), Digest::of_parts(["a", "bc"]));
    assert_ne!(Digest::of_parts(["a"]), Digest::of_parts(["a", ""]));
}

#[test]
fn only_what_a_digest_writes_is_read_as_one() {
    let digest = Digest::of(b"abc");
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_hex(), hex);
    assert_eq!(Digest::from_hex(hex), Some(digest));
    for wrong in [
        "",
        &hex[1..],
        &hex.to_uppercase(),
        &hex.replacen("ba", "+a", 1),
        &hex.replacen("ba", "g0", 1),
        &format!("{hex}0"),
        &"é".repeat(32),
    ] {
        assert_eq!(Digest::from_hex(wrong), None, "{wrong}");
    }
}

#[test]
fn ids_from_outside_are_checked() {
    for good in ["a", "A-9_z", &"x".repeat(64)] {
        assert_eq!(SessionId::parse(good).expect("good").as_str(), good);
    }
    for bad in ["", " a", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
        let error = SessionId::parse(bad).expect_err("bad");
        assert_eq!((error.kind, error.max), ("session id", 64), "{bad}");
    }
    assert!(ToolCallId::parse(&"x".repeat(40)).is_ok());
    assert!(ToolCallId::parse(&"x".repeat(41)).is_err());
    assert!(DeliveryId::parse(&"x".repeat(128)).is_ok());
    let shown = SessionId::parse(&"é".repeat(500)).expect_err("too long");
    assert_eq!(shown.text.chars().count(), 80);
}

fn permission(rules: &[(&str, RuleVerdict)], toolbox_id: &str, tool: &str) -> Permission {
    let rules = rules.iter().map(|(pattern, verdict)| PolicyRule {
        pattern: (*pattern).into(),
        verdict: *verdict,
    });
    let policy = Policy {
        can_ask: true,
        rules: rules.collect(),
    };
    let origin = ToolOrigin {
        tool: tool.into(),
        toolbox: toolbox(toolbox_id),
    };
    policy.permission(&origin, Safety::ReadOnly, true)
}

#[test]
fn a_star_of_a_pattern_stands_for_any_text() {
    for (pattern, text, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "files/read", true),
        ("files/*", "files/read", true),
        ("files/*", "file/read", false),
        ("*read*", "files/read_all", true),
        ("a*a", "a", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
    ] {
        assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
    }
}

#[test]
fn the_last_rule_that_matches_decides() {
    let rules = [
        ("*", RuleVerdict::Ask),
        ("files/*", RuleVerdict::Allow),
        ("files/delete*", RuleVerdict::Deny),
        ("clock", RuleVerdict::Allow),
    ];
    let deny = "denied by the rule `\"files/delete*\" = \"deny\"` under [policy.tools]";
    for (server, tool, expected) in [
        ("files", "read", Permission::Allow),
        ("files", "delete_all", Permission::Deny(deny.into())),
        ("web", "fetch", Permission::Ask),
        ("web", "clock", Permission::Allow),
        ("filesystem", "read", Permission::Ask),
    ] {
        assert_eq!(
            permission(&rules, server, tool),
            expected,
            "{server}/{tool}"
        );
    }
}

#[test]
fn a_tool_cannot_name_itself_into_the_rule_of_another_server() {
    let rules = [
        ("github/create_issue", RuleVerdict::Allow),
        ("notes/*", RuleVerdict::Allow),
    ];
    for tool in ["github/create_issue", "notes/x"] {
        assert_eq!(permission(&rules, "evil", tool), Permission::Ask, "{tool}");
    }
    let own = permission(&rules, "notes", "a/b");
    assert_eq!(own, Permission::Allow);
}

#[test]
fn a_rule_without_a_server_allows_nothing_of_the_servers_of_people() {
    for pattern in ["*", "search", "sea*", "*/*", "*/search"] {
        let allow = [(pattern, RuleVerdict::Allow)];
        assert_eq!(permission(&allow, "web", "search"), Permission::Allow);
        for server in ["own-web", "team-web"] {
            assert_eq!(permission(&allow, server, "search"), Permission::Ask);
            // What takes away holds for all.
            let deny = permission(&[(pattern, RuleVerdict::Deny)], server, "search");
            assert!(matches!(deny, Permission::Deny(_)), "{pattern} {deny:?}");
        }
    }
    for pattern in ["own-*/*", "own-web/search", "o*/*"] {
        let allow = [(pattern, RuleVerdict::Allow)];
        assert_eq!(permission(&allow, "own-web", "search"), Permission::Allow);
    }
}

#[test]
fn where_nobody_can_be_asked_only_what_changes_nothing_of_ours_runs() {
    let origin = ToolOrigin {
        tool: "clock".into(),
        toolbox: toolbox("builtin"),
    };
    let ask = [PolicyRule {
        pattern: "clock".into(),
        verdict: RuleVerdict::Ask,
    }];
    for (rules, safety, trusted, allowed) in [
        (&[][..], Safety::ReadOnly, true, true),
        (&[][..], Safety::Idempotent, true, false),
        (&[][..], Safety::ReadOnly, false, false),
        (&ask[..], Safety::ReadOnly, true, false),
    ] {
        let policy = Policy {
            can_ask: false,
            rules: rules.to_vec(),
        };
        let permission = policy.permission(&origin, safety, trusted);
        assert_eq!(permission == Permission::Allow, allowed, "{permission:?}");
        if let Permission::Deny(why) = permission {
            assert!(why.contains("set `\"builtin/clock\" = \"allow\"`"), "{why}");
        }
    }
}
