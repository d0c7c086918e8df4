//! Prices: the built-in ones, the user's, and where neither counts.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use jackfield_assembly::{Config, PriceOrigin, PricesFile, preferred_models};
use jackfield_domain::price::{Money, Price, ServiceTier};
use jackfield_domain::request::ModelRef;
use jackfield_domain::time::WallTime;
use jackfield_prices::Catalogue;

use crate::world::World;

fn model(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        model: model.into(),
        provider: provider.into(),
    }
}

fn price(config: &Config, provider: &str, name: &str) -> Option<Price> {
    let model = model(provider, name);
    let price = config.prices().get(&model);
    assert_eq!(config.known_price(&model).map(|known| known.price), price);
    price
}

fn with_user(text: &str) -> Config {
    World::new().with_user(text).load().unwrap()
}

#[test]
fn a_price_of_ones_own_wins_and_a_provider_stands_for_its_models() {
    let config = with_user(
        "[prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 2.5\n\
         [prices.mistral]\ninput = 0\noutput = 0\n\
         [prices.\"mistral/dear\"]\ninput = 3\noutput = 4\n",
    );
    let opus = price(&config, "claude", "claude-opus-5-5").unwrap().rates;
    assert_eq!(
        (opus.input, opus.output),
        (Money::from_picos(1_000_000), Money::from_picos(2_500_000))
    );
    let output = |model| price(&config, "mistral", model).unwrap().rates.output;
    assert_eq!(output("mistral-large-latest"), Money::ZERO);
    assert_eq!(output("dear"), Money::from_picos(4_000_000));
    // An unknown price is not zero.
    assert_eq!(price(&config, "claude", "claude-unheard-of"), None);
}

#[test]
fn the_list_of_a_vendor_counts_for_the_vendor_alone() {
    let opus = "claude-opus-5-5";
    let elsewhere = "[providers.claude]\nbase_url = \"https://proxy.example\"\n";
    assert_eq!(price(&with_user(elsewhere), "claude", opus), None);
    let usual = "[providers.claude]\nbase_url = \"https://api.anthropic.com/\"\n";
    assert!(price(&with_user(usual), "claude", opus).is_some());
    let again = "[providers.second]\nkind = \"claude\"\n";
    assert!(price(&with_user(again), "second", opus).is_some());
    let dearer = "[settings]\nservice_tier = \"priority\"\n";
    assert!(price(&with_user(dearer), "claude", opus).is_some());
    let euros = "[budget]\ncurrency = \"EUR\"\n";
    assert_eq!(price(&with_user(euros), "claude", opus), None);
    for (table, model, is_known) in [
        (
            "kind = \"azure\"\nbase_url = \"https://r.openai.azure.com\"",
            "gpt-5",
            true,
        ),
        (
            "kind = \"azure\"\nbase_url = \"https://openai.azure.com.evil.example\"",
            "gpt-5",
            false,
        ),
        (
            "kind = \"claude-foundry\"\nbase_url = \"https://r.services.ai.azure.com/anthropic\"",
            opus,
            true,
        ),
        (
            "kind = \"claude-bedrock\"\nbase_url = \"https://bedrock-mantle.us-east-1.api.aws/anthropic\"",
            "anthropic.claude-opus-5-5",
            true,
        ),
        (
            "kind = \"gemini-vertex\"\nlocation = \"global\"",
            "gemini-3.8-flash",
            true,
        ),
        (
            "kind = \"gemini-vertex\"\nlocation = \"europe-west4\"",
            "gemini-3.8-flash",
            false,
        ),
        (
            "kind = \"bedrock\"\nregion = \"us-east-1\"",
            "us.amazon.nova-pro-v1:0",
            true,
        ),
    ] {
        let config = with_user(&format!("[providers.p]\n{table}\n"));
        assert_eq!(price(&config, "p", model).is_some(), is_known, "{table}");
    }
}

#[test]
fn the_list_counts_for_the_global_location_of_the_environment_alone() {
    for (location, table, is_known) in [
        ("europe-west4", "project = \"p\"", false),
        (
            "europe-west4",
            "project = \"p\"\nlocation = \"global\"",
            true,
        ),
        ("global", "project = \"p\"", true),
        (" ", "project = \"p\"", true),
    ] {
        let table = format!("[providers.gemini-vertex]\n{table}\n");
        let mut world = World::new().with_user(&table);
        world.variables = vec![("GOOGLE_CLOUD_LOCATION", location)];
        let config = world.load().unwrap();
        let known = price(&config, "gemini-vertex", "gemini-3.8-flash");
        assert_eq!(known.is_some(), is_known, "{location} {table}");
    }
}

