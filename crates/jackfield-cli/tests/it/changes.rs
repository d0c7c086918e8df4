//! Definitions that have changed: what people see of them, and what counts as a yes.

use std::io::{Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_assembly::ChangedTool;
use jackfield_cli::approval::Terminal;
use jackfield_cli::commands::mcp::accept::confirmed;
use jackfield_cli::render;
use jackfield_domain::digest::Digest;
use serde_json::{Value, json};

/// What is shown of a change, without its colours.
fn shown(accepted: Option<Value>, offered: Value) -> String {
    let digest = Digest::of_json(accepted.as_ref().unwrap_or(&Value::Null));
    let changed = ChangedTool {
        accepted: accepted.map(Arc::new),
        accepted_digest: digest,
        tool: offered["name"].as_str().unwrap().into(),
        offered: Arc::new(offered),
    };
    let mut out = anstream::StripStream::new(Vec::new());
    let until = Instant::now() + Duration::from_secs(30);
    render::definition(&mut out, "weather", &changed, until).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}

fn prose(old: &str, new: &str) -> String {
    let of = |text: &str| json!({ "name": "x", "description": text });
    let shown = shown(Some(of(old)), of(new));
    let lines = shown.strip_prefix("weather/x\n  description\n").unwrap();
    lines.strip_suffix("\n\n").unwrap().to_owned()
}

#[test]
fn prose_differs_by_words_and_where_there_are_none_by_characters() {
    for (old, new, expected) in [
        (
            "Gives the city.",
            "Gives the town.",
            "    Gives the [-city-]{+town+}.",
        ),
        ("Gives it.", "Gives it. Now.", "    Gives it.{+ Now.+}"),
        ("Gives it. Now.", "Gives it.", "    Gives it.[- Now.-]"),
        ("", "New.", "    {+New.+}"),
        ("读文件", "写文件", "    [-读-]{+写+}文件"),
        ("a\nb\nc", "a\nx\nc", "    a\n    [-b-]{+x+}\n    c"),
        ("a", "a\nb", "    a{+⏎+}\n    {+b+}"),
        ("a\n", "a", "    a[-⏎-]\n    "),
        (
            "1\n2\n3\n4\n5\n6",
            "1\n2\n3\n4\n5\nx",
            "    …\n    4\n    5\n    [-6-]{+x+}",
        ),
    ] {
        assert_eq!(prose(old, new), expected, "{old:?} to {new:?}");
    }
}

#[test]
fn what_was_and_what_is_can_be_read_out_of_a_line() {
    // Every pair of texts of these words: taking the old out leaves the new, and the other way round.
    let words = ["read", "the", "file", "文", "."];
    let texts: Vec<String> = (0..625_usize)
        .map(|n| {
            let picked = [n % 5, n / 5 % 5, n / 25 % 5, n / 125];
            picked.map(|word| words[word]).join(" ")
        })
        .collect();
    let without = |line: &str, open: &str, close: &str| {
        let mut left = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(open) {
            left.push_str(before);
            rest = after.split_once(close).unwrap().1;
        }
        left + rest
    };
    for (old, new) in texts.iter().zip(texts.iter().cycle().skip(237)) {
        let line = prose(old, new);
        let line = line.trim_start();
        let is = without(line, "[-", "-]")
            .replace("{+", "")
            .replace("+}", "");
        let was = without(line, "{+", "+}")
            .replace("[-", "")
            .replace("-]", "");
        assert_eq!(
            (was.as_str(), is.as_str()),
            (old.as_str(), new.as_str()),
            "{line}"
        );
    }
}

#[test]
fn schemas_differ_by_lines_whatever_the_order_of_their_keys() {
    let old = json!({
        "name": "x",
        "title": "X",
        "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } },
        "annotations": { "readOnlyHint": true },
    });
    let new = json!({
        "annotations": { "readOnlyHint": false },
        "inputSchema": { "properties": { "b": {}, "a": { "type": "string" } }, "type": "object" },
        "name": "x",
        "outputSchema": { "type": "object" },
    });
    let expected = "weather/x
  title
    [-X-]
  annotations: what it says of its effects
      {
    -   \"readOnlyHint\": true
    +   \"readOnlyHint\": false
      }
  arguments
          \"a\": {
            \"type\": \"string\"
    -     }
    +     },
    +     \"b\": {}
        },
        \"type\": \"object\"
  structured results
    + {
    +   \"type\": \"object\"
    + }

";
    assert_eq!(shown(Some(old), new), expected);
}

