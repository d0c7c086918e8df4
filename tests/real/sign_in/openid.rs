//! Signing in to the page of a gateway at a real provider of OpenID Connect, `oidc-provider` of `tests/sign-in`.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::{node, script};
use crate::harness::Gateway;
use crate::world::{World, sign_in_folder};

/// The provider, which ends with this.
struct Provider {
    child: Child,
    issuer: String,
    out: BufReader<ChildStdout>,
}

impl Provider {
    async fn start(verified: bool) -> Self {
        let mut child = Command::new(node())
            .arg(script("openid.mjs"))
            .arg(sign_in_folder())
            .args(["Ada@Example.com", &verified.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it can be started");
        let out = child.stdout.take().expect("it is piped");
        let mut out = BufReader::new(out);
        let mut line = String::new();
        out.read_line(&mut line).await.expect("it says where it is");
        let said: Value = serde_json::from_str(&line).expect("a line of JSON");
        let issuer = said["issuer"].as_str().expect("an issuer").to_owned();
        Self { child, issuer, out }
    }

    /// Tells it where the gateway is.
    async fn knows(&mut self, address: &str) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        let line = format!("http://{address}/api/v1/login/oidc/callback\n");
        input.write_all(line.as_bytes()).await.expect("it reads");
        let mut line = String::new();
        self.out.read_line(&mut line).await.expect("it is ready");
        assert_eq!(line, "ready\n");
    }
}

/// Signs in with a browser: where it ends, and its cookies.
async fn browser(address: &str) -> (String, String) {
    let ran = Command::new(node())
        .arg(script("browser.mjs"))
        .args([&format!("http://{address}/api/v1/login/oidc"), "--print"])
        .output()
        .await
        .expect("it can be run");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let err = String::from_utf8_lossy(&ran.stderr).into_owned();
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{err}"));
    let cookies = said["cookies"].as_array().into_iter().flatten();
    let cookies: Vec<&str> = cookies.filter_map(Value::as_str).collect();
    let place = said["place"].as_str().expect("a place");
    (place.to_owned(), cookies.join("; "))
}

#[tokio::test]
async fn a_person_of_a_real_provider_is_signed_in_as_its_user() {
    for (verified, ends_at) in [(true, "/"), (false, "/#/sign-in/nameless")] {
        let world = World::new();
        let mut provider = Provider::start(verified).await;
        let config = format!(
            "[serve.oidc]\nissuer = \"{}\"\nclient_id = \"gateway\"\nclient_secret_env = \"SECRET\"\n",
            provider.issuer
        );
        let added = world.jackfield(["users", "add", "ada@example.com"]);
        assert_eq!(added.run().await.code, Some(0));
        let serve = world.jackfield(["serve", "--bind", "127.0.0.1:0"]);
        let serve = serve.configured(&config);
        let serve = serve.env("SECRET", "secret of the gateway+");
        let gateway = Gateway::listening(serve.start()).await;
        let address = gateway.address();
        provider.knows(address).await;
        let (place, cookies) = browser(address).await;
        assert_eq!(place, format!("http://{address}{ends_at}"));
        let login = gateway.get("/api/v1/login").header("cookie", &cookies);
        let login = login.answered().await.is(200);
        assert_eq!(login["signed_in"], verified, "{login}");
        if verified {
            assert_eq!(login["name"], "ada@example.com/sign-in");
        }
        gateway.end().await;
        world.is_left().await;
    }
}
