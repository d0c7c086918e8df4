//! What a client sends: a connection to the gateway that keeps a copy of each request.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Passes on all bytes in both directions, and keeps those of the clients.
pub(crate) struct Recorder {
    /// Its address, with a port.
    pub(crate) address: String,
    /// The bytes of each connection.
    connections: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A request as a client sent it.
pub(crate) struct SentRequest {
    /// The body.
    pub(crate) body: Vec<u8>,
    /// The headers, with their names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The path with its query.
    pub(crate) path: String,
}

impl Recorder {
    /// Stands before the server at this address.
    pub(crate) async fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let connections: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (server, kept) = (server.to_owned(), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, kept) = (server.clone(), Arc::clone(&kept));
                tokio::spawn(async move {
                    // A side that closes ends the connection.
                    let _ended = pass_on(client, &server, &kept).await;
                });
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// The requests with a body, in the order of their connections.
    pub(crate) fn requests(&self) -> Vec<SentRequest> {
        let connections = self.connections.lock().expect("nobody panics with it");
        connections.iter().flat_map(|bytes| parsed(bytes)).collect()
    }
}

impl SentRequest {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| &**value)
    }
}

async fn pass_on(
    client: TcpStream,
    server: &str,
    kept: &Mutex<Vec<Vec<u8>>>,
) -> std::io::Result<()> {
    let nth = {
        let mut kept = kept.lock().expect("nobody panics with it");
        kept.push(Vec::new());
        kept.len() - 1
    };
    let server = TcpStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = from_client.read(&mut buffer).await?;
            if length == 0 {
                return to_server.shutdown().await;
            }
            kept.lock().expect("nobody panics with it")[nth].extend_from_slice(&buffer[..length]);
            to_server.write_all(&buffer[..length]).await?;
        }
    };
    let back = tokio::io::copy(&mut from_server, &mut to_client);
    tokio::try_join!(there, async { back.await.map(|_| ()) })?;
    Ok(())
}

/// The requests of a connection; one that is chunked or not whole ends them.
fn parsed(mut bytes: &[u8]) -> Vec<SentRequest> {
    let mut requests = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let path = lines.next().and_then(|line| line.split(' ').nth(1));
        let path = path.unwrap_or_default().to_owned();
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        assert!(!chunked, "the body of {path} has no length");
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, length)| length.parse().expect("a number"));
        let Some(body) = bytes.get(end + 4..end + 4 + length) else {
            break;
        };
        bytes = &bytes[end + 4 + length..];
        if length > 0 {
            requests.push(SentRequest {
                body: body.to_vec(),
                headers,
                path,
            });
        }
    }
    requests
}
