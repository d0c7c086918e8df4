//! Clauses about steps with large texts, which a store may keep separately.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::fact::Envelope;
use jackfield_ports::journal::{Append, AppendRefusal};

use super::JournalHarness;
use super::scene::{JournalScene, session, step};
use super::story::turn_opened;

pub(super) async fn a_large_text_comes_back_whole<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let mut all = Vec::new();
    for text in texts() {
        let number = all.len() as u64;
        let one = large(&scene, number, &text);
        let append = scene.append(number, vec![one.clone()]);
        scene.expect(&append, None).await;
        all.push(one);
        // The same append again is a repetition.
        scene.expect(&append, None).await;
    }
    // An append that differs only in its last character is none.
    let number = all.len() as u64;
    let text = texts().concat();
    let one = large(&scene, number, &text);
    scene.commit(number, vec![one.clone()]).await;
    all.push(one);
    let other = vec![large(&scene, number, &format!("{text}!"))];
    let other = scene.append(number, other);
    scene.expect(&other, Some(&AppendRefusal::Position)).await;
    scene.assert_steps(&all).await;
    let size = scene.row().await.expect("a row").bytes;
    let least: usize = texts().iter().map(String::len).sum();
    assert!(size >= least as u64, "{size}");
    let scene = JournalScene {
        epoch: scene.epoch,
        journal: scene.harness.reopened().await,
        session: scene.session,
        harness: scene.harness,
    };
    scene.assert_steps(&all).await;
}

pub(super) async fn a_large_text_stays_as_long_as_a_session_has_it<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let text = "картинка ".repeat(6_000);
    let first = vec![large(&scene, 0, &text), large(&scene, 1, &text)];
    scene.commit(0, first.clone()).await;
    let other = session("another");
    let epoch = scene.journal.own(&other).await.expect("a lease").epoch;
    let append = Append {
        epoch,
        session: other.clone(),
        ..scene.append(0, first.clone())
    };
    scene.expect(&append, None).await;
    // Each session has the size that it would have alone.
    let row = |rows: Vec<jackfield_ports::journal::sessions::SessionRow>| {
        let sizes: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
        sizes
    };
    let sizes = row(scene.list(super::story::all()).await);
    assert!(
        matches!(&*sizes, [one, other] if one == other && *one > 2 * text.len() as u64),
        "{sizes:?}"
    );
    scene.release().await;
    scene.journal.delete(&scene.session).await.expect("deleted");
    let loaded = scene.journal.load(&other).await.expect("the session");
    assert_eq!(loaded.steps, first);
    // A text that no session has any more may be appended again.
    let released = scene.journal.release(&other, epoch).await;
    released.expect("let go of");
    scene.journal.delete(&other).await.expect("deleted");
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    scene.commit(0, first.clone()).await;
    scene.assert_steps(&first).await;
}

/// Texts around the size above which they are stored separately, and texts that look like references to such.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = (65_535..65_538).map(|size| "x".repeat(size)).collect();
    texts.push("\"\\\n\u{1}".repeat(7_000));
    texts.push("图".repeat(30_000));
    let digest = "0".repeat(64);
    let look = format!("{{\"cut\":[{{\"at\":9,\"bytes\":0,\"digest\":\"{digest}\"}}]}}\n");
    texts.push(look.clone());
    texts.push(look.repeat(700));
    texts
}

fn large<H: JournalHarness>(scene: &JournalScene<H>, number: u64, text: &str) -> Envelope {
    step(number, vec![turn_opened(&scene.session, 1, text)])
}
