//! A login of a browser holds at both gateways on one database.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::world::Database;

#[tokio::test]
async fn a_login_holds_at_both_gateways_and_after_a_kill_until_it_ends_at_both() {
    let database = Database::new("logins");
    for arguments in [&["users", "add", "ann"][..], &["users", "add", "ben"]] {
        let ran = database.run(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
    }
    let ran = database.run(&["keys", "create", "ann"]).run().await;
    let secret = ran.out.trim().to_owned();
    let one = Gateway::listening(database.gateway().start()).await;
    let other = Gateway::listening(database.gateway().start()).await;
    let log_in = one.raw("POST", LOGIN).header("x-api-key", &secret);
    let answer = log_in.answered().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let (cookie, _) = answer
        .header("set-cookie")
        .split_once(';')
        .expect("a cookie");
    assert_eq!(user(&one, cookie).await, json!("ann"));
    one.running.kill();
    one.running.end().await;
    assert_eq!(user(&other, cookie).await, json!("ann"));
    let next = Gateway::listening(database.gateway().start()).await;
    assert_eq!(user(&next, cookie).await, json!("ann"));
    let log_out = other.raw("DELETE", LOGIN).header("cookie", cookie);
    let answer = log_out.header("sec-fetch-site", "same-origin").answered();
    assert_eq!(answer.await.status, 204);
    for gateway in [next, other] {
        assert_eq!(user(&gateway, cookie).await, Value::Null);
        gateway.end().await;
    }
}

/// The user of a login.
async fn user(gateway: &Gateway, cookie: &str) -> Value {
    let answer = gateway.get(LOGIN).header("cookie", cookie).answered().await;
    answer.is(200)["user"].clone()
}

const LOGIN: &str = "/api/v1/login";
