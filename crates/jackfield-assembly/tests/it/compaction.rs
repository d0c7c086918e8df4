//! Compaction: the share, and the context windows of models.

use jackfield_assembly::{Config, Registry};
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::request::ModelRef;
use jackfield_engine::TurnOptions;

use crate::world::World;

fn with_user(text: &str) -> Config {
    World::new().with_user(text).load().unwrap()
}

fn options(text: &str) -> TurnOptions {
    let config = with_user(text);
    let assembly =
        Registry::default().assemble(&config, &std::iter::empty::<(&str, &str)>().collect());
    assembly.unwrap().options
}

fn window(options: &TurnOptions, model: &str) -> Option<u64> {
    let (provider, model) = model.split_once('/').unwrap();
    options.windows.get(&ModelRef {
        model: model.into(),
        provider: provider.into(),
    })
}

#[test]
fn the_share_is_a_number_and_0_is_never() {
    for (text, percent) in [
        ("", Some(80)),
        ("compaction.at = 0.5", Some(50)),
        ("compaction.at = 0.501", Some(51)),
        ("compaction.at = 0.001", Some(1)),
        ("compaction.at = 1", Some(100)),
        ("compaction.at = 0", None),
    ] {
        let compaction = with_user(text).options.compaction;
        let expected = percent.map(|at_percent| CompactionPolicy { at_percent });
        assert_eq!(compaction, expected, "{text}");
    }
    let wrong = World::new().with_user("compaction.at = 2").problems();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}

#[test]
fn a_window_is_that_of_a_model_or_of_all_models_of_a_provider() {
    let options = options(
        "[models.\"claude/claude-opus-5-5\"]\ncontext_window = 200_000\n\
         [models.ollama]\ncontext_window = 8192\n",
    );
    for (model, expected) in [
        ("claude/claude-opus-5-5", Some(200_000)),
        ("claude/claude-haiku-5-5", None),
        ("ollama/any", Some(8192)),
    ] {
        assert_eq!(window(&options, model), expected, "{model}");
    }
    let none = World::new().with_user("models.ollama.context_window = 0");
    assert_eq!(none.problems().len(), 1);
}
