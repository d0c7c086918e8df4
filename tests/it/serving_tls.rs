//! The gateway with a certificate of its own.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::harness::{Gateway, Kept, jackfield};

/// Writes a certificate for `localhost` and its key into a folder; the certificate is its own authority.
fn write_certificate(folder: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(folder.join("gateway.key"), signing_key.serialize_pem()).expect("written");
    fs::write(folder.join("gateway.pem"), cert.pem()).expect("written");
    cert.der().clone()
}

/// Whether the gateway answers a client that trusts this authority.
async fn is_trusted(address: &str, authority: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    let Ok(mut stream) = connector.connect(name, stream).await else {
        return false;
    };
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer.starts_with("HTTP/1.1 200")
}

#[tokio::test]
async fn a_renewed_certificate_is_served_without_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = write_certificate(folder.path());
    let shown = folder.path().display();
    let tls = format!(
        "[serve.tls]\ncertificate = \"{shown}/gateway.pem\"\nkey = \"{shown}/gateway.key\"\n"
    );
    let kept = Kept::new();
    let mut gateway = Gateway::listening(kept.gateway().configured(&tls).start()).await;
    let address = gateway.address().to_owned();
    assert!(is_trusted(&address, &first).await);
    // A file that is half of a pair changes nothing.
    fs::write(folder.path().join("gateway.key"), "no key").expect("written");
    let log = &mut gateway.running.err;
    log.until("the certificate stays as it is").await;
    assert!(is_trusted(&address, &first).await);
    let second = write_certificate(folder.path());
    log.until("the new certificate").await;
    assert!(is_trusted(&address, &second).await);
    assert!(!is_trusted(&address, &first).await);
    gateway.end().await;
}

#[tokio::test]
async fn without_its_files_it_does_not_start() {
    let tls = "[serve.tls]\ncertificate = \"missing.pem\"\nkey = \"missing.key\"\n";
    let serve = jackfield(["serve", "--bind", "127.0.0.1:0"]).configured(tls);
    let ran = serve.run().await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.err.contains("missing.pem` cannot be read"),
        "{}",
        ran.err
    );
}
