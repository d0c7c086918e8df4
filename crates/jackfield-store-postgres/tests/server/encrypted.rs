//! Connections that are encrypted: the certificate and the host name are verified, whatever the address says.

use jackfield_ports::journal::Journal as _;
use jackfield_store_postgres::{OpenError, PostgresJournal};
use jackfield_testservers::postgres::PostgresServer;
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::harness::{Place, address, session};

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_encrypted_and_verified_or_none() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let mut server = PostgresServer::start().expect("a server");
    let port = server
        .encrypt(&cert.pem(), &signing_key.serialize_pem())
        .expect("encrypted");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("ca.pem");
    std::fs::write(&root, cert.pem()).expect("written");
    let other = folder.path().join("other.pem");
    let stranger = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(&other, stranger.cert.pem()).expect("written");
    let place = Place::new();
    let open = |host: &str, options: &str| {
        let url = format!("postgres://postgres@{host}:{port}/postgres?{options}");
        PostgresJournal::open(address(&url), place.options())
    };
    let rooted = |mode: &str| format!("{mode}sslrootcert={}", root.display());
    // With a file of authorities, encryption is the default even here.
    for mode in ["sslmode=verify-full&", "sslmode=require&", ""] {
        let journal = open("localhost", &rooted(mode)).expect("a journal");
        journal.own(&session("s")).await.expect("a lease");
        let used = server
            .sql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND client_port > 0")
            .expect("counted");
        assert_ne!(used, "0", "{mode}");
        journal.close().await;
    }
    let refusals = [
        // Another name than that in the certificate.
        open("127.0.0.1", &rooted("sslmode=verify-full&")),
        open("127.0.0.1", &rooted("sslmode=require&")),
        // The authorities of the machine do not know it, nor does another one.
        open("localhost", "sslmode=require"),
        open(
            "localhost",
            &format!("sslmode=verify-full&sslrootcert={}", other.display()),
        ),
    ];
    for refused in refusals {
        let error = refused.expect_err("not verified");
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    // The server takes nothing else.
    let error = open("localhost", "sslmode=disable")
        .expect_err("not encrypted")
        .to_string();
    assert!(error.contains("no encryption"), "{error}");
    let missing = folder.path().join("missing.pem");
    let missing = format!("sslmode=verify-full&sslrootcert={}", missing.display());
    let error = open("localhost", &missing)
        .expect_err("no file")
        .to_string();
    assert!(error.contains("missing.pem"), "{error}");
}
