//! `jackfield serve` in front of a vendor.

use crate::harness::{Running, jackfield};
use crate::upstream::{Upstream, Wire};

/// The token that clients show.
pub(crate) const TOKEN: &str = "a-token-of-the-slices-0123456789";

/// A gateway that runs.
pub(crate) struct Gateway {
    /// Its address, with a port.
    pub(crate) address: String,
    running: Running,
}

impl Gateway {
    /// Starts one in front of this vendor.
    pub(crate) async fn start(wire: Wire, upstream: &Upstream) -> Self {
        Self::start_with(wire, upstream, "").await
    }

    /// Starts one that passes requests in the vendor's own language through.
    pub(crate) async fn start_passing(wire: Wire, upstream: &Upstream) -> Self {
        Self::configured(wire, upstream, PASSING).await
    }

    /// The same, with more in its configuration; the vendor keeps its own responses.
    pub(crate) async fn start_passing_with(wire: Wire, upstream: &Upstream, more: &str) -> Self {
        Self::configured(
            wire,
            upstream,
            &format!("{more}{PASSING}serve.responses = \"upstream\"\n"),
        )
        .await
    }

    /// Starts one for turns, with more in its configuration.
    pub(crate) async fn start_with(wire: Wire, upstream: &Upstream, more: &str) -> Self {
        Self::configured(wire, upstream, &format!("{more}{TURNS}")).await
    }

    async fn configured(wire: Wire, upstream: &Upstream, more: &str) -> Self {
        let text = format!(
            "model = \"fast\"\n{}{more}{CONFIGURATION}",
            wire.configuration(&upstream.base_url())
        );
        let serve = jackfield(["serve", "--bind", "127.0.0.1:0"]).configured(text);
        let serve = serve.env("GEMINI_API_KEY", crate::harness::KEY);
        let serve = serve.env("OPENAI_API_KEY", crate::harness::KEY);
        let mut running = serve.env("GATEWAY_TOKEN", TOKEN).start();
        running.err.until("listening on http://").await;
        running.err.until("\n").await;
        let said = running.err.so_far();
        let (_, rest) = said
            .split_once("listening on http://")
            .expect("it was said");
        let address = rest.split(|c: char| c == ';' || c.is_whitespace()).next();
        Self {
            address: address.expect("an address").to_owned(),
            running,
        }
    }

    /// Asks it to end, which it does in order. Returns its log.
    pub(crate) async fn end(self) -> String {
        self.running.terminate();
        let ran = self.running.end().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    }
}

/// Beside the model: who may ask, tools without asking, and nothing that is tried again by ourselves.
const CONFIGURATION: &str = "
limits.model_retries = 0
serve.limits.drain = \"5s\"
serve.tokens.sdk.env = \"GATEWAY_TOKEN\"
";

/// Every request is a turn, with server tools.
const TURNS: &str = "
serve.offer = \"all\"
serve.passthrough = \"never\"
";

/// Requests in the vendor's own language are passed through, whatever the vendor is.
const PASSING: &str = "
serve.passthrough = \"auto\"
";
