// Hidden letters: those that are not seen, that change how others look, or that a terminal obeys.

// A foreign text with a sign in place of each hidden letter, such as ⟨U+202E right-to-left override⟩. Line ends and tabs
// stay, and so do the letters that an emoji or a script needs where they stand.
export function visible(text) {
  return String(text).replace(LETTERS, (found, hidden) => (hidden ? sign(hidden) : found));
}

function sign(letter) {
  if (letter === '\n' || letter === '\t') return letter;
  if (letter === '\r') return '';
  if (letter === '\u001b') return '␛';
  const code = letter.codePointAt(0);
  const [, , name] = RANGES.find(([, last]) => code <= last);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')} ${name}⟩`;
}

// The list of crates/jackfield-domain/src/text/hidden.rs; a test holds both equal.
const RANGES = [
  [0x0, 0x8, 'control character'],
  [0x9, 0x9, 'tab'],
  [0xa, 0xa, 'line end'],
  [0xb, 0xc, 'control character'],
  [0xd, 0xd, 'carriage return'],
  [0xe, 0x1a, 'control character'],
  [0x1b, 0x1b, 'escape'],
  [0x1c, 0x1f, 'control character'],
  [0x7f, 0x9f, 'control character'],
  [0xa0, 0xa0, 'no-break space'],
  [0xad, 0xad, 'soft hyphen'],
  [0x34f, 0x34f, 'grapheme joiner'],
  [0x600, 0x605, 'Arabic sign'],
  [0x61c, 0x61c, 'Arabic letter mark'],
  [0x6dd, 0x6dd, 'Arabic sign'],
  [0x70f, 0x70f, 'Syriac sign'],
  [0x890, 0x891, 'Arabic sign'],
  [0x8e2, 0x8e2, 'Arabic sign'],
  [0x115f, 0x1160, 'Hangul filler'],
  [0x1680, 0x1680, 'unusual space'],
  [0x17b4, 0x17b5, 'Khmer vowel'],
  [0x180b, 0x180f, 'Mongolian selector'],
  [0x2000, 0x200a, 'unusual space'],
  [0x200b, 0x200b, 'zero-width space'],
  [0x200c, 0x200c, 'zero-width non-joiner'],
  [0x200d, 0x200d, 'zero-width joiner'],
  [0x200e, 0x200e, 'left-to-right mark'],
  [0x200f, 0x200f, 'right-to-left mark'],
  [0x2028, 0x2028, 'line separator'],
  [0x2029, 0x2029, 'paragraph separator'],
  [0x202a, 0x202a, 'left-to-right embedding'],
  [0x202b, 0x202b, 'right-to-left embedding'],
  [0x202c, 0x202c, 'end of direction'],
  [0x202d, 0x202d, 'left-to-right override'],
  [0x202e, 0x202e, 'right-to-left override'],
  [0x202f, 0x202f, 'no-break space'],
  [0x205f, 0x205f, 'unusual space'],
  [0x2060, 0x2060, 'word joiner'],
  [0x2061, 0x2065, 'invisible operator'],
  [0x2066, 0x2066, 'left-to-right isolate'],
  [0x2067, 0x2067, 'right-to-left isolate'],
  [0x2068, 0x2068, 'first-strong isolate'],
  [0x2069, 0x2069, 'end of isolate'],
  [0x206a, 0x206f, 'deprecated format'],
  [0x2800, 0x2800, 'blank pattern'],
  [0x3164, 0x3164, 'Hangul filler'],
  [0xe000, 0xf8ff, 'private use'],
  [0xfe00, 0xfe0f, 'variation selector'],
  [0xfeff, 0xfeff, 'byte order mark'],
  [0xffa0, 0xffa0, 'Hangul filler'],
  [0xfff0, 0xfff8, 'unassigned'],
  [0xfff9, 0xfffb, 'annotation mark'],
  [0x110bd, 0x110bd, 'Kaithi sign'],
  [0x110cd, 0x110cd, 'Kaithi sign'],
  [0x13430, 0x1343f, 'hieroglyph format'],
  [0x1bca0, 0x1bca3, 'shorthand format'],
  [0x1d173, 0x1d17a, 'music format'],
  [0xe0000, 0xe007f, 'tag letter'],
  [0xe0080, 0xe00ff, 'unassigned'],
  [0xe0100, 0xe01ef, 'variation selector'],
  [0xe01f0, 0x10ffff, 'private use'],
];

const HIDDEN = RANGES.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`).join('');
const PICTURE = '[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]';
const JOINED = `(?![${HIDDEN}\\p{N}])[\\u0606-\\u109f\\u1780-\\u18af\\u{11000}-\\u{11fff}\\u{1e900}-\\u{1e95f}]`;
// What is needed comes first: the flag of a region, joined and selected pictures, keycaps, joined letters.
const LETTERS = new RegExp([
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}',
  `${PICTURE}\\ufe0f?\\u200d(?=${PICTURE})`,
  `${PICTURE}[\\ufe0e\\ufe0f]`,
  '[#*0-9]\\ufe0f(?=\\u20e3)',
  `${JOINED}[\\u200c\\u200d](?=${JOINED})`,
  `([${HIDDEN}])`,
].join('|'), 'gu');
