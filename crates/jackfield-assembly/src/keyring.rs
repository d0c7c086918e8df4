//! Keys in the keyring of the operating system.
//!
//! The keyring is used through the system's own program: `secret-tool` of libsecret (Secret Service: GNOME Keyring,
//! `KWallet`), and `security` on macOS. A library would bring D-Bus into the program, or link a C library.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::surroundings::Environment;

/// The keyring of this user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Keyring {
    form: Form,
    program: PathBuf,
}

/// How the program is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    SecretTool,
    Security,
}

impl Keyring {
    /// Finds the keyring's program in `PATH`.
    ///
    /// # Errors
    ///
    /// There is none; the error names what to install.
    pub fn find(environment: &Environment) -> io::Result<Self> {
        let path = environment.get("PATH").and_then(Result::ok);
        let path = path.unwrap_or_default();
        let programs = [
            ("secret-tool", Form::SecretTool),
            ("security", Form::Security),
        ];
        let usable = programs
            .into_iter()
            .filter(|(_, form)| cfg!(target_os = "macos") == (*form == Form::Security));
        for (name, form) in usable {
            let found = std::env::split_paths(&*path)
                .map(|folder| folder.join(name))
                .find(|program| program.is_file());
            if let Some(program) = found {
                return Ok(Self { form, program });
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, NO_PROGRAM))
    }

    /// The key of a provider; `None` if the keyring has none. Blocks, if the keyring has to be unlocked until that is
    /// done, but not longer than a minute.
    ///
    /// # Errors
    ///
    /// The keyring does not answer, or the name has other characters than letters, digits, `-`, `_` and `.`.
    pub fn key(&self, provider: &str) -> io::Result<Option<String>> {
        check_name(provider)?;
        let arguments = match self.form {
            Form::SecretTool => vec!["lookup", "service", SERVICE, "account", provider],
            Form::Security => vec!["find-generic-password", "-s", SERVICE, "-a", provider, "-w"],
        };
        let ran = self.run(&arguments, None)?;
        let key = ran.out.trim_end_matches('\n').to_owned();
        if ran.status.success() && !key.is_empty() {
            return Ok(Some(key));
        }
        // Without a keyring the program says why; without a key it says nothing, or `security` ends with this code.
        if ran.error.is_empty() || ran.status.code() == Some(SECURITY_NOT_FOUND) {
            return Ok(None);
        }
        Err(io::Error::other(ran.error))
    }

    /// Stores the key of a provider, in place of an earlier one. The key is passed over standard input, so that no
    /// list of processes shows it.
    ///
    /// # Errors
    ///
    /// The keyring does not store it.
    pub fn set(&self, provider: &str, key: &str) -> io::Result<()> {
        check_name(provider)?;
        let label = format!("Jackfield: key of {provider}");
        let ran = match self.form {
            Form::SecretTool => {
                let arguments = [
                    "store", "--label", &label, "service", SERVICE, "account", provider,
                ];
                self.run(&arguments, Some(key.to_owned()))?
            }
            Form::Security => {
                let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
                let line =
                    format!("add-generic-password -U -s {SERVICE} -a \"{provider}\" -X {hex}\n");
                self.run(&["-i"], Some(line))?
            }
        };
        if !ran.status.success() {
            return Err(io::Error::other(ran.error));
        }
        // `security -i` succeeds even if its command did not.
        match self.key(provider)? {
            Some(stored) if stored == key => Ok(()),
            Some(_) | None => Err(io::Error::other("the keyring did not store the key")),
        }
    }

    /// Removes the key of a provider; `false` if there was none.
    ///
    /// # Errors
    ///
    /// The keyring does not answer.
    pub fn remove(&self, provider: &str) -> io::Result<bool> {
        if self.key(provider)?.is_none() {
            return Ok(false);
        }
        let arguments = match self.form {
            Form::SecretTool => vec!["clear", "service", SERVICE, "account", provider],
            Form::Security => vec!["delete-generic-password", "-s", SERVICE, "-a", provider],
        };
        let ran = self.run(&arguments, None)?;
        if ran.status.success() {
            Ok(true)
        } else {
            Err(io::Error::other(ran.error))
        }
    }

    fn run(&self, arguments: &[&str], input: Option<String>) -> io::Result<Output> {
        let stdin = if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A program that does not read it says why on standard error.
            let _unread = stdin.write_all(input.as_bytes()).is_err();
        }
        let (sender, ended) = mpsc::channel();
        let (out, error) = (child.stdout.take(), child.stderr.take());
        std::thread::spawn(move || {
            // Both are small, so that neither fills its pipe while the other is read.
            let out = out.map(read).transpose();
            let error = error.map(read).transpose();
            let _late = sender.send((out, error));
        });
        let Ok((out, error)) = ended.recv_timeout(TIME_LIMIT) else {
            return Err(stop(child));
        };
        Ok(Output {
            error: error?.unwrap_or_default().trim().to_owned(),
            out: out?.unwrap_or_default(),
            status: child.wait()?,
        })
    }
}

/// Checks that a name is neither an option nor part of another command for the programs.
fn check_name(provider: &str) -> io::Result<()> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if provider.starts_with('-') || !provider.bytes().all(is_usual) {
        let message =
            "the name of the provider has characters that the keyring's program may misread";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

/// What the program printed.
struct Output {
    error: String,
    out: String,
    status: ExitStatus,
}

fn read(from: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_OUTPUT).read_to_string(&mut text)?;
    Ok(text)
}

fn stop(mut child: Child) -> io::Error {
    // It may have ended by itself.
    let _ended = child.kill().and_then(|()| child.wait()).is_err();
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the keyring did not answer within {TIME_LIMIT:?}"),
    )
}

/// The name under which keys are stored.
const SERVICE: &str = "jackfield";
/// What is missing if there is no program.
const NO_PROGRAM: &str = if cfg!(target_os = "macos") {
    "there is no program `security` in PATH"
} else {
    "there is no program `secret-tool` in PATH (Debian: libsecret-tools; Fedora, Arch: libsecret)"
};
/// The exit code of `security` for an item that is not there (`errSecItemNotFound`).
const SECURITY_NOT_FOUND: i32 = 44;
/// The time limit, with a person unlocking the keyring.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The largest output, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;
