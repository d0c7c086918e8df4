//! Which results of tools are kept.

use std::time::Duration;

use jackfield_engine::{ToolCacheRule, ToolCacheSettings};

use crate::world::World;

fn rule(pattern: &str, seconds: Option<u64>) -> ToolCacheRule {
    ToolCacheRule {
        pattern: pattern.into(),
        ttl: seconds.map(Duration::from_secs),
    }
}

#[test]
fn nothing_is_kept_unless_a_rule_says_so_and_rules_keep_their_order() {
    let settings = World::new().load().unwrap().tool_cache;
    assert_eq!(settings, ToolCacheSettings::default());
    assert_eq!(settings.rules, []);
    let world = World::new().with_user(
        "[tool_cache]\nbytes = '1MiB'\nentries = 7\n\
         [tool_cache.ttl_of]\n'docs/*' = '10m'\n'docs/now' = 'off'\n'*' = '1s'",
    );
    let settings = world.load().unwrap().tool_cache;
    assert_eq!((settings.bytes, settings.entries), (1 << 20, 7));
    let wanted = [
        rule("docs/*", Some(600)),
        rule("docs/now", None),
        rule("*", Some(1)),
    ];
    assert_eq!(settings.rules, wanted);
}

#[test]
fn a_found_file_keeps_no_results_and_may_switch_that_off() {
    let user = "[tool_cache.ttl_of]\n'docs/*' = '10m'";
    let off = World::new()
        .with_user(user)
        .with_project("[tool_cache.ttl_of]\n'*' = 'off'");
    let rules = off.load().unwrap().tool_cache.rules;
    assert_eq!(rules, [rule("docs/*", Some(600)), rule("*", None)]);
    let wrong = World::new().with_project(user).problems();
    let [wrong] = &wrong[..] else {
        panic!("{wrong:?}");
    };
    assert!(wrong.contains("does not say which results are used again"));
}

#[test]
fn a_time_is_a_duration_or_off() {
    for text in [
        "tool_cache.ttl_of.x = 'never'",
        "tool_cache.ttl_of.x = 5",
        "tool_cache.ttl_of.x = '0s'",
    ] {
        let wrong = World::new().with_user(text).problems();
        let [wrong] = &wrong[..] else {
            panic!("{wrong:?}");
        };
        assert!(wrong.contains("\"off\""), "{wrong}");
    }
    for text in ["tool_cache.entries = 0", "tool_cache.ttl = '5m'"] {
        let wrong = World::new().with_user(text).problems();
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }
}
