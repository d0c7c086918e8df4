//! The files of LiteLLM and genai-prices.

use jackfield_prices::merge::merge;
use jackfield_prices::source::{self, PriceFile, Source};

const DAY: &str = "2026-11-16";

const LITELLM: &str = r#"{
  "sample_spec": { "input_cost_per_token": -1, "what": 1 },
  "claude-a": {
    "litellm_provider": "anthropic", "mode": "chat", "deprecation_date": "2027-02-15",
    "input_cost_per_token": 4e-06, "output_cost_per_token": 2e-05,
    "cache_read_input_token_cost": 2e-07, "cache_creation_input_token_cost": 5e-06,
    "cache_creation_input_token_cost_above_1hr": 8e-06,
    "input_cost_per_token_above_200k_tokens": 8e-06, "output_cost_per_token_above_200k_tokens": 3e-05,
    "input_cost_per_token_batches": 2e-06, "output_cost_per_token_batches": 1e-05,
    "provider_specific_entry": { "us": 1.1, "fast": 2 }
  },
  "gpt-b": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.2500000000000001e-06, "output_cost_per_token": 1e-05 },
  "gpt-picture": { "litellm_provider": "openai", "mode": "image_generation", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06 },
  "gpt-free": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0 }
}"#;

const GENAI: &str = r#"[
  { "id": "anthropic", "name": "Anthropic", "models": [
    { "id": "claude-a", "match": { "or": [{ "equals": "claude-a" }, { "regex": "^x" }] },
      "prices": { "input_mtok": { "base": 4, "tiers": [{ "start": 200000, "price": 8 }] }, "cache_read_mtok": { "base": 0.2, "tiers": [{ "start": 200000, "price": 0.4 }] },
                  "output_mtok": { "base": 20, "tiers": [{ "start": 200000, "price": 30 }] } },
      "price_variants": [{ "when": { "service_tier": "flex" }, "prices": { "input_mtok": 2, "output_mtok": 10 } }] }
  ] },
  { "id": "openai", "models": [
    { "id": "gpt-b", "match": { "starts_with": "gpt-b" }, "prices": { "input_mtok": 1, "output_mtok": 10 } },
    { "id": "gpt-c", "match": { "equals": "gpt-c-latest" },
      "prices": [
        { "prices": { "input_mtok": 1, "output_mtok": 2 } },
        { "constraint": { "start_date": "2026-11-01" }, "prices": { "input_mtok": 3, "output_mtok": 4 } },
        { "constraint": { "start_date": "2027-01-01" }, "prices": { "input_mtok": 9, "output_mtok": 9 } },
        { "constraint": { "start_time": "01:00:00Z", "end_time": "04:00:00Z" }, "prices": { "input_mtok": 6, "output_mtok": 8 } }
      ] }
  ] }
]"#;

fn read(text: &str) -> PriceFile {
    source::read(text, DAY)
}

fn errors(text: &str) -> Vec<String> {
    let problems = read(text).problems;
    let errors = problems.iter().filter(|problem| problem.is_error);
    errors.map(ToString::to_string).collect()
}

#[test]
fn two_files_become_one_catalogue_and_their_differences_are_named() {
    let files = [read(LITELLM), read(GENAI)];
    assert_eq!(
        files.each_ref().map(|file| file.source),
        [Source::LiteLlm, Source::GenaiPrices]
    );
    assert!(
        files.iter().all(|file| file.problems.is_empty()),
        "{files:?}"
    );
    let merged = merge(&files, None, DAY).unwrap();
    let text = merged.catalogue.text();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(['#', '@']))
        .collect();
    assert_eq!(
        lines,
        [
            "claude/claude-a B 4/20/0.2/5/8 >200000=8/30/0.4/10/16 batch*0.5 fast*2 flex*0.5 until=2027-02-15",
            "openai/gpt-b L 1.25/10",
            "openai/gpt-c G 6/8",
            "openai/gpt-c-latest G 6/8",
        ]
    );
    let differences: Vec<String> = merged.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        differences,
        ["openai/gpt-b: LiteLLM 1.25/10 (taken), genai-prices 1/10"]
    );
    assert_eq!(merged.free, [std::sync::Arc::from("openai/gpt-free")]);
    assert!(text.contains("@B 2026-11-16 https://github.com/BerriAI/litellm and https://github.com/pydantic/genai-prices"));
}

