//! TLS: rustls with ring, and the system's certificate authorities.

use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// A configuration, and whether it has any certificate authorities. Reads the system's certificates.
///
/// The crypto provider is passed here and not installed for the whole process, which belongs to the embedding
/// program.
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
        // The only other error is that this machine has no certificate authorities.
        Err(_) => Ok((without_roots()?, false)),
    }
}

/// A configuration without certificate authorities, which can make no TLS connection.
pub(crate) fn without_roots() -> Result<ClientConfig, BoxError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(builder
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}
