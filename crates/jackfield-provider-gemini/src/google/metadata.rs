//! The metadata server of a machine at Google (Compute Engine documentation, "View and query VM metadata", 2026-11).

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_provider_kit::transport::{Transport, TransportError, TransportSettings};
use tokio::time::timeout;

/// The transport to a metadata server: without a proxy, and without long waiting, as most machines have none.
pub(super) fn transport() -> Result<Transport, TransportError> {
    let mut settings = TransportSettings::default();
    settings.connect_timeout = CONNECT;
    Transport::new(settings)
}

/// The body with a token of the machine's account.
pub(super) async fn ask(transport: &Transport, host: &str) -> Result<Bytes, ModelFailure> {
    let url = format!("http://{host}{PATH}");
    let request = Request::get(url).header(FLAVOR, GOOGLE).body(Bytes::new());
    let request = request.map_err(|_| {
        unauthenticated("GCE_METADATA_HOST is not a host such as `metadata.google.internal`")
    })?;
    let Ok(Ok(incoming)) = timeout(ANSWER, transport.send(request)).await else {
        return Err(unauthenticated(NONE));
    };
    // Other clouds have a server at the same address, which knows nothing of Google.
    if incoming.header(FLAVOR) != Some(GOOGLE) {
        return Err(unauthenticated(NONE));
    }
    match incoming.status().as_u16() {
        200..=299 => Ok(incoming.into_body().await.map_err(|error| error.failure)?),
        404 => Err(unauthenticated(
            "this machine has no service account: attach one with the scope `cloud-platform`, or set \
             GOOGLE_APPLICATION_CREDENTIALS",
        )),
        403 => Err(unauthenticated(
            "the metadata server refuses a token: give the machine's service account the scope `cloud-platform`",
        )),
        status => {
            let message = format!("the metadata server answered with {status}");
            let kind = ModelFailureKind::ServerError;
            Err(ModelFailure::new(kind, Phase::BeforeSend, message))
        }
    }
}

fn unauthenticated(message: &str) -> ModelFailure {
    ModelFailure::new(
        ModelFailureKind::Unauthenticated,
        Phase::BeforeSend,
        message,
    )
}

const NONE: &str = "there are no credentials of Google: run `gcloud auth application-default login`, or set \
                    GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account; on a machine at Google, attach a \
                    service account to it";
const FLAVOR: &str = "metadata-flavor";
const GOOGLE: &str = "Google";
const PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
const CONNECT: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(10);
