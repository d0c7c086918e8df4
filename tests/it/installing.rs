//! The installer, which downloads from a server with TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A release on a server with TLS, and one that redirects to a server without.
struct Release {
    /// Has the archives, a folder of stand-ins for programs, and the certificate.
    folder: TempDir,
    /// Of the server with TLS.
    port: u16,
    /// How many requests came without TLS.
    unencrypted: Arc<AtomicUsize>,
}

impl Release {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        fs::write(here.join("ca.pem"), cert.pem()).expect("written");
        let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a pair");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let plain = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let port = listener.local_addr().expect("an address").port();
        let plain_port = plain.local_addr().expect("an address").port();
        let unencrypted = Arc::new(AtomicUsize::new(0));
        let (files, count) = (here.to_owned(), Arc::clone(&unencrypted));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream, &files, plain_port).await;
                }
            }
        });
        let files = here.to_owned();
        tokio::spawn(async move {
            while let Ok((stream, _)) = plain.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                answer(stream, &files, plain_port).await;
            }
        });
        let release = Self {
            folder,
            port,
            unencrypted,
        };
        release.pack();
        release.stand_in("gh", "exit 1");
        release
    }

    /// Writes the archive, its digest and the installer.
    fn pack(&self) {
        let here = self.folder.path();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let script = fs::read_to_string(root.join("install.sh")).expect("the installer");
        let address = "https://github.com/a/b/releases/download/v1.2.3";
        let script = script
            .replace("version=\"\"", "version=\"1.2.3\"")
            .replace("address=\"\"", &format!("address=\"{address}\""));
        fs::write(here.join("install.sh"), script).expect("written");
        fs::create_dir(here.join(NAME)).expect("made");
        fs::write(here.join(NAME).join("jackfield"), "the program").expect("written");
        let line = "tar -czf $0.tar.gz $0 && \
            { sha256sum $0.tar.gz 2>/dev/null || shasum -a 256 $0.tar.gz; } >$0.tar.gz.sha256";
        let mut pack = Command::new("sh");
        let packed = pack.args(["-c", line, NAME]).current_dir(here).status();
        assert!(packed.expect("started").success());
    }

    /// Puts a program of one line before others of its name.
    fn stand_in(&self, name: &str, line: &str) {
        let folder = self.folder.path().join("stand-ins");
        fs::create_dir_all(&folder).expect("made");
        let program = folder.join(name);
        fs::write(&program, format!("#!/bin/sh\n{line}\n")).expect("written");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("set");
    }

    /// Runs the installer with a folder of the server.
    async fn install(&self, folder: &str) -> Installed {
        let address = format!("https://localhost:{}{folder}", self.port);
        self.install_from(&address).await
    }

    async fn install_from(&self, address: &str) -> Installed {
        let here = self.folder.path();
        let path = std::env::var("PATH").expect("a path");
        let stand_ins = here.join("stand-ins");
        let mut script = Command::new("sh");
        script
            .arg(here.join("install.sh"))
            .env("PATH", format!("{}:{path}", stand_ins.display()))
            .env("CURL_CA_BUNDLE", here.join("ca.pem"))
            .env("HERE", here)
            .env("JACKFIELD_ADDRESS", address)
            .env("JACKFIELD_BIN", here.join("bin"))
            .env("JACKFIELD_TARGET", "x86_64-unknown-linux-gnu");
        for name in [
            "http_proxy",
            "https_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "all_proxy",
        ] {
            script.env_remove(name);
        }
        let ran = tokio::task::spawn_blocking(move || script.output()).await;
        let program = here.join("bin/jackfield");
        Installed::new(&ran.expect("joined").expect("started"), program)
    }
}

/// What the installer did.
struct Installed {
    is_there: bool,
    said: String,
}

impl Installed {
    fn new(output: &Output, program: PathBuf) -> Self {
        let is_there = fs::remove_file(program).is_ok();
        assert_eq!(output.status.success(), is_there, "{output:?}");
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8(said).expect("text");
        Self { is_there, said }
    }

