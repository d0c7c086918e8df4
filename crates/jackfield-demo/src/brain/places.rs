//! Places that people ask the time of, by their names in three languages.

use super::language::Language;
use super::text::{begins_at, is_letter};

/// A place named in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct NamedCity {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) zone: &'static str,
}

/// The places that a text in lower case names, in order.
pub(super) fn find(text: &[char]) -> Vec<NamedCity> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let longest = PLACES
            .iter()
            .flat_map(|place| place.names.iter().map(move |name| (place, *name)))
            .filter_map(|(place, name)| Some((place, ends_at(text, at, name)?)))
            .max_by_key(|(_, end)| *end);
        match longest {
            Some((place, end)) => {
                found.push(NamedCity {
                    at,
                    end,
                    zone: place.zone,
                });
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// What to call a time zone when telling its time: `In Tokyo`, `в Токио`, 东京.
pub(super) fn label(language: Language, zone: &str) -> String {
    let known = PLACES.iter().find(|place| place.zone == zone);
    match (language, known) {
        (Language::Chinese, Some(place)) => place.chinese.to_owned(),
        (Language::English, Some(place)) => format!("In {}", place.english),
        (Language::Russian, Some(place)) => place.russian.to_owned(),
        (Language::English, None) => format!("In {zone}"),
        (Language::Russian, None) => format!("в {zone}"),
        (Language::Chinese, None) => zone.to_owned(),
    }
}

/// Where a name that stands here ends. Russian names have endings: the table has their stems.
fn ends_at(text: &[char], at: usize, name: &str) -> Option<usize> {
    if !begins_at(text, at, name) {
        return None;
    }
    let end = at + name.chars().count();
    let ending = (end..).take_while(|at| is_letter(text, *at)).count();
    let is_cyrillic = name.starts_with(|c| matches!(c, '\u{400}'..='\u{52f}'));
    let longest = if is_cyrillic { LONGEST_ENDING } else { 0 };
    let last_is_han = end > 0 && !is_letter(text, end - 1);
    (last_is_han || ending <= longest).then_some(if last_is_han { end } else { end + ending })
}

struct DemoCity {
    chinese: &'static str,
    english: &'static str,
    names: &'static [&'static str],
    russian: &'static str,
    zone: &'static str,
}

const fn place(
    zone: &'static str,
    english: &'static str,
    russian: &'static str,
    chinese: &'static str,
    names: &'static [&'static str],
) -> DemoCity {
    DemoCity {
        chinese,
        english,
        names,
        russian,
        zone,
    }
}

/// The longest ending that a Russian stem takes, in letters.
const LONGEST_ENDING: usize = 3;

