//! Users of a gateway, each with a key, and what they ask with it.

use serde_json::Value;

use super::Ran;
use super::gateway::{Answer, Asking, Gateway, Kept};

/// A master key: the bytes from 0 to 31.
pub(crate) const MASTER: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

impl Kept {
    /// Runs a command, which has to succeed.
    pub(crate) async fn done(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran
    }

    /// Creates a key with these arguments, the first of which is its user, and returns its id and its secret.
    pub(crate) async fn key(&self, arguments: &[&str]) -> (String, String) {
        let create = [&["keys", "create", "--json"], arguments].concat();
        let made = self.done(&create).await;
        let key: Value = serde_json::from_str(&made.out).expect("JSON");
        let text = |field: &str| key[field].as_str().expect("text").to_owned();
        (text("id"), text("secret"))
    }

    /// Adds a user with these further arguments, and returns the secret of a key of it.
    pub(crate) async fn user(&self, name: &str, more: &[&str]) -> String {
        self.done(&[&["users", "add", name], more].concat()).await;
        self.key(&[name]).await.1
    }
}

impl Gateway {
    /// A request of this method with this key.
    pub(crate) fn with_key(&self, key: &str, method: &str, path: &str, body: &Value) -> Asking {
        let bearer = format!("Bearer {key}");
        let asking = self.raw(method, path).header("authorization", &bearer);
        asking.body(body.to_string())
    }

    /// The answer to such a request.
    pub(crate) async fn api(&self, key: &str, method: &str, path: &str, body: Value) -> Answer {
        self.with_key(key, method, path, &body).answered().await
    }
}
