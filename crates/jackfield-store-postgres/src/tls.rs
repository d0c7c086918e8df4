//! Encryption of connections: rustls with ring, as everywhere.

use std::path::Path;
use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use rustls_tokio_postgres::MakeRustlsConnect;

/// A connector that verifies certificates by the authorities of this machine, or by those in this file.
///
/// The crypto provider is passed here and not installed for the whole process, which belongs to the embedding
/// program.
pub(crate) fn connector(root: Option<&Path>) -> Result<MakeRustlsConnect, BoxError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match root {
        Some(file) => {
            let named = |fault: &dyn std::fmt::Display| format!("{}: {fault}", file.display());
            let mut roots = RootCertStore::empty();
            let certificates =
                CertificateDer::pem_file_iter(file).map_err(|fault| named(&fault))?;
            for certificate in certificates {
                roots.add(certificate.map_err(|fault| named(&fault))?)?;
            }
            if roots.is_empty() {
                return Err(named(&"there is no certificate in it").into());
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}
