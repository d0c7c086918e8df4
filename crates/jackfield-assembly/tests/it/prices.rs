//! Prices: the built-in ones, the user's, and where neither counts.

use jackfield_assembly::Config;
use jackfield_domain::price::{Money, Price};
use jackfield_domain::request::ModelRef;

use crate::world::World;

fn price(config: &Config, provider: &str, model: &str) -> Option<Price> {
    let model = ModelRef {
        model: model.into(),
        provider: provider.into(),
    };
    config.prices().get(&model).cloned()
}

fn with_user(text: &str) -> Config {
    World::new().with_user(text).load().unwrap()
}

#[test]
fn every_built_in_price_has_a_day_and_a_page() {
    let prices = with_user("").prices();
    let text = include_str!("../../src/prices.toml");
    let tables = text.lines().filter(|line| line.starts_with('[')).count();
    assert_eq!(prices.iter().count(), tables);
    for (provider, model, price) in prices.iter() {
        let about = format!("{provider}/{model}: {price:?}");
        let day: Vec<&str> = price.date.split('-').collect();
        assert!(
            matches!(day[..], [year, _, _] if year.len() == 4),
            "{about}"
        );
        assert!(price.source.starts_with("https://"), "{about}");
        assert!(price.rates.cache_read < price.rates.input, "{about}");
        assert!(
            price.rates.input <= price.rates.cache_write
                && price.rates.cache_write < price.rates.output,
            "{about}"
        );
        assert_eq!(&*price.currency, "USD", "{about}");
    }
}

#[test]
fn what_a_file_says_wins_and_a_provider_stands_for_its_models() {
    let config = with_user(
        "[prices.\"claude/claude-opus-5-5\"]\ninput = 1\noutput = 2.5\n\
         [prices.ollama]\ninput = 0\noutput = 0\n\
         [prices.\"ollama/dear:cloud\"]\ninput = 3\noutput = 4\n",
    );
    let opus = price(&config, "claude", "claude-opus-5-5").unwrap();
    assert_eq!(
        (opus.input, opus.output),
        (Money::from_picos(1_000_000), Money::from_picos(2_500_000))
    );
    assert_eq!(
        price(&config, "ollama", "llama3").unwrap().output,
        Money::ZERO
    );
    assert_eq!(
        price(&config, "ollama", "dear:cloud").unwrap().output,
        Money::from_picos(4_000_000)
    );
    // What is not known is not nothing.
    assert_eq!(price(&config, "claude", "claude-unheard-of"), None);
}

#[test]
fn the_list_of_a_vendor_counts_for_the_vendor_alone() {
    let opus = "claude-opus-5-5";
    let elsewhere = "[providers.claude]\nbase_url = \"https://proxy.example\"\n";
    assert_eq!(price(&with_user(elsewhere), "claude", opus), None);
    let again = "[providers.second]\nkind = \"claude\"\n";
    assert!(price(&with_user(again), "second", opus).is_some());
    let dearer = "[settings]\nservice_tier = \"priority\"\n";
    assert!(price(&with_user(dearer), "claude", opus).is_some());
    let euros = "[budget]\ncurrency = \"EUR\"\n";
    assert_eq!(price(&with_user(euros), "claude", opus), None);
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