    #[track_caller]
    fn is_refused(&self, because: &str) {
        assert!(
            !self.is_there && self.said.contains(because),
            "{}",
            self.said
        );
    }

    #[track_caller]
    fn is_done(&self, saying: &str) {
        assert!(self.is_there && self.said.contains(saying), "{}", self.said);
    }
}

/// Answers a request with a file of a folder; what is below `/moved` is at another port, without TLS.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, files: &Path, moved: u16) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        request.push(byte);
    }
    let request = String::from_utf8(request).expect("text");
    let path = request.split(' ').nth(1).expect("a path");
    let (head, body) = match path.strip_prefix("/moved/") {
        Some(file) => {
            let place = format!("http://localhost:{moved}/{file}");
            (format!("302 Found\r\nlocation: {place}"), Vec::new())
        }
        None => match fs::read(files.join(path.trim_start_matches('/'))) {
            Ok(bytes) => ("200 OK".to_owned(), bytes),
            Err(_) => ("404 Not Found".to_owned(), Vec::new()),
        },
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    // A client that goes away says so itself.
    let _gone = stream.write_all(&[head.into_bytes(), body].concat()).await;
    let _gone = stream.shutdown().await;
}

const NAME: &str = "jackfield-1.2.3-x86_64-unknown-linux-gnu";

#[tokio::test]
async fn the_installer_downloads_by_https_alone() {
    let release = Release::new().await;
    release.install("").await.is_done("installed: ");
    let moved = release.install("/moved").await;
    moved.is_refused("cannot be downloaded");
    let plain = release.install_from("http://localhost:1").await;
    plain.is_refused("does not begin with https://");
    assert_eq!(release.unencrypted.load(Ordering::SeqCst), 0);
    // A server that is not trusted.
    let other = Release::new().await;
    let ca = release.folder.path().join("ca.pem");
    fs::copy(ca, other.folder.path().join("ca.pem")).expect("copied");
    other.install("").await.is_refused("cannot be downloaded");
}

#[tokio::test]
async fn the_installer_refuses_an_archive_with_another_digest() {
    let release = Release::new().await;
    let digest = release.folder.path().join(format!("{NAME}.tar.gz.sha256"));
    fs::write(digest, format!("{}  {NAME}.tar.gz\n", "0".repeat(64))).expect("written");
    let refused = release.install("").await;
    refused.is_refused("was expected: nothing was installed");
}

#[tokio::test]
async fn the_installer_asks_who_built_the_archive_where_it_can() {
    let release = Release::new().await;
    let unchecked = release.install("").await;
    unchecked.is_done("only the SHA-256 digest was checked");
    unchecked.is_done("there is no gh with `gh attestation`");
    let identity = "https://github.com/a/b/.github/workflows/release.yml@refs/tags/v1.2.3";
    let check = format!("{NAME}.tar.gz --repo a/b --cert-identity {identity}");
    unchecked.is_done(&format!("gh attestation verify {check}"));
    let help = r#"[ "$2" = --help ] && exit 0; echo "$GH_HOST $*" >>"$HERE/asked""#;
    release.stand_in("gh", &format!("{help}; exit 4"));
    let signed_out = release.install("").await;
    signed_out.is_done("gh is not signed in");
    release.stand_in("gh", &format!("{help}; echo no such signer >&2; exit 1"));
    let forged = release.install("").await;
    forged.is_refused("no such signer");
    forged.is_refused("nothing was installed");
    release.stand_in("gh", &format!("{help}; exit 0"));
    let checked = release.install("").await;
    checked.is_done(&format!("checked: {identity} built this archive"));
    assert!(!checked.said.contains("only the"), "{}", checked.said);
    let asked = fs::read_to_string(release.folder.path().join("asked")).expect("asked");
    assert_eq!(asked.lines().count(), 3);
    for line in asked.lines() {
        assert!(
            line.starts_with("github.com attestation verify /"),
            "{line}"
        );
        assert!(line.ends_with(&check), "{line}");
    }
}