#[rustfmt::skip]
const PLACES: &[DemoCity] = &[
    place("UTC", "UTC", "по UTC", "UTC", &["utc", "gmt", "гринвич", "格林威治"]),
    place("Asia/Tokyo", "Tokyo", "в Токио", "东京", &["tokyo", "japan", "токио", "япони", "东京", "東京", "日本"]),
    place("Asia/Shanghai", "China", "в Китае", "中国", &["beijing", "shanghai", "china", "пекин", "шанха", "кита", "北京", "上海", "中国", "深圳", "广州"]),
    place("Asia/Hong_Kong", "Hong Kong", "в Гонконге", "香港", &["hong kong", "гонконг", "香港"]),
    place("Asia/Taipei", "Taipei", "в Тайбэе", "台北", &["taipei", "taiwan", "тайбэ", "тайван", "台北", "台湾"]),
    place("Asia/Seoul", "Seoul", "в Сеуле", "首尔", &["seoul", "korea", "сеул", "коре", "首尔", "韩国"]),
    place("Asia/Singapore", "Singapore", "в Сингапуре", "新加坡", &["singapore", "сингапур", "新加坡"]),
    place("Asia/Bangkok", "Bangkok", "в Бангкоке", "曼谷", &["bangkok", "бангкок", "曼谷"]),
    place("Asia/Kolkata", "India", "в Индии", "印度", &["mumbai", "delhi", "new delhi", "bangalore", "kolkata", "india", "мумба", "дели", "инди", "孟买", "新德里", "印度"]),
    place("Asia/Dubai", "Dubai", "в Дубае", "迪拜", &["dubai", "дуба", "迪拜"]),
    place("Asia/Jerusalem", "Jerusalem", "в Иерусалиме", "耶路撒冷", &["jerusalem", "tel aviv", "israel", "иерусалим", "тель-авив", "израил", "耶路撒冷", "以色列"]),
    place("Asia/Almaty", "Almaty", "в Алматы", "阿拉木图", &["almaty", "алмат", "алма-ат", "阿拉木图"]),
    place("Asia/Tashkent", "Tashkent", "в Ташкенте", "塔什干", &["tashkent", "ташкент", "塔什干"]),
    place("Asia/Yekaterinburg", "Yekaterinburg", "в Екатеринбурге", "叶卡捷琳堡", &["yekaterinburg", "екатеринбург", "叶卡捷琳堡"]),
    place("Asia/Novosibirsk", "Novosibirsk", "в Новосибирске", "新西伯利亚", &["novosibirsk", "новосибирск", "新西伯利亚"]),
    place("Asia/Vladivostok", "Vladivostok", "во Владивостоке", "海参崴", &["vladivostok", "владивосток", "海参崴", "符拉迪沃斯托克"]),
    place("Europe/Moscow", "Moscow", "в Москве", "莫斯科", &["moscow", "st petersburg", "saint petersburg", "москв", "мск", "петербург", "санкт-петербург", "питер", "莫斯科", "圣彼得堡"]),
    place("Europe/Kyiv", "Kyiv", "в Киеве", "基辅", &["kyiv", "kiev", "киев", "基辅"]),
    place("Europe/Minsk", "Minsk", "в Минске", "明斯克", &["minsk", "минск", "明斯克"]),
    place("Europe/Istanbul", "Istanbul", "в Стамбуле", "伊斯坦布尔", &["istanbul", "turkey", "стамбул", "伊斯坦布尔"]),
    place("Europe/London", "London", "в Лондоне", "伦敦", &["london", "england", "uk", "лондон", "伦敦", "英国"]),
    place("Europe/Dublin", "Dublin", "в Дублине", "都柏林", &["dublin", "ireland", "дублин", "都柏林"]),
    place("Europe/Lisbon", "Lisbon", "в Лиссабоне", "里斯本", &["lisbon", "лиссабон", "里斯本"]),
    place("Europe/Paris", "Paris", "в Париже", "巴黎", &["paris", "france", "париж", "франци", "巴黎", "法国"]),
    place("Europe/Berlin", "Berlin", "в Берлине", "柏林", &["berlin", "germany", "munich", "hamburg", "frankfurt", "берлин", "мюнхен", "германи", "柏林", "慕尼黑", "德国"]),
    place("Europe/Vienna", "Vienna", "в Вене", "维也纳", &["vienna", "вене", "вена", "维也纳"]),
    place("Europe/Zurich", "Zurich", "в Цюрихе", "苏黎世", &["zurich", "switzerland", "цюрих", "苏黎世", "瑞士"]),
    place("Europe/Rome", "Rome", "в Риме", "罗马", &["rome", "italy", "milan", "риме", "рим", "милан", "итали", "罗马", "意大利"]),
    place("Europe/Madrid", "Madrid", "в Мадриде", "马德里", &["madrid", "barcelona", "spain", "мадрид", "барселон", "испани", "马德里", "西班牙"]),
    place("Europe/Amsterdam", "Amsterdam", "в Амстердаме", "阿姆斯特丹", &["amsterdam", "амстердам", "阿姆斯特丹"]),
    place("Europe/Brussels", "Brussels", "в Брюсселе", "布鲁塞尔", &["brussels", "брюссел", "布鲁塞尔"]),
    place("Europe/Stockholm", "Stockholm", "в Стокгольме", "斯德哥尔摩", &["stockholm", "стокгольм", "斯德哥尔摩"]),
    place("Europe/Oslo", "Oslo", "в Осло", "奥斯陆", &["oslo", "осло", "奥斯陆"]),
    place("Europe/Helsinki", "Helsinki", "в Хельсинки", "赫尔辛基", &["helsinki", "хельсинки", "赫尔辛基"]),
    place("Europe/Warsaw", "Warsaw", "в Варшаве", "华沙", &["warsaw", "варшав", "华沙"]),
    place("Europe/Prague", "Prague", "в Праге", "布拉格", &["prague", "праге", "прага", "布拉格"]),
    place("Europe/Athens", "Athens", "в Афинах", "雅典", &["athens", "афин", "雅典"]),
    place("Africa/Cairo", "Cairo", "в Каире", "开罗", &["cairo", "каир", "开罗"]),
    place("Africa/Johannesburg", "Johannesburg", "в Йоханнесбурге", "约翰内斯堡", &["johannesburg", "йоханнесбург", "约翰内斯堡"]),
    place("America/New_York", "New York", "в Нью-Йорке", "纽约", &["new york", "nyc", "boston", "washington", "miami", "нью-йорк", "нью йорк", "бостон", "вашингтон", "纽约", "波士顿", "华盛顿"]),
    place("America/Chicago", "Chicago", "в Чикаго", "芝加哥", &["chicago", "чикаго", "芝加哥"]),
    place("America/Denver", "Denver", "в Денвере", "丹佛", &["denver", "денвер", "丹佛"]),
    place("America/Los_Angeles", "Los Angeles", "в Лос-Анджелесе", "洛杉矶", &["los angeles", "san francisco", "seattle", "california", "лос-анджелес", "сан-франциско", "калифорни", "洛杉矶", "旧金山", "西雅图"]),
    place("America/Toronto", "Toronto", "в Торонто", "多伦多", &["toronto", "торонто", "多伦多"]),
    place("America/Mexico_City", "Mexico City", "в Мехико", "墨西哥城", &["mexico city", "мехико", "墨西哥城"]),
    place("America/Sao_Paulo", "São Paulo", "в Сан-Паулу", "圣保罗", &["sao paulo", "são paulo", "сан-паулу", "圣保罗"]),
    place("America/Argentina/Buenos_Aires", "Buenos Aires", "в Буэнос-Айресе", "布宜诺斯艾利斯", &["buenos aires", "буэнос-айрес", "布宜诺斯艾利斯"]),
    place("Australia/Sydney", "Sydney", "в Сиднее", "悉尼", &["sydney", "сидне", "悉尼"]),
    place("Australia/Melbourne", "Melbourne", "в Мельбурне", "墨尔本", &["melbourne", "мельбурн", "墨尔本"]),
    place("Pacific/Auckland", "Auckland", "в Окленде", "奥克兰", &["auckland", "new zealand", "окленд", "奥克兰", "新西兰"]),
    place("Pacific/Honolulu", "Honolulu", "в Гонолулу", "檀香山", &["honolulu", "hawaii", "гонолулу", "гавай", "檀香山", "夏威夷"]),
];
