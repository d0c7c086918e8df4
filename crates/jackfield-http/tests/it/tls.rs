//! TLS: what clients with and without it get.

use std::sync::Arc;

use jackfield_http::{Certificate, CertificateError, serve};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio_rustls::TlsConnector;

use super::harness::gateway;

/// A certificate for `localhost`, and itself as its authority.
fn certificate() -> (Certificate, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) = (cert.pem(), signing_key.serialize_pem());
    let read = Certificate::parse(chain.as_bytes(), key.as_bytes()).unwrap();
    (read, cert.der().clone())
}

/// What a client that trusts this authority gets from `/healthz`.
async fn health(port: u16, authority: &CertificateDer<'static>) -> Result<String, std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn a_server_with_a_certificate_speaks_tls_alone_and_takes_a_new_one() {
    let (first, first_authority) = certificate();
    let (second, second_authority) = certificate();
    let (present, certificates) = watch::channel(first);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (end, ended) = oneshot::channel::<()>();
    let shutdown = async {
        let _gone = ended.await;
    };
    let gateway = gateway([], |_| {});
    let never = std::future::pending();
    let serving = tokio::spawn(serve(
        listener,
        Some(certificates),
        gateway,
        shutdown,
        never,
    ));
    let answer = health(port, &first_authority).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A client without TLS hears what is wrong.
    let mut plain = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut refusal = Vec::new();
    plain.read_to_end(&mut refusal).await.unwrap();
    let refusal = String::from_utf8(refusal).unwrap();
    let (head, body) = refusal.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert!(
        head.contains(&format!("content-length: {}", body.len())),
        "{refusal}"
    );
    assert!(body.contains("HTTPS"), "{body}");
    present.send_replace(second);
    assert!(health(port, &first_authority).await.is_err());
    let answer = health(port, &second_authority).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A client that is silent does not keep the server from its end.
    let silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    drop(end);
    serving.await.unwrap();
    drop(silent);
}

#[test]
fn files_that_are_no_pair_are_refused() {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([]).unwrap();
    let other = generate_simple_self_signed([]).unwrap();
    let (chain, key) = (cert.pem(), signing_key.serialize_pem());
    let parse =
        |chain: &str, key: &str| Certificate::parse(chain.as_bytes(), key.as_bytes()).map(drop);
    assert!(matches!(parse("", &key), Err(CertificateError::Chain(_))));
    assert!(matches!(parse(&key, &key), Err(CertificateError::Chain(_))));
    assert!(matches!(
        parse(&chain, &chain),
        Err(CertificateError::Key(_))
    ));
    let others = other.signing_key.serialize_pem();
    assert!(matches!(
        parse(&chain, &others),
        Err(CertificateError::Pair(_))
    ));
    assert!(parse(&chain, &key).is_ok());
}
