//! Where a browser is sent after a sign-in: an address of this machine (RFC 8252, section 7.3).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::{Host, Url};

use super::login::Login;
use jackfield_provider_kit::base_url::is_this_machine;

/// Waits for the browser of one sign-in. Dropping it closes the port.
#[derive(Debug)]
pub struct RedirectListener {
    listener: TcpListener,
    uri: Url,
}

impl RedirectListener {
    /// Listens at this redirect, or at a free port of this machine if there is none or its port is taken.
    ///
    /// # Errors
    ///
    /// No port can be listened at, or the redirect is not an address of this machine with a port.
    pub async fn bind(wanted: Option<&str>, is_required: bool) -> io::Result<Self> {
        if let Some(wanted) = wanted {
            let uri = Url::parse(wanted).ok();
            let uri = uri.filter(|uri| uri.scheme() == "http" && is_this_machine(uri));
            let place = uri.and_then(|uri| Some((uri.port()?, uri)));
            let bound = match place {
                None => Err(io::Error::other(
                    "it is not an address such as http://127.0.0.1:8765/callback",
                )),
                Some((port, uri)) => {
                    let bound = TcpListener::bind((address(&uri), port)).await;
                    bound.map(|listener| Self { listener, uri })
                }
            };
            if bound.is_ok() || is_required {
                return bound;
            }
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let uri =
            Url::parse(&format!("http://127.0.0.1:{port}{PATH}")).map_err(io::Error::other)?;
        Ok(Self { listener, uri })
    }

    /// The address for the authorization server.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.uri.as_str()
    }

    /// Waits for the redirect of this sign-in. Other requests are answered, and do not count.
    ///
    /// # Errors
    ///
    /// No connection can be accepted any more.
    pub async fn redirect(&self, login: &Login) -> io::Result<String> {
        let mut visits = JoinSet::new();
        loop {
            let target = tokio::select! {
                accepted = self.listener.accept() => {
                    if visits.len() < MAX_VISITS {
                        visits.spawn(visit(accepted?.0));
                    }
                    continue;
                }
                Some(visited) = visits.join_next() => match visited {
                    Ok(Some(visited)) => visited,
                    Ok(None) | Err(_) => continue,
                },
            };
            let Visit { mut stream, target } = target;
            let redirect = self.uri.join(&target).ok();
            let redirect = redirect.filter(|redirect| redirect.path() == self.uri.path());
            let is_ours = redirect
                .as_ref()
                .is_some_and(|redirect| login.is_answered_by(redirect));
            let (status, words) = if is_ours {
                (
                    "200 OK",
                    "Jackfield has the answer. You can close this page.",
                )
            } else {
                (
                    "404 Not Found",
                    "This is not the answer that Jackfield waits for.",
                )
            };
            // The browser may be gone already.
            let _late = timeout(VISIT, answer(&mut stream, status, words)).await;
            if let Some(redirect) = redirect.filter(|_| is_ours) {
                return Ok(redirect.into());
            }
        }
    }
}

/// The address of this machine that a redirect names. Browsers try this one for a name, too.
fn address(uri: &Url) -> IpAddr {
    match uri.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => Ipv4Addr::LOCALHOST.into(),
    }
}

/// A request of a browser.
struct Visit {
    stream: TcpStream,
    /// The path and the query.
    target: String,
}

/// Reads the head of a request; `None` if it is not one that a browser sends.
async fn visit(mut stream: TcpStream) -> Option<Visit> {
    let mut head = Vec::new();
    let read = async {
        let mut piece = [0; 2048];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let length = stream.read(&mut piece).await.ok()?;
            head.extend_from_slice(piece.get(..length).filter(|piece| !piece.is_empty())?);
            if head.len() > MAX_HEAD {
                return None;
            }
        }
        Some(())
    };
    timeout(VISIT, read).await.ok()??;
    let text = String::from_utf8_lossy(&head);
    let target = text.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    Some(Visit { stream, target })
}

async fn answer(stream: &mut TcpStream, status: &str, words: &str) -> io::Result<()> {
    let length = words.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{words}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The path of our own redirects.
const PATH: &str = "/callback";
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 32 << 10;
/// The most browsers that are served at once.
const MAX_VISITS: usize = 16;
/// The time limit of a browser's request.
const VISIT: Duration = Duration::from_secs(10);
