//! Which servers may be sent a request over a kept connection.

use std::sync::Arc;
use std::time::Duration;

use jackfield_provider_kit::for_tests::ConnectionReuse;

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_kept_connections_gets_fresh_ones_for_longer_each_time() {
    let (reuse, host) = (ConnectionReuse::default(), Arc::from("host"));
    assert!(reuse.is_allowed(&host));
    assert!(!reuse.closed(&host), "it has never replied");
    reuse.replied(&host);
    for pause in [8, 16, 32] {
        assert!(reuse.closed(&host));
        tokio::time::advance(Duration::from_secs(pause - 1)).await;
        assert!(!reuse.is_allowed(&host), "{pause}");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(reuse.is_allowed(&host), "{pause}");
        assert!(reuse.is_allowed("other"));
    }
    for _ in 0..100 {
        assert!(reuse.closed(&host));
    }
    assert!(!reuse.is_allowed(&host));
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    assert!(reuse.is_allowed(&host));
    reuse.replied(&host);
    assert!(reuse.closed(&host));
    tokio::time::advance(Duration::from_secs(8)).await;
    assert!(reuse.is_allowed(&host), "the earlier closes are forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_replied_long_ago_closes_a_fresh_connection() {
    let (reuse, host) = (ConnectionReuse::default(), Arc::from("host"));
    reuse.replied(&host);
    tokio::time::advance(Duration::from_secs(10 * 60 + 1)).await;
    assert!(!reuse.closed(&host));
    assert!(reuse.is_allowed(&host));
}
