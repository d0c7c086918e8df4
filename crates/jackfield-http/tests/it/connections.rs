//! Connections: bounded in number, size and time, and ended in order.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway, GatewayConfig};
use jackfield_http::serve;
use jackfield_testkit::fakes::{Gate, ScriptedReply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::harness::{gateway, principal};

/// A server, and what ends it.
pub(crate) struct Server {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        Self::of(gateway([], change)).await
    }

    /// A server of this gateway.
    pub(crate) async fn of(gateway: Gateway) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel();
        let shutdown = async {
            let _gone = ended.await;
        };
        let serving = tokio::spawn(serve(
            listener,
            None,
            gateway,
            shutdown,
            std::future::pending(),
        ));
        Self {
            address,
            end,
            serving,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(crate) async fn end(self) {
        self.end.send(()).unwrap();
        let ended = tokio::time::timeout(TIME_LIMIT, self.serving).await;
        ended.expect("it ends in time").unwrap();
    }
}

/// Sends a request and reads its answer.
pub(crate) async fn asked(stream: &mut TcpStream, request: &str) -> String {
    // Who is refused early need not be heard to the end.
    let _refused = stream.write_all(request.as_bytes()).await;
    answer(stream).await
}

/// An answer with its body; nothing if the connection ends before.
pub(crate) async fn answer(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !is_whole(&read) {
            if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                break;
            }
        }
    };
    let came = tokio::time::timeout(TIME_LIMIT, reading).await;
    came.expect("it answers in time");
    String::from_utf8_lossy(&read).into_owned()
}

fn is_whole(read: &[u8]) -> bool {
    let text = String::from_utf8_lossy(read);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| {
        length
            .parse()
            .is_ok_and(|length: usize| body.len() >= length)
    })
}

