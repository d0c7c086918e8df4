//! A way to the gateway on which the first connection for a case breaks.

use std::io;

use jackfield_testkit::server::Gate;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The way. It is closed when this is dropped.
pub(crate) struct Breaking {
    address: String,
    serving: JoinHandle<()>,
}

impl Breaking {
    /// Opens a way to this address, on which every connection with an odd number breaks: its request goes
    /// through, and of the answer nothing comes back, or its head and this many bytes of its body. The gate is opened by
    /// the next connection.
    pub(crate) async fn to(target: &str, body: Option<usize>, gate: &Gate) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let target = target.to_owned();
        let gate = gate.clone();
        let serving = tokio::spawn(async move {
            let mut breaks = false;
            while let Ok((client, _)) = listener.accept().await {
                breaks = !breaks;
                if !breaks {
                    gate.open();
                }
                let target = target.clone();
                // A connection that breaks, on whichever side, is what this is for.
                tokio::spawn(
                    async move { drop(pass(client, &target, breaks.then_some(body)).await) },
                );
            }
        });
        Self { address, serving }
    }

    /// Its address, with a port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Breaking {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn pass(
    mut client: TcpStream,
    target: &str,
    breaks: Option<Option<usize>>,
) -> io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let Some(body) = breaks else {
        copy_bidirectional(&mut client, &mut server).await?;
        return Ok(());
    };
    let (mut asking, mut telling) = client.split();
    let (mut answering, mut hearing) = server.split();
    let up = tokio::io::copy(&mut asking, &mut hearing);
    let down = async {
        let (mut come, mut told) = (Vec::new(), 0);
        let mut piece = [0; 4096];
        // The first byte is waited for in any case: then the request has been read.
        loop {
            let length = answering.read(&mut piece).await?;
            let Some(body) = body.filter(|_| length > 0) else {
                return Ok(());
            };
            come.extend_from_slice(&piece[..length]);
            let end = come.windows(4).position(|four| four == b"\r\n\r\n");
            let most = end.map(|end| end + 4 + body);
            let until = most.map_or(come.len(), |most| most.min(come.len()));
            telling.write_all(&come[told..until]).await?;
            told = until;
            if most == Some(told) {
                return Ok(());
            }
        }
    };
    tokio::select! {
        copied = up => copied.map(drop),
        told = down => told,
    }
}
