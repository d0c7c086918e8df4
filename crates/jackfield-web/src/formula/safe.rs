//! MathML with the elements and attributes that are known, and no others.

/// The MathML without styles, which the policy of the page refuses: some have a class in their place. None if it has an
/// element that is not known.
pub(super) fn safe(mathml: &str) -> Option<String> {
    let mut html = String::with_capacity(mathml.len());
    let mut rest = mathml;
    while let Some((text, tail)) = rest.split_once('<') {
        let (tag, after) = tail.split_once('>')?;
        let (end, inner) = tag.strip_prefix('/').map_or(("", tag), |name| ("/", name));
        let name = inner.split([' ', '/']).next()?;
        if !ELEMENTS.contains(&name) {
            return None;
        }
        html.extend([text, "<", end, name]);
        let mut attributes = inner.strip_prefix(name)?;
        while let Some((attribute, tail)) = attributes.split_once("=\"") {
            let (value, tail) = tail.split_once('"')?;
            push(&mut html, attribute.trim_start(), value);
            attributes = tail;
        }
        html.push_str(if attributes.ends_with('/') { "/>" } else { ">" });
        rest = after;
    }
    html.push_str(rest);
    Some(html)
}

/// Appends an attribute, if it is known.
fn push(html: &mut String, name: &str, value: &str) {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    let number = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_small = number
        .parse()
        .is_ok_and(|number: f32| number.abs() <= MAX_LENGTH);
    if name == "style" {
        let classes = CLASSES.iter().filter(|(style, _)| value.contains(style));
        let classes: Vec<&str> = classes.map(|(_, class)| *class).collect();
        if !classes.is_empty() {
            html.extend([" class=\"", &classes.join(" "), "\""]);
        }
    } else if ATTRIBUTES.contains(&name)
        && value.chars().all(is_plain)
        && (number.is_empty() || is_small)
    {
        html.extend([" ", name, "=\"", value, "\""]);
    }
}

/// Styles, and the class that is in place of each.
const CLASSES: [(&str, &str); 6] = [
    ("text-align: left", "left"),
    ("text-align: right", "right"),
    ("border-left", "line-left"),
    ("border-right", "line-right"),
    ("border-top", "line-top"),
    ("color:#010203", "boxed"),
];

const ELEMENTS: [&str; 35] = [
    "b",
    "code",
    "em",
    "i",
    "math",
    "menclose",
    "merror",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mprescripts",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
    "none",
    "s",
    "span",
    "u",
];

const ATTRIBUTES: [&str; 20] = [
    "accent",
    "accentunder",
    "depth",
    "display",
    "displaystyle",
    "form",
    "height",
    "largeop",
    "linethickness",
    "lspace",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "notation",
    "rspace",
    "scriptlevel",
    "stretchy",
    "symmetric",
    "width",
];

/// The largest number of an attribute; lengths are in letters.
const MAX_LENGTH: f32 = 40.0;