#[test]
fn nothing_that_is_not_seen_is_left_unseen() {
    for (hidden, sign) in [
        ('\0', "<U+0000 control character>"),
        ('\t', "<U+0009 tab>"),
        ('\r', "<U+000D carriage return>"),
        ('\u{1b}', "<U+001B escape>"),
        ('\u{9b}', "<U+009B control character>"),
        ('\u{a0}', "<U+00A0 no-break space>"),
        ('\u{ad}', "<U+00AD soft hyphen>"),
        ('\u{200b}', "<U+200B zero-width space>"),
        ('\u{200d}', "<U+200D zero-width joiner>"),
        ('\u{202e}', "<U+202E right-to-left override>"),
        ('\u{2066}', "<U+2066 left-to-right isolate>"),
        ('\u{3164}', "<U+3164 Hangul filler>"),
        ('\u{fe0f}', "<U+FE0F variation selector>"),
        ('\u{feff}', "<U+FEFF byte order mark>"),
        ('\u{e0041}', "<U+E0041 tag letter>"),
    ] {
        assert_eq!(
            render::revealed(&format!("a{hidden}b")),
            format!("a{sign}b")
        );
        let tool = json!({ "name": format!("x{hidden}"), "description": format!("{hidden}") });
        let schema = json!({ "description": format!("{hidden}"), "type": "object" });
        let mut offered = tool.clone();
        offered["inputSchema"] = schema;
        let all = shown(None, offered);
        assert!(!all.contains(hidden), "{all:?}");
        assert_eq!(all.lines().next(), Some(&*format!("weather/x{sign}")));
    }
    for seen in ["Does it.", "读文件", "чтение", "ça\nva", "日本語 ✓ 👍"] {
        assert_eq!(render::revealed(seen), seen);
    }
    // What stands for one can be told from it by its colour alone, so that is not left out.
    let sign = "<U+202E right-to-left override>";
    assert_eq!(render::revealed(sign), sign);
}

#[test]
fn what_is_said_cannot_look_as_if_it_had_been_said_before() {
    let new = "Gives it+} only here{+ or there. [-No-] keys.";
    let line = prose("Gives it.", new);
    assert_eq!(
        line.matches("{+").count(),
        line.matches("+}").count(),
        "{line}"
    );
    let mut rest = &*line;
    while let Some((before, after)) = rest.split_once("{+") {
        assert!(!before.contains("here"), "{line}");
        rest = after.split_once("+}").unwrap().1;
    }
    assert!(
        !line.contains("[-No-]") && line.contains("<U+005B>-No-<U+005D>"),
        "{line}"
    );
    let quoted = prose("[-a-] b", "[-a-] c");
    assert_eq!(quoted, "    <U+005B>-a-<U+005D> [-b-]{+c+}");
}

#[test]
fn many_short_lines_are_told_soon() {
    let since = Instant::now();
    let lines = vec!["a"; 32_000].join("\n");
    assert_eq!(prose("", &lines).lines().count(), 32_000);
    // It took minutes when each line was counted for each line.
    assert!(
        since.elapsed() < Duration::from_secs(20),
        "{:?}",
        since.elapsed()
    );
}

#[test]
fn after_a_while_what_has_changed_is_told_as_a_whole() {
    let of = |word: &str| {
        let text = format!("{word} ").repeat(10_000);
        json!({ "name": "x", "description": text })
    };
    let changed = ChangedTool {
        accepted: Some(Arc::new(of("a"))),
        accepted_digest: Digest::of_json(&of("a")),
        tool: "x".into(),
        offered: Arc::new(of("b")),
    };
    let since = Instant::now();
    for _ in 0..100 {
        let mut out = anstream::StripStream::new(Vec::new());
        render::definition(&mut out, "weather", &changed, since).unwrap();
        let told = String::from_utf8(out.into_inner()).unwrap();
        assert!(
            told.contains("[-a a ") && told.contains("{+b b "),
            "{}",
            &told[..200]
        );
    }
    assert!(
        since.elapsed() < Duration::from_secs(40),
        "{:?}",
        since.elapsed()
    );
}

#[test]
fn what_is_too_long_is_shown_in_part_and_that_is_said() {
    let long = "word ".repeat(20_000);
    let same = prose(&format!("a {long}"), &format!("b {long}"));
    assert!(same.contains("[-a-]{+b+} word"), "{}", &same[..100]);
    assert!(same.ends_with("more bytes are not shown here and have not changed; --json has them"));
    let more = prose(&long, &format!("{long}b"));
    assert!(more.ends_with("more bytes are not shown here and have changed, too; --json has them"));
    let none = shown(None, json!({ "name": "x", "description": "Does it." }));
    assert!(none.contains("too long to be kept"), "{none}");
    assert!(none.contains("{+Does it.+}"), "{none}");
}

#[test]
fn only_a_yes_is_a_yes() {
    let asked = |line: &str| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(line.as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut said = Vec::new();
        let yes = confirmed(&mut Terminal::from(file), &mut said);
        assert_eq!(said, b"accept this? [y/N] ");
        yes
    };
    for line in ["y\n", "Y\n", "yes\n", " YES \n", "y"] {
        assert!(asked(line), "{line:?}");
    }
    for line in ["", "\n", "n\n", "no\n", "ye\n", "yy\n", "a\n", "yes no\n"] {
        assert!(!asked(line), "{line:?}");
    }
}
