//! Users of a gateway, each with a key, and what they ask with it.

use serde_json::Value;

use super::gateway::{Asking, Gateway, Kept};

/// A master key: the bytes from 0 to 31.
pub(crate) const MASTER: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

impl Kept {
    /// Adds a user with these further arguments, and returns a key of it.
    pub(crate) async fn user(&self, name: &str, more: &[&str]) -> String {
        let added = self.run(&["users", "add", name]).more(more).run().await;
        assert_eq!(added.code, Some(0), "{}", added.err);
        let made = self.run(&["keys", "create", "--json", name]).run().await;
        assert_eq!(made.code, Some(0), "{}", made.err);
        let key: Value = serde_json::from_str(&made.out).expect("JSON");
        key["secret"].as_str().expect("text").to_owned()
    }
}

impl Gateway {
    /// A request of this method with this key.
    pub(crate) fn with_key(&self, key: &str, method: &str, path: &str, body: &Value) -> Asking {
        let bearer = format!("Bearer {key}");
        let asking = self.raw(method, path).header("authorization", &bearer);
        asking.body(body.to_string())
    }
}