#[test]
fn a_list_that_no_start_could_read_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = PricesFile::beside(&folder.path().join("config.toml"));
    let large = Catalogue::parse("#\n".repeat(9 << 20)).unwrap();
    let error = file.write(&large).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(!file.path().exists());
}

#[test]
fn a_server_of_ones_own_costs_nothing() {
    let free = |provider: &str, address: Option<&str>, model: &str| {
        let address =
            address.map_or_else(String::new, |address| format!("base_url = \"{address}\"\n"));
        let config = with_user(&format!(
            "[providers.{provider}]\n{address}[budget]\ncurrency = \"EUR\"\n"
        ));
        price(&config, provider, model).map(|price| {
            assert_eq!((&*price.source, &*price.currency), ("local", "EUR"));
            price.rates.output
        })
    };
    for provider in ["llama-cpp", "lm-studio", "ollama", "sglang", "vllm"] {
        assert_eq!(free(provider, None, "any"), Some(Money::ZERO), "{provider}");
    }
    for (address, is_local) in [
        ("http://gpu-box:8000", true),
        ("http://10.0.0.7:8000", true),
        ("http://[::1]:8000", true),
        ("http://gpu.internal", true),
        ("https://models.example.com", false),
        ("http://8.8.8.8", false),
    ] {
        assert_eq!(
            free("vllm", Some(address), "any").is_some(),
            is_local,
            "{address}"
        );
    }
    assert_eq!(free("ollama", None, "gpt-oss:120b-cloud"), None);
    assert_eq!(free("mistral", None, "mistral-large-latest"), None);
}

#[test]
fn an_imported_list_wins_over_ours_and_a_broken_one_is_named_by_line() {
    let list = "@A 2026-12-01 a test\nclaude/claude-opus-5-5 A 1/2 until=2026-12-24\n";
    let world = || World::new().with_user("[aliases]\nold = \"claude/claude-opus-5-5\"\n");
    let config = world()
        .with(".config/jackfield/prices.txt", list)
        .load()
        .unwrap();
    let model = model("claude", "claude-opus-5-5");
    let known = config.known_price(&model).unwrap();
    assert_eq!(known.price.rates.output, Money::from_picos(2_000_000));
    assert!(
        matches!(known.origin, PriceOrigin::Imported(_)),
        "{known:?}"
    );
    // It says no day of the vendor: ours does.
    let undated = "@A 2026-12-01 a test\nbedrock/anthropic.claude-opus-4-1-20250805-v1:0 A 1/2\n";
    let undated = World::new()
        .with_user("[providers.bedrock]\nregion = \"us-east-1\"\n")
        .with(".config/jackfield/prices.txt", undated)
        .load()
        .unwrap();
    let opus = self::model("bedrock", "anthropic.claude-opus-4-1-20250805-v1:0");
    assert_eq!(
        undated.known_price(&opus).unwrap().price.rates.output,
        Money::from_picos(2_000_000)
    );
    assert_eq!(undated.retires(&opus).as_deref(), Some("2027-01-08"));
    // What it lacks is in ours.
    assert!(price(&config, "openai", "gpt-6-sol").is_some());
    let broken = format!("{list}claude/z A cheap\n");
    let error = world()
        .with(".config/jackfield/prices.txt", broken)
        .load()
        .unwrap_err();
    let error = error.to_string();
    assert!(error.contains("prices.txt:3: is not a price"), "{error}");
}

#[test]
fn a_model_that_is_retired_within_90_days_is_named() {
    let list = "@A 2026-12-01 a test\nclaude/claude-opus-5-5 A 1/2 until=2026-12-24\nclaude/fine A 1/2 until=2028-01-01\n";
    let user = "model = \"claude/fine\"\n[aliases]\nold = \"claude/claude-opus-5-5\"\n";
    let config = World::new().with_user(user);
    let config = config
        .with(".config/jackfield/prices.txt", list)
        .load()
        .unwrap();
    let at = |day: &str| {
        let now = WallTime::from_rfc3339(&format!("{day}T12:00:00Z")).unwrap();
        let retiring = config.retiring(now).into_iter();
        retiring
            .map(|(model, day)| format!("{} {day}", model.model))
            .collect::<Vec<_>>()
    };
    assert_eq!(at("2026-09-24"), [] as [String; 0]);
    assert_eq!(at("2026-09-25"), ["claude-opus-5-5 2026-12-24"]);
    assert_eq!(at("2027-06-01"), ["claude-opus-5-5 2026-12-24"]);
    assert_eq!(at("2028-06-01").len(), 2);
}

