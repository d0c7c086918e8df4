//! Places that people ask the time of, by their names in three languages.

use super::language::Language;
use super::text::{lower, stands_at};

/// The zone of the place whose name stands here in a text in lower case, and where the name ends.
pub(super) fn named_at(text: &[char], at: usize) -> Option<(usize, &'static str)> {
    PLACES.iter().find_map(|[zone, english, russian, chinese]| {
        let (_, russian) = russian.split_once(' ')?;
        [english, russian, chinese].into_iter().find_map(|name| {
            let name: String = lower(name).into_iter().collect();
            stands_at(text, at, &name).then(|| (at + name.chars().count(), *zone))
        })
    })
}

/// What to call a time zone when telling its time: `In Tokyo`, `в Токио`, 东京.
pub(super) fn label(language: Language, zone: &str) -> String {
    let known = PLACES.iter().find(|[known, ..]| *known == zone);
    match (language, known) {
        (Language::Chinese, Some([_, _, _, chinese])) => (*chinese).to_owned(),
        (Language::English, Some([_, english, _, _])) => format!("In {english}"),
        (Language::Russian, Some([_, _, russian, _])) => (*russian).to_owned(),
        (Language::English, None) => format!("In {zone}"),
        (Language::Russian, None) => format!("в {zone}"),
        (Language::Chinese, None) => zone.to_owned(),
    }
}

/// Each with its zone, and its names in English, in Russian after a preposition, and in Chinese.
const PLACES: &[[&str; 4]] = &[
    ["UTC", "UTC", "по UTC", "UTC"],
    ["Asia/Tokyo", "Tokyo", "в Токио", "东京"],
    ["Asia/Shanghai", "Beijing", "в Пекине", "北京"],
    ["Asia/Shanghai", "Shanghai", "в Шанхае", "上海"],
    ["Asia/Kolkata", "Delhi", "в Дели", "德里"],
    ["Asia/Dubai", "Dubai", "в Дубае", "迪拜"],
    ["Asia/Singapore", "Singapore", "в Сингапуре", "新加坡"],
    ["Europe/Berlin", "Berlin", "в Берлине", "柏林"],
    ["Europe/London", "London", "в Лондоне", "伦敦"],
    ["Europe/Moscow", "Moscow", "в Москве", "莫斯科"],
    ["Europe/Paris", "Paris", "в Париже", "巴黎"],
    ["America/New_York", "New York", "в Нью-Йорке", "纽约"],
    ["America/Sao_Paulo", "São Paulo", "в Сан-Паулу", "圣保罗"],
    ["Australia/Sydney", "Sydney", "в Сиднее", "悉尼"],
];
