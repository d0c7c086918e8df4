//! The certificate of a server with TLS.

use std::error::Error;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};

/// A certificate with its key, for [`serve`](crate::serve).
#[derive(Clone, Debug)]
pub struct Certificate(pub(crate) Arc<ServerConfig>);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The chain is no PEM file with certificates.
    #[error("it has no certificate in PEM form")]
    Chain(#[source] Box<dyn Error + Send + Sync>),
    /// The key is no PEM file with a private key.
    #[error("it has no private key in PEM form")]
    Key(#[source] Box<dyn Error + Send + Sync>),
    /// They cannot be used, or do not belong together.
    #[error("the certificate and the key cannot be used together")]
    Pair(#[source] Box<dyn Error + Send + Sync>),
}

impl Certificate {
    /// Reads a chain of certificates, the server's own first, and its private key, both in PEM form. TLS 1.2 and 1.3
    /// are served.
    ///
    /// # Errors
    ///
    /// [`CertificateError`].
    pub fn parse(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| CertificateError::Chain(error.into()))?;
        if chain.is_empty() {
            return Err(CertificateError::Chain(pem::Error::NoItemsFound.into()));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| CertificateError::Key(error.into()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth());
        let config = config.and_then(|builder| builder.with_single_cert(chain, key));
        let mut config = config.map_err(|error| CertificateError::Pair(error.into()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}
