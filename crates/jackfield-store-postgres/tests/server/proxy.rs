//! A proxy in front of a server, which cuts connections where a test says so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::AbortHandle;

/// A proxy on a free port of this machine.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    connections: Mutex<Vec<AbortHandle>>,
    cut: AtomicU8,
    /// How many connections were cut at a commit.
    cuts: AtomicUsize,
    /// Whether an append was sent while nothing passed.
    holds_append: AtomicBool,
}

/// What happens to the next statement that commits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cut {
    /// Nothing.
    Never = 0,
    /// It does not reach the server.
    Before = 1,
    /// It is committed, and its answer does not reach the client.
    After = 2,
    /// Every connection ends, and no other begins.
    Down = 3,
    /// The append passes, but not the end of its exchange, and nothing more on this connection, which stays open.
    Within = 5,
    /// Nothing passes, and nothing ends, until it is set to something else: what was sent meanwhile passes then.
    Silent = 4,
}

impl Proxy {
    pub(crate) async fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if accepting.cut.load(Ordering::SeqCst) == Cut::Down as u8 {
                    continue;
                }
                let (socket, shared) = (socket.clone(), Arc::clone(&accepting));
                let passing = tokio::spawn(async move { pass(client, &socket, &shared).await });
                let mut all = accepting
                    .connections
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                all.push(passing.abort_handle());
            }
        });
        Self { port, shared }
    }

    /// Says what happens to the next statement that commits.
    pub(crate) fn set(&self, cut: Cut) {
        self.shared.cut.store(cut as u8, Ordering::SeqCst);
        if cut == Cut::Down {
            let mut all = self
                .shared
                .connections
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            all.drain(..).for_each(|connection| connection.abort());
        }
    }

    /// Whether an append was sent while nothing passed.
    pub(crate) fn holds_append(&self) -> bool {
        self.shared.holds_append.load(Ordering::SeqCst)
    }

    /// How many connections were cut at a commit.
    pub(crate) fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::SeqCst)
    }
}

/// Passes on what both say, until a connection is to be cut.
async fn pass(mut client: TcpStream, socket: &Path, shared: &Shared) {
    let Ok(mut server) = UnixStream::connect(socket).await else {
        return;
    };
    // Whether a transaction has begun; an append outside of one commits by itself.
    let mut within = false;
    let (mut said, mut answered) = (vec![0; 65536], vec![0; 65536]);
    loop {
        tokio::select! {
            length = client.read(&mut said) => {
                let Ok(length @ 1..) = length else { return };
                let said = &said[..length];
                while shared.cut.load(Ordering::SeqCst) == Cut::Silent as u8 {
                    if has(said, b"WITH guard") {
                        shared.holds_append.store(true, Ordering::SeqCst);
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let commits = has(said, b"COMMIT\0") || (!within && has(said, b"WITH guard"));
                within = (within || has(said, b"BEGIN")) && !has(said, b"COMMIT\0") && !has(said, b"ROLLBACK\0");
                if commits {
                    // Only the first one is cut.
                    let cut = shared.cut.swap(Cut::Never as u8, Ordering::SeqCst);
                    if cut == Cut::Within as u8 {
                        let sync = said.windows(SYNC.len()).position(|part| part == SYNC);
                        let _gone = server.write_all(&said[..sync.unwrap_or(0)]).await;
                        shared.cuts.fetch_add(1, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    }
                    if cut == Cut::Before as u8 {
                        shared.cuts.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                    if cut == Cut::After as u8 {
                        shared.cuts.fetch_add(1, Ordering::SeqCst);
                        let _gone = server.write_all(said).await;
                        wait_until_ready(&mut server).await;
                        return;
                    }
                }
                if server.write_all(said).await.is_err() {
                    return;
                }
            }
            length = server.read(&mut answered) => {
                let Ok(length @ 1..) = length else { return };
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The message that ends an exchange.
const SYNC: &[u8] = b"S\0\0\0\x04";

fn has(said: &[u8], text: &[u8]) -> bool {
    said.windows(text.len()).any(|window| window == text)
}

/// Reads until the server is ready for the next statement, outside of a transaction.
async fn wait_until_ready(server: &mut UnixStream) {
    let mut read = Vec::new();
    while !read.ends_with(b"Z\0\0\0\x05I") {
        if !matches!(server.read_buf(&mut read).await, Ok(1..)) {
            return;
        }
    }
}