#[test]
fn a_price_of_ones_own_has_tiers_and_thresholds() {
    let config = with_user(
        "[prices.\"claude/x\"]\ninput = 1\noutput = 5\ncache_read = 0.1\ncache_write_long = 2\nvariants = [\n\
         { above = 200_000, input = 2, output = 7.5 },\n\
         { tier = \"batch\", input = 0.5, output = 2.5, cache_read = 0.05 },\n]\n",
    );
    let price = price(&config, "claude", "x").unwrap();
    let picos = Money::from_picos;
    let rates = |tier, input| {
        price
            .rates_of(tier, input)
            .map(|rates| (rates.input, rates.cache_read))
    };
    assert_eq!(
        rates(None, 200_000),
        Some((picos(1_000_000), picos(100_000)))
    );
    assert_eq!(
        rates(None, 200_001),
        Some((picos(2_000_000), picos(200_000)))
    );
    let long = price.rates_of(None, 200_001).unwrap().cache_write_long;
    assert_eq!(long, Some(picos(4_000_000)));
    assert_eq!(
        rates(Some(ServiceTier::Batch), 9),
        Some((picos(500_000), picos(50_000)))
    );
    assert_eq!(rates(Some(ServiceTier::Flex), 9), None);
    assert_eq!(price.rates.cache_write_long, Some(picos(2_000_000)));
    for (variants, expected) in [
        ("1", "this must be a list of tables"),
        ("[1]", "a variant must be a table"),
        (
            "[{ input = 1, output = 1 }]",
            "a variant has `above`, `tier` or both",
        ),
        (
            "[{ above = 1, input = 1 }]",
            "a variant has `input` and `output`",
        ),
        (
            "[{ tier = \"cheap\", input = 1, output = 1 }]",
            "there is no tier `cheap`: there are batch, fast",
        ),
        (
            "[{ tier = \"other\", input = 1, output = 1 }]",
            "there is no tier `other`",
        ),
        ("[{ above = -1, input = 1, output = 1 }]", "`above`: "),
        ("[{ above = 1, input = -1, output = 1 }]", "`input`: "),
        (
            "[{ above = 1, inputs = 1, output = 1 }]",
            "`inputs`: a variant has no such key",
        ),
        (
            "[{ above = 1, input = 1, output = 1 }, { above = 1, input = 2, output = 1 }]",
            "two variants hold",
        ),
    ] {
        let text = format!("[prices.\"claude/x\"]\ninput = 1\noutput = 5\nvariants = {variants}\n");
        let error = World::new().with_user(text).load().unwrap_err().to_string();
        assert!(error.contains(expected), "{variants}: {error}");
    }
}

#[test]
fn an_unpriced_model_is_allowed_by_a_file_of_ones_own_alone() {
    let text = "[budget]\ncost = 1\nunpriced = \"allow\"\n";
    assert!(with_user(text).options.allowance.unpriced);
    assert!(!with_user("[budget]\ncost = 1\n").options.allowance.unpriced);
    let error = World::new()
        .with_project(text)
        .load()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("allows no models without a price"),
        "{error}"
    );
    let refused = "[budget]\nunpriced = \"refuse\"\n";
    let config = World::new()
        .with_user(text)
        .with_project(refused)
        .load()
        .unwrap();
    assert!(!config.options.allowance.unpriced);
}

