//! Models on which both sources agree, against figures of the vendors' pages.

use jackfield_prices::Catalogue;

/// Dollars for a million tokens: input, output, cache read, cache write. Read by hand in both sources, and held against
/// the vendors' rules: what a cache read, a cache write and a longer request cost of input (2026-11).
const AGREED: [(&str, [&str; 4]); 30] = [
    ("claude/claude-fable-5", ["10", "50", "1", "12.5"]),
    ("claude/claude-fable-5-1", ["10", "50", "0.25", "12.5"]),
    ("claude/claude-haiku-4-5", ["1", "5", "0.1", "1.25"]),
    ("claude/claude-haiku-5-5", ["0.1", "0.5", "0.01", "0.125"]),
    ("claude/claude-opus-4-5", ["5", "25", "0.5", "6.25"]),
    ("claude/claude-opus-4-6", ["5", "25", "0.5", "6.25"]),
    ("claude/claude-opus-4-7", ["5", "25", "0.5", "6.25"]),
    ("claude/claude-opus-4-8", ["5", "25", "0.5", "6.25"]),
    ("claude/claude-opus-5", ["5", "25", "0.5", "6.25"]),
    ("claude/claude-opus-5-5", ["4", "20", "0.2", "5"]),
    ("claude/claude-sonnet-4-6", ["3", "15", "0.3", "3.75"]),
    ("claude/claude-sonnet-5", ["2", "10", "0.2", "2.5"]),
    ("claude/claude-sonnet-5-5", ["2", "10", "0.1", "2.5"]),
    (
        "bedrock/global.anthropic.claude-opus-5-5",
        ["4", "20", "0.2", "5"],
    ),
    (
        "bedrock/us.anthropic.claude-opus-5-5",
        ["4.4", "22", "0.22", "5.5"],
    ),
    (
        "bedrock/us.amazon.nova-pro-v1:0",
        ["0.8", "3.2", "0.2", "0.8"],
    ),
    ("deepseek/deepseek-flash", ["0.3", "1.2", "0.006", "0"]),
    ("gemini/gemini-2.5-pro", ["1.25", "10", "0.125", "1.25"]),
    ("gemini/gemini-3.8-flash", ["0.75", "3.75", "0.075", "0.75"]),
    ("gemini/gemini-4-argon", ["2", "10", "0.1", "2"]),
    ("mistral/mistral-large-2512", ["0.5", "1.5", "0.05", "0.5"]),
    ("mistral/mistral-large-4", ["0.7", "2.1", "0.07", "0.7"]),
    ("openai/gpt-4.1", ["2", "8", "0.5", "2"]),
    ("openai/gpt-5", ["1.25", "10", "0.125", "1.25"]),
    ("openai/gpt-5-mini", ["0.25", "2", "0.025", "0.25"]),
    ("openai/gpt-6-astra", ["10", "50", "1", "12.5"]),
    ("openai/gpt-6-luna", ["0.1", "0.5", "0.01", "0.125"]),
    ("openai/gpt-6-sol", ["2", "10", "0.2", "2.5"]),
    ("openai/gpt-6.1-sol", ["2", "10", "0.1", "2.5"]),
    ("openai/gpt-6.1-terra", ["1", "5", "0.05", "1.25"]),
];

#[test]
fn thirty_models_on_which_both_sources_agree_cost_what_their_vendors_say() {
    let catalogue = Catalogue::built_in();
    for (name, expected) in AGREED {
        let (kind, model) = name.split_once('/').unwrap();
        let listing = catalogue
            .get(kind, model)
            .unwrap_or_else(|| panic!("{name}"));
        assert_eq!(&*listing.name, name);
        let source = &listing.price.source;
        assert!(
            source.contains("litellm") && source.contains("genai-prices"),
            "{name}: {source}"
        );
        let rates = &listing.price.rates;
        let told = [
            rates.input,
            rates.output,
            rates.cache_read,
            rates.cache_write,
        ];
        assert_eq!(
            told.map(|rate| rate.times(1_000_000).to_string()),
            expected,
            "{name}"
        );
    }
}

#[test]
fn the_catalogue_has_the_rates_of_long_requests_and_tiers() {
    let text = Catalogue::built_in();
    for line in [
        // Five times above 100,000 tokens, and half of all that in a batch.
        "claude/claude-haiku-5-5 B 0.1/0.5/0.01/0.125/0.2 >100000=0.5/2.5/0.05/0.625/1 batch*0.5",
        "claude/claude-opus-5-5 B 4/20/0.2/5/8 batch*0.5 fast*2",
        // Without a profile of Bedrock, a region's prices: a tenth more.
        "bedrock/anthropic.claude-opus-5-5 B 4.4/22/0.22/5.5/8.8",
        "bedrock/anthropic.claude-sonnet-5 G 2.2/11/0.22/2.75/4.4",
        // Twice for input and caches above 272,000 tokens, and one and a half times for output.
        "openai/gpt-6-sol B 2/10/0.2/2.5/5 >272000=4/15/0.4/5/10 batch*0.5 fast*2 flex*0.5 priority*2",
        "gemini/gemini-3.8-flash B 0.75/3.75/0.075 batch*0.5 flex*0.5 priority*1.8",
    ] {
        assert!(text.text().lines().any(|one| one == line), "{line}");
    }
}
