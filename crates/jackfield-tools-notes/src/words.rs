//! The words of a text, and what a search for words looks up.
//!
//! A word is a run of letters and digits, in small letters; a search finds the words that begin with it. Chinese and
//! Japanese have no spaces between words: each character is one, and so is each pair of neighbours, so that a search
//! of two characters is found inside a sentence. Russian endings are left out of a search, so that a word is found in
//! other cases of it.

use std::collections::BTreeSet;

/// What one word of a search looks up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Lookup {
    /// The words that begin like this.
    Beginning(String),
    Word(String),
}

/// The words of a text under which it is found.
pub(crate) fn of_text(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for run in runs(text) {
        match run {
            Run::Characters(run) => {
                words.extend(run.iter().map(char::to_string));
                words.extend(run.windows(2).map(String::from_iter));
            }
            Run::Word(word) => {
                words.insert(word);
            }
        }
    }
    words
}

/// What a search looks up: a note has to have all of it.
pub(crate) fn of_search(search: &str) -> Vec<Lookup> {
    let mut lookups = Vec::new();
    for run in runs(search) {
        match run {
            Run::Characters(run) if run.len() == 1 => {
                lookups.push(Lookup::Word(String::from_iter(run)));
            }
            Run::Characters(run) => {
                let pairs = run.windows(2).map(String::from_iter);
                lookups.extend(pairs.map(Lookup::Word));
            }
            Run::Word(word) => lookups.push(beginning(&word)),
        }
    }
    lookups.dedup();
    lookups.truncate(MOST_LOOKUPS);
    lookups
}

/// A run of a text.
enum Run {
    /// Characters of a language without spaces.
    Characters(Vec<char>),
    /// A word in small letters.
    Word(String),
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut word, mut characters) = (String::new(), Vec::new());
    // The space ends the last run.
    for character in text.chars().chain([' ']) {
        let is_single = is_single(character);
        if !is_single && !characters.is_empty() {
            runs.push(Run::Characters(std::mem::take(&mut characters)));
        }
        if is_single || !character.is_alphanumeric() {
            if !word.is_empty() {
                runs.push(Run::Word(std::mem::take(&mut word)));
            }
            if is_single {
                characters.push(character);
            }
        } else if word.chars().count() < LONGEST_WORD {
            word.extend(character.to_lowercase().map(|letter| match letter {
                // Texts have either.
                'ё' => 'е',
                letter => letter,
            }));
        }
    }
    runs
}

/// Whether a character stands for itself: Chinese characters and Japanese syllables.
const fn is_single(character: char) -> bool {
    matches!(
        character,
        '\u{3005}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3134f}'
    )
}

/// A word of two letters is only itself: very many words begin like it.
fn beginning(word: &str) -> Lookup {
    let letters = word.chars().count();
    if letters < 3 {
        return Lookup::Word(word.to_owned());
    }
    let is_russian = word.chars().all(|letter| matches!(letter, 'а'..='я'));
    let ending = word.chars().rev().take(2);
    let ending = ending.take_while(|letter| RUSSIAN_ENDING.contains(*letter));
    // Three letters stay at least.
    let ending = if is_russian {
        ending.count().min(letters - 3)
    } else {
        0
    };
    Lookup::Beginning(word.chars().take(letters - ending).collect())
}

/// The longest word that is kept, in letters.
const LONGEST_WORD: usize = 64;
/// How many words of a search count.
const MOST_LOOKUPS: usize = 16;
/// The letters of Russian endings.
const RUSSIAN_ENDING: &str = "аеийоуыьэюя";
