//! Connections: bounded in number, size and time, and ended in order.

use std::net::SocketAddr;
use std::time::Duration;

use jackfield_assembly::{Config, Environment, Registry};
use jackfield_http::{Gateway, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server, and what ends it.
struct Server {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Server {
    async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let environment = Environment::from_iter([("", "")]);
        let assembled = Registry::default().assemble(&config, &environment).unwrap();
        let gateway = Gateway::new(assembled, config, &environment).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, gateway, async {
            let _gone = ended.await;
        }));
        Self {
            address,
            end,
            serving,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn end(self) {
        self.end.send(()).unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.serving).await;
        ended.expect("it ends in time").unwrap();
    }
}

/// Sends a request and reads the head of its answer.
async fn asked(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    head(stream).await
}

async fn head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !read.windows(4).any(|four| four == b"\r\n\r\n") {
            if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                break;
            }
        }
    };
    let came = tokio::time::timeout(PATIENCE, reading).await;
    came.expect("it answers in time");
    String::from_utf8_lossy(&read).into_owned()
}

const NOTHING: &str = "GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[tokio::test]
async fn whoever_finds_no_place_waits_until_there_is_one() {
    let server = Server::start(|config| config.serve.limits.connections = 1).await;
    let mut first = server.connect().await;
    assert!(asked(&mut first, NOTHING).await.starts_with("HTTP/1.1 404"));
    let mut second = server.connect().await;
    second.write_all(NOTHING.as_bytes()).await.unwrap();
    // The first one is still answered, and the second one is not.
    assert!(asked(&mut first, NOTHING).await.starts_with("HTTP/1.1 404"));
    let mut byte = [0];
    let nothing = second.try_read(&mut byte);
    assert!(nothing.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    drop(first);
    assert!(head(&mut second).await.starts_with("HTTP/1.1 404"));
    server.end().await;
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = Server::start(|config| config.serve.limits.headers = 10).await;
    let many: String = (0..20).map(|n| format!("x-{n}: 1\r\n")).collect();
    let large = format!("x-large: {}\r\n", "x".repeat(100 << 10));
    for (headers, status) in [(many, "431"), (large, "431")] {
        let mut stream = server.connect().await;
        let request = format!("GET /v1/models HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        let answer = asked(&mut stream, &request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    server.end().await;
}

#[tokio::test]
async fn slow_senders_are_let_go() {
    let server = Server::start(|config| {
        config.serve.limits.body_time = Duration::from_millis(50);
        config.serve.limits.header_time = Duration::from_millis(50);
    })
    .await;
    let mut silent = server.connect().await;
    silent.write_all(b"GET /v1/mod").await.unwrap();
    // Nothing comes, and the connection ends.
    assert_eq!(head(&mut silent).await, "");
    let mut slow = server.connect().await;
    let request = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    let answer = asked(&mut slow, request).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_not_waited_for() {
    let server = Server::start(|config| config.serve.limits.body = 1000).await;
    let mut stream = server.connect().await;
    let request =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1001\r\n\r\n";
    let answer = asked(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn who_is_idle_holds_up_no_end() {
    let server = Server::start(|_| {}).await;
    let mut idle = server.connect().await;
    assert!(asked(&mut idle, NOTHING).await.starts_with("HTTP/1.1 404"));
    server.end().await;
    assert_eq!(head(&mut idle).await, "");
}

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);