#[test]
fn of_dated_prices_the_newest_that_has_begun_counts_and_by_the_hour_the_highest() {
    let price = |constraint: &str, rate: u32| {
        format!(
            "{{ {constraint} \"prices\": {{ \"input_mtok\": {rate}, \"output_mtok\": {rate} }} }}"
        )
    };
    let since = |day: &str, rate| {
        price(
            &format!("\"constraint\": {{ \"start_date\": \"{day}\" }},"),
            rate,
        )
    };
    let hours = "\"start_time\": \"01:00:00Z\", \"end_time\": \"04:00:00Z\"";
    let by_hour = |rate| price(&format!("\"constraint\": {{ {hours} }},"), rate);
    let both = |day: &str, rate| {
        let constraint = format!("\"start_date\": \"{day}\", {hours}");
        price(&format!("\"constraint\": {{ {constraint} }},"), rate)
    };
    let always = |rate| price("", rate);
    for (prices, expected) in [
        // Those that begin after the day of the file are left out, wherever they stand.
        (
            vec![since("2026-11-17", 9), always(1), since("2027-01-01", 8)],
            "1/1",
        ),
        (vec![always(1), since(DAY, 2)], "2/2"),
        (
            vec![since("2026-11-02", 3), since("2026-11-01", 4), always(5)],
            "3/3",
        ),
        // The highest of the day, whether it stands last or is the usual one.
        (vec![always(1), by_hour(7), by_hour(6)], "7/7"),
        (vec![always(5), by_hour(2)], "5/5"),
        (vec![by_hour(2), by_hour(3)], "3/3"),
        // Hours of a price that is over, and of one that has not begun.
        (vec![always(1), by_hour(7), since("2026-11-01", 2)], "2/2"),
        (
            vec![always(1), both("2027-01-01", 7), both("2026-11-01", 3)],
            "3/3",
        ),
    ] {
        let model = format!(
            "{{ \"id\": \"a\", \"match\": {{ \"equals\": \"a\" }}, \"prices\": [{}] }}",
            prices.join(", ")
        );
        let file = read(&format!(
            "[{{ \"id\": \"openai\", \"models\": [{model}] }}]"
        ));
        let merged = merge(&[file], None, DAY).unwrap();
        let text = merged.catalogue.text();
        assert!(
            text.ends_with(&format!("openai/a G {expected}\n")),
            "{prices:?}: {text}"
        );
    }
}

