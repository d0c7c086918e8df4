//! `jackfield prices`: what models cost by which list, and lists of others.

use serde_json::{Value, json};

use crate::harness::jackfield;

const OWN: &str = "[prices.\"claude/claude-opus-5-5\"]\ninput = 1.25\noutput = 10\ncache_read = 0.125\n\
                   date = \"2026-11-01\"\nsource = \"https://prices.example/claude\"\n\
                   variants = [{ above = 1000, input = 2.5, output = 20 }]\n";

const LITELLM: &str = r#"{
  "claude-opus-5-5": {
    "litellm_provider": "anthropic", "mode": "chat", "deprecation_date": "2026-10-31", "mood": "good",
    "input_cost_per_token": 3e-06, "output_cost_per_token": 7e-06
  }
}"#;

#[tokio::test]
async fn prices_are_listed_and_shown_with_their_day_and_their_source() {
    let run = jackfield(["prices", "list", "--json"]).configured(OWN);
    let ran = run.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Vec<Value> = serde_json::from_str(&ran.out).expect("JSON");
    let mut of = told
        .iter()
        .filter(|price| price["model"] == "claude/claude-opus-5-5");
    let mut opus = of.next().expect("the model").clone();
    assert_eq!(of.next(), None);
    assert!(
        opus["said"]
            .as_str()
            .is_some_and(|said| said.ends_with("jackfield.toml:1")),
        "{opus}"
    );
    opus["said"] = Value::Null;
    let expected = json!({
        "model": "claude/claude-opus-5-5", "input": "1.25", "output": "10",
        "cache_read": "0.125", "cache_write": "1.25", "currency": "USD",
        "date": "2026-11-01", "retires": null, "said": null,
        "source": "https://prices.example/claude",
        "variants": [{ "above": 1000, "tier": null, "input": "2.5", "output": "20",
            "cache_read": "0.25", "cache_write": "2.5" }],
    });
    assert_eq!(opus, expected);
    // The model of the configuration is Claude's, so other vendors are listed only with all.
    let openai = |price: &&Value| price["model"] == "openai/gpt-6-sol";
    assert!(!told.iter().any(|price| openai(&price)));
    let ran = jackfield(["prices", "list", "--all", "--json"])
        .configured(OWN)
        .run()
        .await;
    let all: Vec<Value> = serde_json::from_str(&ran.out).expect("JSON");
    assert!(all.iter().any(|price| openai(&price)));

    let ran = jackfield(["prices", "show", "claude/claude-haiku-5-5"])
        .configured(OWN)
        .run()
        .await;
    for line in [
        "  0.1 USD in, 0.5 out · cache: 0.01 read, 0.125 written · cache write long: 0.2\n",
        "  above 100000 tokens in: 0.5 USD in, 2.5 out",
        "  tier batch: 0.05 USD in, 0.25 out",
        "  tier batch, above 100000 tokens in: 0.25 USD in, 1.25 out",
        "https://github.com/BerriAI/litellm and https://github.com/pydantic/genai-prices\n",
        "  said by the list of Jackfield\n",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let ran = jackfield(["prices", "show", "claude/claude-x"])
        .configured(OWN)
        .run()
        .await;
    let line = "prices.\"claude/claude-x\" = { input = 1.00, output = 5.00 }";
    ran.fails(3, "no price is known for claude/claude-x", line);
    let ran = jackfield(["usage", "--prices"]).run().await;
    ran.fails(2, "a command of its own", "jackfield prices list");
}

#[tokio::test]
async fn a_list_of_others_is_taken_over_as_a_whole_or_not_at_all() {
    let broken = LITELLM.replace("7e-06", "-7e-06");
    let import = |text: &str, more: &[&str]| {
        let run = jackfield(["prices", "import", "theirs.json", "--day", "2026-11-20"]);
        run.more(more).in_project("theirs.json", text)
    };
    let config = tempfile::tempdir().expect("a folder");
    let file = config.path().join("jackfield.toml");
    std::fs::write(&file, "model = \"claude/claude-opus-5-5\"\n").expect("written");
    let at = file.to_str().expect("a name");
    let list = config.path().join("prices.txt");

    let ran = import(&broken, &["--config", at]).run().await;
    ran.fails(3, "and nothing was", "mend the lines above");
    let named = "line 4: claude-opus-5-5: `output_cost_per_token` is negative";
    assert!(ran.err.contains(named), "{}", ran.err);
    let ran = import(&broken, &["--config", at, "--skip"]).run().await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(!list.exists());

    let run = jackfield(["prices", "import", "theirs.json", "--day", "soon"]);
    let ran = run.run().await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err.contains("write a day, as in 2026-11-01"),
        "{}",
        ran.err
    );

    let ran = import(LITELLM, &["--config", at]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("line 3: claude-opus-5-5: `mood` is not known"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("1 model; written: "), "{}", ran.err);
    let shown = jackfield([
        "prices",
        "show",
        "claude/claude-opus-5-5",
        "--json",
        "--config",
        at,
    ])
    .run()
    .await;
    let price: Value = serde_json::from_str(&shown.out).expect("JSON");
    assert_eq!(
        (&price["output"], &price["date"]),
        (&json!("7"), &json!("2026-11-20"))
    );
    assert_eq!(price["said"], json!(list.to_str()));
    assert_eq!(price["retires"], "2026-10-31");
    let show = ["prices", "show", "claude/claude-opus-5-5", "--config", at];
    let shown = jackfield(show).run().await;
    assert!(
        shown.out.contains("its vendor retired it on 2026-10-31"),
        "{}",
        shown.out
    );
    let ran = jackfield(["doctor", "--offline", "--config", at])
        .run()
        .await;
    let says = "the vendor of `claude/claude-opus-5-5` retired it on 2026-10-31";
    assert!(ran.out.contains(says), "{}", ran.out);
}
