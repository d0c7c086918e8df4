//! The certificate of the gateway, from files that may change.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_assembly::TlsConfig;
use jackfield_domain::digest::Digest;
use jackfield_engine::chain;
use jackfield_http::{Certificate, CertificateError};
use thiserror::Error;
use tokio::sync::watch;

/// Why the files of `[serve.tls]` give no certificate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// They cannot be used.
    #[error("`{}` and `{}` cannot be used for TLS", certificate.display(), key.display())]
    Invalid {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
        #[source]
        source: CertificateError,
    },
    /// One of them cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Reads the certificate of these files. Blocks on the disk.
///
/// # Errors
///
/// [`TlsError`].
pub fn read_certificate(files: &TlsConfig) -> Result<Certificate, TlsError> {
    parse(files, &FileContents::read(files)?)
}

/// The files of a certificate that was read.
#[derive(Debug)]
pub(crate) struct CertificateFiles {
    /// The digest of what they had.
    digest: Digest,
    files: TlsConfig,
    /// Why they give no certificate now.
    problem: Option<String>,
}

struct FileContents {
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl CertificateFiles {
    /// Reads the certificate of these files. Blocks on the disk.
    pub(crate) fn open(files: TlsConfig) -> Result<(Self, Certificate), TlsError> {
        let contents = FileContents::read(&files)?;
        let certificate = parse(&files, &contents)?;
        let files = Self {
            digest: contents.digest(),
            files,
            problem: None,
        };
        Ok((files, certificate))
    }

    /// Publishes the certificate whenever the files have changed, and never returns. Files that give no certificate
    /// change nothing, and the log says why.
    pub(crate) async fn follow(mut self, present: watch::Sender<Certificate>) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let looked = tokio::task::spawn_blocking(move || {
                let changed = self.changed();
                (self, changed)
            });
            let Ok((files, changed)) = looked.await else {
                tracing::error!("the files of the certificate are no longer looked at");
                return;
            };
            self = files;
            if let Some(certificate) = changed {
                present.send_replace(certificate);
                tracing::info!("connections get the new certificate from now on");
            }
        }
    }

    /// The certificate, if the files have changed.
    fn changed(&mut self) -> Option<Certificate> {
        let read = FileContents::read(&self.files).and_then(|contents| {
            let digest = contents.digest();
            let certificate = (digest != self.digest)
                .then(|| parse(&self.files, &contents))
                .transpose()?;
            Ok((digest, certificate))
        });
        match read {
            Ok((digest, certificate)) => {
                (self.digest, self.problem) = (digest, None);
                certificate
            }
            Err(error) => {
                let problem = chain(&error);
                if self.problem.as_ref() != Some(&problem) {
                    tracing::warn!(why = problem, "the certificate stays as it is");
                    self.problem = Some(problem);
                }
                None
            }
        }
    }
}

impl FileContents {
    fn read(files: &TlsConfig) -> Result<Self, TlsError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            |source| TlsError::Unreadable { path, source }
        };
        Ok(Self {
            chain: files
                .read_certificate()
                .map_err(unreadable(&files.certificate))?,
            key: files.read_key().map_err(unreadable(&files.key))?,
        })
    }

    fn digest(&self) -> Digest {
        let digests = [&self.chain, &self.key].map(|bytes| Digest::of(bytes).to_hex());
        Digest::of_parts(digests.iter().map(String::as_str))
    }
}

fn parse(files: &TlsConfig, contents: &FileContents) -> Result<Certificate, TlsError> {
    let parsed = Certificate::parse(&contents.chain, &contents.key);
    parsed.map_err(|source| TlsError::Invalid {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        source,
    })
}

/// How often the files are read.
const INTERVAL: Duration = Duration::from_secs(2);