#[test]
fn an_entry_that_cannot_be_a_price_is_named_by_its_line() {
    let model = |fields: &str| {
        format!(
            "{{\n\"m\": {{ \"litellm_provider\": \"openai\", \"mode\": \"chat\",\n{fields} }}\n}}"
        )
    };
    for (text, expected) in [
        (
            model("\"input_cost_per_token\": -1e-6"),
            "line 3: m: `input_cost_per_token` is negative",
        ),
        (
            model("\"input_cost_per_token\": 1.1"),
            "line 3: m: `input_cost_per_token` is more than a dollar",
        ),
        (
            model("\"input_cost_per_token\": 1e400"),
            "line 3: m: `input_cost_per_token` is more than a dollar",
        ),
        (
            model("\"input_cost_per_token\": \"dear\""),
            "line 3: m: `input_cost_per_token` is not a number",
        ),
        (
            model("\"input_cost_per_token\": [1]"),
            "line 3: m: `input_cost_per_token` is not a number",
        ),
        (
            model("\"input_cost_per_thought\": 1"),
            "line 3: m: `input_cost_per_thought` is not known, and may be a price",
        ),
        (
            model("\"mode\": \"chat\""),
            "line 3: m: `mode` is there twice",
        ),
        (
            "{\n\"m\": {},\n\"m\": {}\n}".to_owned(),
            "line 3: m: is there twice",
        ),
        ("{\n\"m\": 1\n}".to_owned(), "line 2: m: is not an object"),
        (
            "{\n\"my model\": {}\n}".to_owned(),
            "line 2: my model: a name has letters, digits and signs of ASCII, and no space",
        ),
        ("{\n\"m\": {\n".to_owned(), "line 3: this is not JSON"),
        ("prices".to_owned(), "line 1: this is not JSON"),
        (String::new(), "this is not JSON"),
        ("[\n1]".to_owned(), "line 2: a provider is not an object"),
        (
            GENAI.replace("\"input_mtok\": 1,", "\"input_mtok\": -1,"),
            "line 9: openai/gpt-b: `input_mtok` is negative",
        ),
        (
            GENAI.replace("\"input_mtok\": 1,", "\"input_gtok\": 1,"),
            "line 9: openai/gpt-b: `input_gtok` is not known",
        ),
        (
            GENAI.replace("gpt-c\"", "gpt-b\""),
            "line 10: openai/gpt-b: is there twice",
        ),
        (
            GENAI.replace("\"start\": 200000", "\"begin\": 1"),
            "line 3: anthropic/claude-a: its prices have a form",
        ),
        (
            model(&format!(
                "\"input_cost_per_token\": 1.{}e-13",
                "0".repeat(38)
            )),
            "line 3: m: `input_cost_per_token` is not a number",
        ),
        (
            GENAI.replace(
                "{ \"start_date\": \"2026-11-01\"",
                "{ \"end_date\": \"2026-11-01\"",
            ),
            "line 13: openai/gpt-c: `end_date` is not known, and may be a price",
        ),
        (
            GENAI.replace("\"base\": 4,", "\"base\": 4, \"extra\": 1,"),
            "line 4: anthropic/claude-a: `extra` is not known, and may be a price",
        ),
        (
            "[{ \"id\": \"openai\",\n\"models\": {} }]".to_owned(),
            "line 2: openai: `models` is not a list",
        ),
        (
            GENAI.replace("{ \"starts_with\": \"gpt-b\" }", &nested(16)),
            "line 9: openai/gpt-b: its `match` has a form",
        ),
    ] {
        let errors = errors(&text);
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{text}: {errors:?}"
        );
    }
    // A field that is no price is named, and no more.
    let file = read(&model(
        "\"input_cost_per_token\": 1e-6, \"output_cost_per_token\": 1e-6, \"mood\": 1",
    ));
    assert_eq!(
        file.problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["line 3: m: `mood` is not known"]
    );
    assert_eq!(file.models.len(), 1);
}

#[test]
fn a_model_that_an_error_names_can_be_left_out_whole() {
    let twice = LITELLM.replace("gpt-picture", "gpt-b");
    let mut file = read(&twice);
    file.leave_out_wrong();
    let names: Vec<_> = file.models.iter().map(|model| &*model.name).collect();
    assert_eq!(names, ["claude-a", "gpt-free"]);
}

/// A clause in so many others.
fn nested(depth: usize) -> String {
    let (begin, end) = ("{ \"or\": [".repeat(depth), "] }".repeat(depth));
    format!("{begin}{{ \"equals\": \"x\" }}{end}")
}

#[test]
fn a_clause_may_be_sixteen_deep_and_one_of_thousands_ends_no_stack() {
    let with = |depth| GENAI.replace("{ \"starts_with\": \"gpt-b\" }", &nested(depth));
    assert_eq!(errors(&with(15)), [] as [&str; 0]);
    assert_eq!(errors(&with(100_000)).len(), 1);
}

