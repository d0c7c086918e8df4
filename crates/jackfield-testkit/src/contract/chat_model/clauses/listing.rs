//! The clause about the list of models.

use jackfield_domain::failure::{ModelFailureKind, Phase};
use jackfield_ports::chat_model::ChatModel as _;

use super::super::bench::{Bench, KEY};
use super::super::{ChatModelHarness, ScriptedFailure, ScriptedFailureKind};

pub(in super::super) async fn models_are_listed_whole_or_not_at_all<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let ids = ["one", "two", "three"];
    let Some(pages) = harness.render_models(&ids) else {
        match bench.model.models().await {
            Ok(models) => panic!("nothing can be listed, and {models:?} is"),
            Err(error) => {
                let (kind, phase) = (error.failure.kind, error.failure.phase);
                assert_eq!(kind, ModelFailureKind::Unsupported, "{error:?}");
                assert_eq!(phase, Phase::BeforeSend, "{error:?}");
            }
        }
        let asked = bench.server.requests().len();
        assert_eq!(asked, 0, "nobody is to be asked");
        return;
    };
    for page in &pages {
        bench.answer(page.response());
    }
    match bench.model.models().await {
        Ok(listed) => {
            let listed: Vec<&str> = listed.iter().map(|model| &*model.id).collect();
            assert_eq!(listed, ids);
        }
        Err(error) => panic!("the models are not listed: {error:?}"),
    }
    let requests = bench.server.requests();
    assert_eq!(requests.len(), pages.len(), "one request for each page");
    assert!(requests.iter().all(|request| request.method == "GET"));

    let bench = Bench::new(harness).await;
    let refused = ScriptedFailure::new(ScriptedFailureKind::Unauthenticated);
    let refusal = harness.render_failure(&refused).response();
    bench.answer(refusal);
    match bench.model.models().await {
        Ok(models) => panic!("the key is refused, and {models:?} is listed"),
        Err(error) => {
            let kind = error.failure.kind;
            assert_eq!(kind, ModelFailureKind::Unauthenticated, "{error:?}");
            assert!(!format!("{error:?}").contains(KEY), "the key is told");
        }
    }
    assert_eq!(bench.server.requests().len(), 1, "nothing is tried again");
}
