//! Addresses, and what of them is shown.

use jackfield_store_postgres::{Address, Options, PostgresJournal};

#[test]
fn an_address_is_shown_without_its_password() {
    let shown = [
        (
            "postgres://me:secret@db.example:6543/chats",
            "postgres://me@db.example:6543/chats",
        ),
        (
            "postgresql://me:secret@db.example/chats?sslmode=disable",
            "postgres://me@db.example:5432/chats",
        ),
        (
            "postgres://me:secret@a:1,b:2/chats",
            "postgres://me@a:1,b:2/chats",
        ),
        (
            "postgres://me:secret@[::1]/chats",
            "postgres://me@[::1]:5432/chats",
        ),
        (
            "postgres://me:secret@%2Ftmp%2Fpg/chats",
            "postgres://me@/tmp/pg/chats",
        ),
        (
            "postgres://me:secret@db.example",
            "postgres://me@db.example:5432/me",
        ),
    ];
    for (url, expected) in shown {
        let address = Address::parse(url).expect("an address");
        assert_eq!(address.to_string(), expected);
        assert!(address.has_password());
        assert!(!format!("{address:?}").contains("secret"), "{address:?}");
    }
}

#[test]
fn what_is_no_address_is_an_error_that_does_not_quote_it() {
    let wrong = [
        "mysql://me:secret@db.example/chats",
        "postgres://",
        "postgres://me:secret@db.example:port/chats",
        "postgres://me:secret@db.example/chats?sslmode=prefer",
        "postgres://me:secret@db.example/chats?colour=red",
        "postgres://me:secret@db.example/chats?sslrootcert=%2",
        "host=db.example password=secret",
        "postgres://me:a@secret@db.example/chats",
    ];
    for url in wrong {
        let error = Address::parse(url).expect_err(url).to_string();
        assert!(!error.contains("secret"), "{error}");
        let help = "write `postgres://USER@HOST:PORT/DATABASE`";
        assert!(error.ends_with(help), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // Nothing listens where a socket was just closed.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let address = format!("postgres://me:secret@127.0.0.1:{port}/chats");
    let address = Address::parse(&address).expect("an address");
    let error = PostgresJournal::open(address, Options::default()).expect_err("no server");
    let error = error.to_string();
    let named = format!("postgres://me@127.0.0.1:{port}/chats cannot be reached");
    assert!(error.starts_with(&named), "{error}");
    let help = "see whether PostgreSQL runs there and accepts connections";
    assert!(error.ends_with(help), "{error}");
}

#[test]
fn an_address_for_notifications_that_cannot_be_used_is_named_by_its_setting() {
    let address = Address::parse("postgres://me:secret@127.0.0.1:1/chats").expect("an address");
    let listen = "postgres://me:secret@db.example/chats?sslrootcert=/nowhere/ca.pem";
    let mut options = Options::default();
    options.listen = Some(Address::parse(listen).expect("an address"));
    let error = PostgresJournal::open(address, options).expect_err("no authorities");
    let error = error.to_string();
    let named =
        "`listen_url` postgres://me@db.example:5432/chats cannot be reached: /nowhere/ca.pem";
    assert!(error.starts_with(named), "{error}");
}
