//! Encryption: rustls over ring, trusting whom the system trusts.

use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// A configuration, and whether it trusts anybody. Reads what the system has of certificates.
///
/// The crypto provider is given here and not installed for the whole process, which is not ours.
pub(crate) fn configure() -> Result<(ClientConfig, bool), BoxError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    match Verifier::new(provider) {
        Ok(verifier) => {
            let verified = builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth();
            Ok((verified, true))
        }
        // What else can go wrong there is that this machine has no certificate authorities.
        Err(_) => Ok((trusting_nobody()?, false)),
    }
}

/// A configuration that trusts nobody, and so never encrypts.
pub(crate) fn trusting_nobody() -> Result<ClientConfig, BoxError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}