#[test]
fn a_file_of_errors_is_refused_after_a_hundred() {
    let models: Vec<String> = (0..200).map(|place| format!("\"m{place}\": 1")).collect();
    let errors = errors(&format!("{{\n{}\n}}", models.join(",\n")));
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[100], "line 102: there is more than these 100");
}

#[test]
fn the_higher_of_two_prices_of_a_name_is_kept_and_nothing_never_wins() {
    let model = |name: &str, provider: &str, input: &str| {
        format!(
            "\"{name}\": {{ \"litellm_provider\": \"{provider}\", \"mode\": \"chat\", \
             \"input_cost_per_token\": {input}, \"output_cost_per_token\": {input}, \
             \"input_cost_per_token_batches\": {input}, \"output_cost_per_token_batches\": {input} }}"
        )
    };
    let models = [
        model("anthropic.b", "bedrock_converse", "4e-06"),
        model("bedrock_mantle/anthropic.b", "bedrock_mantle", "4.4e-06"),
        model("gemini-exp", "gemini", "3e-07"),
        model("gemini/gemini-exp", "gemini", "0"),
        // Only genai-prices has what these cost.
        model("anthropic.r", "bedrock_converse", "2e-06"),
        model("us.anthropic.r", "bedrock_converse", "3e-06"),
        model("grok-a", "xai", "0"),
        model("grok-b", "xai", "1e-06"),
    ];
    let genai = r#"[
      { "id": "aws", "models": [{ "id": "regional.r", "match": { "ends_with": "anthropic.r" }, "prices": { "input_mtok": 2.2, "output_mtok": 2.2 } }] },
      { "id": "x-ai", "models": [{ "id": "grok-a", "match": { "starts_with": "grok" }, "prices": { "input_mtok": 5, "output_mtok": 5 } }] }
    ]"#;
    let files = [read(&format!("{{{}}}", models.join(",\n"))), read(genai)];
    let merged = merge(&files, None, DAY).unwrap();
    let lines = merged.catalogue.text().lines();
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with(['#', '@'])).collect();
    assert_eq!(
        lines,
        [
            "bedrock/anthropic.b L 4.4/4.4 batch*1",
            "bedrock/anthropic.r G 2.2/2.2 batch*1",
            "bedrock/us.anthropic.r L 3/3 batch*1",
            "gemini/gemini-exp L 0.3/0.3 batch*1",
            "xai/grok-a G 5/5",
            "xai/grok-b L 1/1 batch*1",
        ]
    );
    let differences: Vec<String> = merged.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        differences,
        [
            "bedrock/anthropic.b: LiteLLM 4.4/4.4 batch*1 (bedrock_mantle/anthropic.b) (taken), LiteLLM 4/4 batch*1 (anthropic.b)",
            "gemini/gemini-exp: LiteLLM 0.3/0.3 batch*1 (gemini-exp) (taken), LiteLLM 0/0 batch=0/0 (gemini/gemini-exp)",
            "bedrock/anthropic.r: genai-prices 2.2/2.2 (taken), LiteLLM 2/2",
            "bedrock/us.anthropic.r: LiteLLM 3/3 (taken), genai-prices 2.2/2.2",
            "xai/grok-a: genai-prices 5/5 (taken), LiteLLM 0/0",
            "xai/grok-b: LiteLLM 1/1 (taken), genai-prices 5/5",
        ]
    );
}

proptest::proptest! {
    #[test]
    fn no_file_panics(
        of_genai in proptest::bool::ANY,
        at in 0..2_000_usize,
        with in "[0-9eE\\-\\[\\]{}\",.:a-z]{0,6}",
        length in 0..40_usize,
    ) {
        let text = if of_genai { GENAI } else { LITELLM };
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        let changed = format!("{}{with}{}", &text[..at], &text[end..]);
        let mut file = read(&changed);
        file.leave_out_wrong();
        let _either = merge(&[file], None, DAY);
    }
}
