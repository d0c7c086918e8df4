//! The contract of a toolbox, for web APIs.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_testkit::server::{Framing, RecordedRequest, Response, TestServer};
use serde_json::json;

use crate::world::{tool, toolbox};

jackfield_testkit::toolbox_contract!(OverLoopback, except: {
    an_outcome_after_the_drop_is_handed_on => "a request that is dropped takes its connection along",
});

/// An API with a city that answers, one that fails, one that never answers and one that breaks off; and with rooms,
/// of which it books one for each key.
struct OverLoopback {
    server: TestServer,
}

fn answer(request: &RecordedRequest) -> Response {
    match request.path.as_str() {
        "/rooms" => Response::text(200, "booked"),
        "/weather/london" => Response::text(200, "Temperature: 15°C, Cloudy, Wind: 10km/h"),
        "/weather/lasting" => Response::text(200, "").framed(Framing::Chunked).stall(),
        "/weather/crashing" => Response::raw().cut_off(),
        _ => Response::text(404, "no such city"),
    }
}

fn city(name: &str) -> SampleCall {
    SampleCall::new("weather", json!({ "city": name }))
}

#[async_trait]
impl ToolboxHarness for OverLoopback {
    async fn fresh() -> Self {
        Self {
            server: TestServer::start_with(answer).await,
        }
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        let url = format!("{}/weather/{{city}}", self.server.base_url());
        let weather = tool(
            &url,
            &json!({ "city": { "description": "A city" } }),
            |config| {
                (config.name, config.read_only) = ("weather".into(), true);
            },
        );
        let url = format!("{}/rooms", self.server.base_url());
        let book = tool(&url, &json!({ "room": {} }), |config| {
            (config.name, config.method) = ("book".into(), Method::POST);
            (config.idempotent, config.idempotency_key) = (true, true);
        });
        Arc::new(toolbox([weather, book]))
    }

    fn working(&self) -> SampleCall {
        city("london")
    }

    fn acting(&self, nth: usize) -> Vec<SampleCall> {
        vec![SampleCall::new("book", json!({ "room": nth }))]
    }

    fn read_only(&self) -> Vec<SampleCall> {
        vec![city("london"), city("atlantis")]
    }

    async fn effects(&self) -> Option<Vec<String>> {
        let mut effects = Vec::new();
        for request in self.server.requests() {
            let key = request.header("idempotency-key");
            let effect = format!("{} {key:?}", request.method);
            if request.method != "GET" && !effects.contains(&effect) {
                effects.push(effect);
            }
        }
        Some(effects)
    }

    async fn restarted(&self) -> Option<Arc<dyn Toolbox>> {
        Some(self.toolbox())
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(city("atlantis"))
    }

    fn lasting(&self) -> Option<SampleCall> {
        Some(city("lasting"))
    }

    fn crashing(&self) -> Option<SampleCall> {
        Some(city("crashing"))
    }

    fn runs(&self) -> Option<usize> {
        Some(self.server.requests().len())
    }

    fn is_running(&self) -> Option<bool> {
        let requests = self.server.requests();
        let last = requests.iter().rev();
        let mut lasting = last.filter(|request| request.path == "/weather/lasting");
        Some(lasting.any(RecordedRequest::is_open))
    }
}
