//! The link to a child process: its standard streams.

use async_trait::async_trait;
use tokio::io::AsyncBufRead;

use crate::lines::Lines;
use crate::link::{Link, LinkAdvice, LinkEvent, OF_A_PROCESS, Outgoing, Written};
use crate::message::ReadMessage;
use crate::writer::ServerWriter;

pub(crate) struct PipeLink<R> {
    pub(crate) lines: Lines<R>,
    pub(crate) writer: ServerWriter,
}

#[async_trait]
impl<R: AsyncBufRead + Send + Sync + Unpin> Link for PipeLink<R> {
    fn advice(&self) -> &'static LinkAdvice {
        &OF_A_PROCESS
    }

    fn send(&mut self, message: Outgoing) -> Written {
        Box::pin(self.writer.send(message.bytes, message.call, message.mark))
    }

    async fn receive(&mut self) -> Option<LinkEvent> {
        let line = self.lines.next().await.ok()??;
        Some(LinkEvent::Message(ReadMessage::read(line)))
    }

    async fn was_read(&self) -> Option<bool> {
        self.writer.was_read().await
    }

    async fn close(&mut self) {
        self.writer.close().await;
    }
}
