//! Connections that break off, wait, bomb or come all at once.

use tokio::io::AsyncWriteExt as _;

use super::ways::{Hostile, WAYS, read};

#[tokio::test]
async fn broken_connections_slow_senders_and_bombs_leave_the_gateway_well() {
    let hostile = Hostile::hurried().await;
    for way in WAYS {
        let (path, host) = (hostile.path(way), hostile.gateway.address().to_owned());
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n");
        let bodies = [
            ("no size", format!("{chunked}ZZ\r\n{{}}\r\n")),
            (
                "a size too large",
                format!("{chunked}FFFFFFFFFFFFFFFFFF\r\n{{}}\r\n"),
            ),
            ("a size below zero", format!("{chunked}-1\r\n{{}}\r\n")),
            (
                "no end of a chunk",
                format!("{chunked}2\r\n{{}}XX0\r\n\r\n"),
            ),
            (
                "both lengths",
                format!("{head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            ),
            (
                "two lengths",
                format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
            ),
            (
                "no number",
                format!("{head}content-length: two\r\n\r\n{{}}"),
            ),
            ("no HTTP", "\u{0}\u{1}\u{2}\r\n\r\n".to_owned()),
            ("no version", format!("POST {path}\r\n\r\n")),
            ("a header without a name", format!("{head}: x\r\n\r\n")),
            (
                "a header with a line in it",
                format!("{head}x-a: \u{0}\r\n\r\n"),
            ),
        ];
        for (case, bytes) in bodies {
            let answer = hostile.raw(bytes.as_bytes()).await;
            let refused = answer.is_empty()
                || answer.starts_with("HTTP/1.1 4")
                || answer.starts_with("HTTP/1.0 4");
            assert!(refused, "{way:?}, {case}: {answer}");
            hostile.is_well().await;
        }
        let many: String = (0..2_000).map(|nth| format!("x-{nth}: y\r\n")).collect();
        let long = format!("x-long: {}\r\n", "y".repeat(1 << 20));
        for bomb in [many, long] {
            let answer = hostile.raw(format!("{head}{bomb}\r\n").as_bytes()).await;
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
                "{answer}"
            );
            hostile.is_well().await;
        }
        // Who stops in the middle is not waited for; the limits end it.
        let body = way.asks("Hello").to_string();
        let (begin, _) = body.split_at(body.len() / 2);
        let stopped = format!("{head}content-length: {}\r\n\r\n{begin}", body.len());
        let answer = hostile.raw(stopped.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{way:?}: {answer}");
        let answer = hostile.raw(head.as_bytes()).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{way:?}: {answer}"
        );
        // Who hangs up in the middle gets nothing; who has only no more to say is answered.
        let mut stream = hostile.connected().await;
        stream
            .write_all(stopped.as_bytes())
            .await
            .expect("it reads");
        stream.shutdown().await.expect("it is there");
        let answer = read(&mut stream).await;
        assert!(!answer.starts_with("HTTP/1.1 5"), "{way:?}: {answer}");
        let mut stream = hostile.connected().await;
        let whole = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(whole.as_bytes()).await.expect("it reads");
        stream.shutdown().await.expect("it is there");
        let answer = read(&mut stream).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 200"),
            "{way:?}: {answer}"
        );
        hostile.is_well().await;
    }
    hostile.end().await;
}

#[tokio::test]
async fn a_thousand_connections_at_once_are_all_answered() {
    let hostile = Hostile::started("").await;
    let mut streams = Vec::new();
    for _ in 0..1_000 {
        streams.push(hostile.connected().await);
    }
    let host = hostile.gateway.address().to_owned();
    let mut asking = tokio::task::JoinSet::new();
    for (nth, mut stream) in streams.into_iter().enumerate() {
        let way = WAYS[nth % WAYS.len()];
        let (path, host) = (hostile.path(way), host.clone());
        asking.spawn(async move {
            let request = format!(
                "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: 4\r\n\r\nnull"
            );
            stream
                .write_all(request.as_bytes())
                .await
                .expect("it reads");
            read(&mut stream).await
        });
    }
    for answer in asking.join_all().await {
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    hostile.is_well().await;
    hostile.end().await;
}