/// A request with this body.
fn post(path: &str, key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// A request of a stranger, who never sends the rest of its body.
const HALF_A_BODY: &str = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{";

const NOTHING: &str = "GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[tokio::test]
async fn an_idle_connection_makes_room_for_a_new_one() {
    let server = Server::start(|config| config.limits.connections = 1).await;
    let mut first = server.connect().await;
    assert!(asked(&mut first, NOTHING).await.starts_with("HTTP/1.1 404"));
    assert!(asked(&mut first, NOTHING).await.starts_with("HTTP/1.1 404"));
    let mut second = server.connect().await;
    assert!(
        asked(&mut second, NOTHING)
            .await
            .starts_with("HTTP/1.1 404")
    );
    assert_eq!(answer(&mut first).await, "");
    server.end().await;
}

#[tokio::test]
async fn a_connection_whose_request_is_answered_makes_no_room() {
    let gate = Gate::new();
    let replies = [ScriptedReply::text("Slowly").held_at(&gate)];
    let gateway = gateway(replies, |config| config.limits.connections = 1);
    let server = Server::of(gateway).await;
    let mut first = server.connect().await;
    let body = r#"{"model":"model","messages":[{"role":"user","content":"Hi"}]}"#;
    let request = post("/v1/chat/completions", "any", body);
    first.write_all(request.as_bytes()).await.unwrap();
    gate.reached().await;
    let mut second = server.connect().await;
    second.write_all(NOTHING.as_bytes()).await.unwrap();
    let mut byte = [0];
    let nothing = second.try_read(&mut byte);
    assert!(nothing.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    gate.open();
    let whole = answer(&mut first).await;
    assert!(whole.contains("Slowly"), "{whole}");
    assert!(answer(&mut second).await.starts_with("HTTP/1.1 404"));
    server.end().await;
}

#[tokio::test]
async fn strangers_that_wait_make_room_before_clients_do() {
    let server = Server::start(|config| {
        config.limits.connections = 8;
        let clients = ["ann", "ben"].map(|name| {
            let client = principal(name, ServerTools::All);
            (Digest::of(name.as_bytes()), client)
        });
        config.api_keys = ApiKeys::new(clients);
    })
    .await;
    let models = |key: &str| {
        format!("GET /v1/models HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n")
    };
    let (mut ann, mut ben) = (server.connect().await, server.connect().await);
    let is_answered = |answer: String| assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    is_answered(asked(&mut ann, &models("ann")).await);
    is_answered(asked(&mut ben, &models("ben")).await);
    let mut strangers = Vec::new();
    for nth in 0..20 {
        let mut stranger = server.connect().await;
        let asks = match nth % 4 {
            0 => "",
            1 => "GET / HT",
            2 => HALF_A_BODY,
            _ => NOTHING,
        };
        stranger.write_all(asks.as_bytes()).await.unwrap();
        strangers.push(stranger);
    }
    // These have been idle for longer than any of them.
    is_answered(asked(&mut ann, &models("ann")).await);
    is_answered(asked(&mut ben, &models("ben")).await);
    let mut newcomer = server.connect().await;
    is_answered(asked(&mut newcomer, &models("ann")).await);
    assert_eq!(answer(&mut strangers[0]).await, "");
    server.end().await;
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = Server::start(|config| config.limits.headers = 10).await;
    let request =
        |headers: &str| format!("GET /nothing HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    let some: String = (0..9).map(|n| format!("x-{n}: 1\r\n")).collect();
    let mut stream = server.connect().await;
    assert!(
        asked(&mut stream, &request(&some))
            .await
            .starts_with("HTTP/1.1 404")
    );
    let more = asked(&mut stream, &request(&format!("{some}x-9: 1\r\n"))).await;
    assert!(more.starts_with("HTTP/1.1 431"), "{more}");
    // The line of the request is part of it, and so is the empty line behind it.
    let long = |length: usize| {
        let rest = request("x-long: \r\n").len();
        request(&format!("x-long: {}\r\n", "x".repeat(length - rest)))
    };
    for (length, status) in [(64 << 10, 404), ((64 << 10) + 1, 431), (100 << 10, 431)] {
        let mut stream = server.connect().await;
        let answer = asked(&mut stream, &long(length)).await;
        let begin = format!("HTTP/1.1 {status}");
        // Here, too, what was sent too much may take the answer along.
        let is_lost = length > (65 << 10) && answer.is_empty();
        assert!(is_lost || answer.starts_with(&begin), "{length}: {answer}");
    }
    let large = format!("x-large: {}\r\n", "x".repeat(1 << 20));
    let mut stream = server.connect().await;
    let refused = asked(&mut stream, &request(&large)).await;
    // What was sent too much may take the answer along.
    assert!(
        refused.is_empty() || refused.starts_with("HTTP/1.1 431"),
        "{refused}"
    );
    server.end().await;
}

#[tokio::test]
async fn slow_senders_are_let_go() {
    let server = Server::start(|config| {
        config.limits.body_time = Duration::from_millis(50);
        config.limits.header_time = Duration::from_millis(50);
    })
    .await;
    let mut silent = server.connect().await;
    silent.write_all(b"GET /v1/mod").await.unwrap();
    // Nothing comes, and the connection ends.
    assert_eq!(answer(&mut silent).await, "");
    let mut slow = server.connect().await;
    let request = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    let answer = asked(&mut slow, request).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn an_idempotency_key_that_is_none_is_refused_by_its_name() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    for path in ["chat/completions", "messages", "responses"] {
        for key in ["", "  ", "\u{e9}", &"k".repeat(256)] {
            let request = format!(
                "POST /v1/{path} HTTP/1.1\r\nhost: localhost\r\nidempotency-key: {key}\r\n\
                 content-length: 2\r\n\r\n{{}}"
            );
            let answer = asked(&mut stream, &request).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
            assert!(answer.contains("`idempotency-key`"), "{answer}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn an_address_that_is_no_text_is_refused_as_the_dialect_refuses() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    for (path, header, says) in [
        ("models/%ff", "", r#"{"error":{"#),
        (
            "models/%ff",
            "anthropic-version: 2023-06-01\r\n",
            r#""type":"error""#,
        ),
        ("responses/%ff", "", r#"{"error":{"#),
        ("responses/%ff/input_items", "", r#"{"error":{"#),
    ] {
        let request = format!("GET /v1/{path} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n");
        let answer = asked(&mut stream, &request).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert!(answer.contains(says), "{answer}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_not_waited_for() {
    let server = Server::start(|config| config.limits.body = 1000).await;
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
    assert_eq!(answer(&mut idle).await, "");
}

/// A client that has asked for more than fits between it and the server, and has read nothing of it; and how
/// many answers that are.
async fn deaf(server: &Server) -> (TcpStream, usize) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let one = asked(&mut stream, DOCUMENT).await;
    let times = (16 << 20) / one.len();
    stream
        .write_all(DOCUMENT.repeat(times).as_bytes())
        .await
        .unwrap();
    (stream, times * one.len())
}

#[tokio::test]
async fn who_reads_nothing_of_its_answer_gives_its_place_to_another() {
    let server = Server::start(|config| {
        config.limits.connections = 1;
        config.limits.write_time = Duration::from_millis(50);
    })
    .await;
    let (mut deaf, expected) = deaf(&server).await;
    let mut second = server.connect().await;
    assert!(
        asked(&mut second, NOTHING)
            .await
            .starts_with("HTTP/1.1 404")
    );
    let mut read = Vec::new();
    // What was on its way is there, and the rest is not.
    let _reset = deaf.read_to_end(&mut read).await;
    assert!(read.len() < expected, "{}", read.len());
    server.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_reads_slowly_is_not_let_go() {
    const PATIENT: Duration = Duration::from_secs(60);
    // Far more than lies between the two: so much is had only of who went on writing meanwhile.
    const STEP: usize = 1 << 20;
    // While something blocks, time stands still but for what the test says.
    let (release, blocks) = mpsc::channel::<()>();
    let blocking = tokio::task::spawn_blocking(move || {
        let _released = blocks.recv_timeout(TIME_LIMIT);
    });
    let server = Server::start(|config| config.limits.write_time = PATIENT).await;
    let (mut slow, expected) = deaf(&server).await;
    let mut buffer = vec![0; STEP];
    let steps = expected / STEP;
    for step in 0..steps {
        tokio::time::advance(PATIENT * 3 / 4).await;
        let read = slow.read_exact(&mut buffer).await;
        read.unwrap_or_else(|error| panic!("it was let go in step {step} of {steps}: {error}"));
    }
    slow.read_exact(&mut buffer[..expected % STEP])
        .await
        .unwrap();
    drop(release);
    blocking.await.unwrap();
    server.end().await;
}

const DOCUMENT: &str = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// How long anything may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