#[test]
fn a_budget_in_money_holds_on_each_model_that_the_documents_name() {
    let providers = "[providers.claude-code]\n[providers.bedrock]\nregion = \"us-east-1\"\n\
                     [providers.gemini-vertex]\nproject = \"p\"\n";
    let config = with_user(providers);
    let documents = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/configuration.md"),
        include_str!("../../../../docs/guides/run-the-gateway.md"),
        include_str!("../../../../docs/guides/use-claude-code.md"),
        include_str!("../../../../docs/guides/use-codex.md"),
        include_str!("../../../../docs/guides/use-cline.md"),
    ];
    let words = documents
        .iter()
        .flat_map(|text| text.split(['`', '"', '\'', ' ', '\n', '(', ')', ',']));
    let mut named: BTreeSet<(&str, &str)> = words
        .filter_map(|word| word.split_once('/'))
        .filter(|(provider, _)| config.providers.contains_key(*provider))
        .filter(|(_, model)| model.starts_with(|letter: char| letter.is_ascii_lowercase()))
        .filter(|(_, model)| !model.contains(['*', '{', ':']) || model.contains("v1:0"))
        .collect();
    // Those that are asked without any configuration.
    let preferred: Vec<_> = preferred_models().collect();
    named.extend(
        preferred
            .iter()
            .map(|model| (&*model.provider, &*model.model)),
    );
    for expected in [
        ("bedrock", "us.amazon.nova-pro-v1:0"),
        ("deepseek", "deepseek-flash"),
        ("gemini-vertex", "gemini-3.8-flash"),
        ("openai", "gpt-6-sol"),
        ("openrouter", "anthropic/claude-opus-5.5"),
    ] {
        assert!(named.contains(&expected), "{named:?}");
    }
    let unknown: Vec<_> = named
        .into_iter()
        .filter(|(provider, model)| price(&config, provider, model).is_none())
        // It says itself what it billed.
        .filter(|(provider, _)| *provider != "claude-code")
        .collect();
    assert_eq!(unknown, []);
}

#[test]
fn a_price_that_cannot_be_meant_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "[prices.\"a/b-*\"]\ninput = 1\noutput = 1\n",
            "1: key `prices.\"a/b-*\"`: a price is that of one model",
        ),
        (
            "[prices.\"*\"]\ninput = 1\noutput = 1\n",
            "1: key `prices.\"*\"`: a price is that of one model",
        ),
        (
            "[prices.\"a/\"]\ninput = 1\noutput = 1\n",
            "1: key `prices.\"a/\"`: a price is that of one model",
        ),
        (
            "[prices.\"/b\"]\ninput = 1\noutput = 1\n",
            "1: key `prices.\"/b\"`: a price is that of one model",
        ),
        (
            "[prices.\"\"]\ninput = 1\noutput = 1\n",
            "1: key `prices.\"\"`: a price is that of one model",
        ),
        (
            "[prices.a]\ninput = 1\n",
            "1: key `prices.a`: a price has `input` and `output`",
        ),
        ("[prices.a]\ninput = -1\noutput = 1\n", "`prices.a.input`"),
        (
            "[prices.a]\ninput = 0.0000001\noutput = 1\n",
            "more than six decimals",
        ),
        (
            "[prices.a]\ninput = 1e3\noutput = 1\n",
            "`1e3` is not an amount of money",
        ),
        (
            "[budget]\ncost = \"0.50 EUR\"\n",
            "prices and budgets are in USD, not in EUR",
        ),
        (
            "[budget]\ncost = \"a lot\"\n",
            "`lot` is not the code of a currency",
        ),
        (
            "[budget]\ncurrency = \"dollars\"\n",
            "`dollars` is not the code of a currency",
        ),
    ] {
        let error = World::new().with_user(text).load().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        // Each thing is told once, as what it is.
        assert_eq!(error.matches("key `").count(), 1, "{text}: {error}");
    }
    // Not even a smaller one: a file that was merely found does not say what a budget buys.
    let error = World::new()
        .with_project("[prices.claude]\ninput = 0\noutput = 0\n")
        .load()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not say what anything costs"),
        "{error}"
    );
}

#[test]
fn a_price_that_is_nobodys_is_remarked_upon() {
    let config = with_user(
        "[prices.\"opnai/gpt-4.1\"]\ninput = 1\noutput = 2\n\
         [prices.openai]\ninput = 1\noutput = 2\n\
         [prices.\"mine/x\"]\ninput = 1\noutput = 2\n\
         [providers.mine]\nkind = \"vllm\"\n",
    );
    let remarks: Vec<String> = config.remarks.iter().map(ToString::to_string).collect();
    let [remark] = &remarks[..] else {
        panic!("{remarks:?}");
    };
    assert!(
        remark.contains("`prices.\"opnai/gpt-4.1\"`: not used"),
        "{remark}"
    );
    assert!(remark.contains("did you mean `openai`?"), "{remark}");
}
