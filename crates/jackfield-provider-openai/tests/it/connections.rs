//! Connections between calls, whose replies end in other ways than Claude's.

use jackfield_domain::reply::FinishReason;
use jackfield_testkit::server::{Gate, Response, TestServer};

use crate::harness::{MODEL, config, connect};
use crate::requests::{BOTH, ask, reply};

#[tokio::test]
async fn a_connection_is_used_again_for_the_next_round() {
    for api in BOTH {
        let server = TestServer::start().await;
        let model = connect(config(&server.base_url(), api));
        for _ in 0..3 {
            server.answer(Response::event_stream(reply(api).pieces.concat()));
            let (_, end) = ask(&model, MODEL).await;
            assert_eq!(end.unwrap().finish, FinishReason::Stop);
        }
        assert_eq!((server.requests().len(), server.connections()), (3, 1));
    }
}

#[tokio::test]
async fn a_connection_is_kept_whose_reply_ends_later_than_its_last_event() {
    for api in BOTH {
        let (server, gate) = (TestServer::start().await, Gate::new());
        let model = connect(config(&server.base_url(), api));
        let body = reply(api).pieces.concat();
        server.answer(Response::event_stream(body.clone()).pause(&gate));
        let opening = async {
            gate.reached().await;
            gate.open();
        };
        let ((first, _), ()) = tokio::join!(ask(&model, MODEL), opening);
        server.answer(Response::event_stream(body));
        assert_eq!(ask(&model, MODEL).await.0, first);
        assert_eq!((server.requests().len(), server.connections()), (2, 1));
    }
}

#[tokio::test]
async fn a_connection_that_stays_open_after_the_last_event_keeps_nobody_waiting() {
    for api in BOTH {
        let server = TestServer::start().await;
        let model = connect(config(&server.base_url(), api));
        server.answer(Response::event_stream(reply(api).pieces.concat()).stall());
        let (_, end) = ask(&model, MODEL).await;
        assert_eq!(end.unwrap().finish, FinishReason::Stop);
        server.closed_by_client(0).await;
    }
}
