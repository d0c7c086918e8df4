//! The gateway while it runs.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::deaths::{Life, TIME_LIMIT, over};
use crate::world::World;

/// A gateway that listens.
pub(crate) struct Gateway {
    address: String,
    child: Child,
    is_killed: bool,
    wrong: JoinHandle<String>,
}

impl Gateway {
    /// Starts it, and waits until it listens; a life that was over before is the error.
    pub(crate) async fn start(world: &World, crash: Option<&str>) -> Result<Self, Life> {
        Self::start_with(world, crash, ".data", None).await
    }

    /// Does so with this folder for its data, as each of several machines has its own, and perhaps with another way to
    /// the database than that of the configuration.
    pub(crate) async fn start_with(
        world: &World,
        crash: Option<&str>,
        data: &str,
        database: Option<&str>,
    ) -> Result<Self, Life> {
        let mut program = world.about(&["serve", "--bind", "127.0.0.1:0"], crash);
        program.env("XDG_DATA_HOME", world.path(data));
        if let Some(database) = database {
            program.env("JACKFIELD_DB", database);
        }
        Self::start_program(program).await
    }

    /// Starts it by this command, which becomes it.
    pub(crate) async fn start_program(mut program: Command) -> Result<Self, Life> {
        let mut child = program.spawn().expect("the program starts");
        let err = child.stderr.take().expect("standard error is piped");
        let mut lines = BufReader::new(err).lines();
        let mut said = String::new();
        let listening = async {
            while let Ok(Some(line)) = lines.next_line().await {
                said.push_str(&line);
                said.push('\n');
                if let Some((_, address)) = line.split_once("listening on http://") {
                    let end = address.find(';').unwrap_or(address.len());
                    return Some(address[..end].trim().to_owned());
                }
            }
            None
        };
        let listening = timeout(TIME_LIMIT, listening).await;
        let Some(address) = listening.expect("it listens or ends") else {
            let status = child.wait().await.expect("a child can be waited for");
            return Err(over(status, Vec::new(), said));
        };
        let wrong = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                said.push_str(&line);
                said.push('\n');
            }
            said
        });
        Ok(Self {
            address,
            child,
            is_killed: false,
            wrong,
        })
    }

    /// Sends a request, and reads what comes until the connection ends; or this time is over and the gateway
    /// is killed.
    pub(crate) async fn ask(&mut self, request: &Asking, kill: Option<Duration>) -> Vec<u8> {
        let mut heard = Vec::new();
        let asking = exchange(&self.address, request, &mut heard);
        let (child, is_killed) = (&mut self.child, &mut self.is_killed);
        let end = async {
            match kill {
                Some(time) => {
                    tokio::time::sleep(time).await;
                    *is_killed = true;
                    let _dead = child.start_kill();
                }
                None => std::future::pending().await,
            }
        };
        let asked = timeout(TIME_LIMIT, async {
            tokio::pin!(asking);
            tokio::select! {
                _ = &mut asking => {}
                () = end => { asking.await; }
            }
        });
        asked.await.expect("it answers, or dies");
        heard
    }

    /// Sends a request, whose answer can be read when it comes.
    pub(crate) async fn send(&self, request: &Asking) -> TcpStream {
        let sent = request.send(&self.address).await;
        sent.expect("a gateway takes requests")
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.is_killed = true;
        let _dead = self.child.start_kill();
    }

    /// Sends it a signal.
    #[cfg(target_os = "linux")]
    pub(crate) fn signal(&self, signal: &str) {
        let kill = std::process::Command::new("kill")
            .args([&format!("-{signal}"), &self.process().to_string()])
            .status();
        assert!(kill.expect("`kill` runs").success(), "{signal}");
    }

    /// Whether it has died by now.
    pub(crate) fn is_dead(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("a child can be asked")
            .is_some()
    }

    /// The id of its process.
    #[cfg(target_os = "linux")]
    pub(crate) fn process(&self) -> u32 {
        self.child.id().expect("the process has not ended")
    }

    /// Whether it has died by now, or does so at once. One that was killed does, however whole its answer is.
    pub(crate) async fn has_died(&mut self) -> bool {
        // Whoever dies with an answer half written is gone before its socket is.
        let moment = if self.is_killed { TIME_LIMIT } else { MOMENT };
        timeout(moment, self.child.wait()).await.is_ok()
    }

    /// Kills it, unless it has died, and waits for that.
    pub(crate) async fn end(mut self) -> Life {
        let _dead = self.child.start_kill();
        let status = self.child.wait().await.expect("a child can be waited for");
        let wrong = self.wrong.await.unwrap_or_default();
        over(status, Vec::new(), wrong)
    }
}

/// Sends a request to a gateway, and reads what comes until the connection ends.
pub(crate) async fn send(address: &str, request: &Asking) -> Vec<u8> {
    let mut heard = Vec::new();
    let exchanged = timeout(TIME_LIMIT, exchange(address, request, &mut heard)).await;
    assert!(
        exchanged.is_ok(),
        "no end of the answer: {}",
        String::from_utf8_lossy(&heard)
    );
    heard
}

/// Does so, as far as the connection goes.
pub(crate) async fn exchange(
    address: &str,
    request: &Asking,
    heard: &mut Vec<u8>,
) -> Option<usize> {
    let mut stream = request.send(address).await.ok()?;
    // A connection that breaks ends, too.
    stream.read_to_end(heard).await.ok()
}

/// A request. As the first version of the protocol has it, its answer ends with the connection.
pub(crate) struct Asking {
    body: Vec<u8>,
    head: String,
}

impl Asking {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            body: Vec::new(),
            head: format!("GET {path} HTTP/1.0\r\n"),
        }
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        Self {
            body: body.to_string().into_bytes(),
            head: format!("POST {path} HTTP/1.0\r\n"),
        }
    }

    /// With this header, too.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    async fn send(&self, address: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address).await?;
        let head = format!(
            "{}host: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.head,
            self.body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&self.body).await?;
        Ok(stream)
    }
}

/// How long the death of a process may take to be seen.
const MOMENT: Duration = Duration::from_millis(50);
