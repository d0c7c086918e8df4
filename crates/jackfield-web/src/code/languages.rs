//! Languages: their names, comment signs, quotes and keywords.

/// What the tokens of a language look like.
pub(super) struct Language {
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    /// What begins a comment that ends with its line; a sign of one letter needs a space before it.
    pub(super) comments: &'static [&'static str],
    pub(super) form: Form,
    /// Whether a word that begins with a capital letter is a type.
    pub(super) has_types: bool,
    /// Whether keywords have any case.
    pub(super) is_caseless: bool,
    /// What words may have, beside letters and digits.
    pub(super) inner: &'static str,
    /// What follows a name.
    pub(super) key: Option<char>,
    pub(super) keywords: &'static str,
    pub(super) names: &'static str,
    pub(super) quotes: &'static [Quote],
    /// What words may begin with, beside letters.
    pub(super) sigils: &'static str,
}

/// How a language is read.
pub(super) enum Form {
    Code,
    Diff,
    Markdown,
    Markup,
}

/// What a string begins and ends with.
pub(super) struct Quote {
    pub(super) close: &'static str,
    pub(super) has_escapes: bool,
    /// Whether it may go over lines.
    pub(super) has_lines: bool,
    /// Whether it has one letter; what else begins with this sign is no string.
    pub(super) is_letter: bool,
    pub(super) open: &'static str,
}

const fn quote(open: &'static str, close: &'static str) -> Quote {
    Quote {
        close,
        has_escapes: true,
        has_lines: false,
        is_letter: false,
        open,
    }
}

const fn text(open: &'static str, close: &'static str, has_escapes: bool) -> Quote {
    Quote {
        has_escapes,
        has_lines: true,
        ..quote(open, close)
    }
}

const DOUBLE: Quote = quote("\"", "\"");
const SINGLE: Quote = quote("'", "'");
const LETTER: Quote = Quote {
    is_letter: true,
    ..SINGLE
};
const BACK: Quote = text("`", "`", true);
const TRIPLE: Quote = text("\"\"\"", "\"\"\"", true);

/// The family of C.
const C: Language = Language {
    block_comments: &[("/*", "*/")],
    comments: &["//"],
    form: Form::Code,
    has_types: true,
    inner: "",
    is_caseless: false,
    key: None,
    keywords: "",
    names: "",
    quotes: &[TRIPLE, DOUBLE, SINGLE],
    sigils: "@",
};

/// The family of the shell.
const SCRIPT: Language = Language {
    block_comments: &[],
    comments: &["#"],
    has_types: false,
    quotes: &[text("\"", "\"", true), text("'", "'", false)],
    sigils: "$",
    ..C
};

pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop \
                   macro_rules match mod move mut pub ref return self Self static struct super trait true type union \
                   unsafe use where while bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64",
        quotes: &[
            text("r##\"", "\"##", false),
            text("r#\"", "\"#", false),
            text("r\"", "\"", false),
            text("\"", "\"", true),
            LETTER,
        ],
        sigils: "",
        ..C
    },
    Language {
        names: "python py py3 python3 ipython pycon starlark",
        keywords: "False None True and as assert async await break case class continue def del elif else except \
                   finally for from global if import in is lambda match nonlocal not or pass raise return self try \
                   while with yield",
        block_comments: &[],
        comments: &["#"],
        quotes: &[TRIPLE, text("'''", "'''", true), DOUBLE, SINGLE],
        ..C
    },
    Language {
        names: "javascript js jsx mjs cjs node typescript ts tsx mts cts",
        keywords: "abstract any as async await bigint boolean break case catch class const continue debugger declare \
                   default delete do else enum export extends false finally for from function get if implements \
                   import in infer instanceof interface is keyof let namespace never new null number object of \
                   private protected public readonly return satisfies set static string super switch symbol this \
                   throw true try type typeof undefined unknown var void while with yield",
        quotes: &[DOUBLE, SINGLE, BACK],
        ..C
    },
    Language {
        names: "json jsonc json5 jsonl ndjson",
        keywords: "false null true",
        has_types: false,
        key: Some(':'),
        quotes: &[DOUBLE],
        sigils: "",
        ..C
    },
    Language {
        names: "bash sh shell zsh fish ksh console terminal shell-session shellsession",
        keywords: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if \
                   in local read readonly return select set shift source sudo then trap unset until while",
        inner: "-",
        ..SCRIPT
    },
    Language {
        names: "html htm xml svg xhtml vue svelte rss plist xsd xsl",
        form: Form::Markup,
        ..C
    },
    Language {
        names: "css scss sass less",
        keywords: "and from important not only to",
        inner: "-",
        has_types: false,
        key: Some(':'),
        sigils: "@$-",
        ..C
    },
    Language {
        names: "sql mysql postgres postgresql psql sqlite plsql tsql",
        keywords: "add all alter and as asc begin between by cascade case check collate column commit constraint \
                   create cross database default delete desc distinct drop else end except exists false foreign from \
                   full function grant group having if in index inner insert intersect into is join key left like \
                   limit not null offset on or order outer over partition primary references replace returning \
                   revoke right rollback select set table then transaction trigger true truncate union unique update \
                   using values view when where window with bigint blob boolean char date decimal float int integer \
                   json jsonb numeric real serial smallint text timestamp timestamptz uuid varchar",
        comments: &["--"],
        has_types: false,
        is_caseless: true,
        quotes: &[text("'", "'", false), text("\"", "\"", false), BACK],
        ..C
    },
    Language {
        names: "go golang",
        keywords: "any bool break byte case chan complex64 complex128 const continue default defer else error \
                   fallthrough false float32 float64 for func go goto if import int int8 int16 int32 int64 interface \
                   iota map nil package range return rune select string struct switch true type uint uint8 uint16 \
                   uint32 uint64 uintptr var",
        quotes: &[DOUBLE, SINGLE, text("`", "`", false)],
        ..C
    },
    Language {
        names: "java groovy gradle scala",
        keywords: "abstract assert boolean break byte case catch char class const continue def default do double else \
                   enum extends false final finally float for given goto if implements implicit import instanceof int \
                   interface lazy long match native new null object override package permits private protected \
                   public record return sealed short static strictfp super switch synchronized this throw throws \
                   trait transient true try type val var void volatile while with yield",
        ..C
    },
    Language {
        names: "c h cpp c++ cc cxx hpp hh objc objective-c objectivec cuda glsl arduino ino",
        keywords: "alignas alignof auto bool break case catch char class co_await co_return co_yield concept const \
                   consteval constexpr const_cast continue decltype default delete do double dynamic_cast else enum \
                   explicit extern false final float for friend goto if inline int long mutable namespace new \
                   noexcept NULL nullptr operator override private protected public register reinterpret_cast \
                   requires return short signed sizeof static static_assert static_cast struct switch template this \
                   throw true try typedef typeid typename union unsigned using virtual void volatile while int8_t \
                   int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t",
        sigils: "#@",
        ..C
    },
    Language {
        names: "csharp cs c# dotnet",
        keywords: "abstract as async await base bool break byte case catch char checked class const continue decimal \
                   default delegate do double dynamic else enum event explicit extern false finally fixed float for \
                   foreach get goto if implicit in init int interface internal is lock long namespace new null object \
                   operator out override params partial private protected public readonly record ref required return \
                   sbyte sealed set short sizeof static string struct switch this throw true try typeof uint ulong \
                   unchecked unsafe ushort using value var virtual void volatile when where while with yield",
        quotes: &[TRIPLE, text("@\"", "\"", false), DOUBLE, SINGLE],
        sigils: "#",
        ..C
    },
    Language {
        names: "kotlin kt kts",
        keywords: "abstract actual annotation as break by catch class companion const constructor continue crossinline \
                   data do else enum expect external false final finally for fun if import in infix init inline inner \
                   interface internal is it lateinit null object open operator out override package private protected \
                   public reified return sealed super suspend tailrec this throw true try typealias val value var \
                   vararg when where while",
        ..C
    },
    Language {
        names: "swift",
        keywords: "actor any as associatedtype async await break case catch class continue default defer deinit do \
                   else enum extension fallthrough false fileprivate final for func guard if import in indirect init \
                   inout internal is lazy let mutating nil open operator override private protocol public repeat \
                   return self Self some static struct subscript super switch throw throws true try typealias var \
                   weak where while",
        quotes: &[TRIPLE, DOUBLE],
        sigils: "@#",
        ..C
    },
    Language {
        names: "ruby rb irb gemfile elixir ex exs crystal",
        keywords: "alias and begin break case class def defined defmodule defp do else elsif end ensure false fn for \
                   if import in include module next nil not or private public quote raise redo require rescue retry \
                   return self super then true undef unless until use when while with yield",
        block_comments: &[("=begin", "=end")],
        has_types: true,
        quotes: &[text("\"", "\"", true), text("'", "'", true), BACK],
        sigils: "$@",
        ..SCRIPT
    },
    Language {
        names: "php",
        keywords: "abstract and array as bool break callable case catch class clone const continue declare default do \
                   echo else elseif enum extends false final finally float fn for foreach function global if \
                   implements include instanceof int interface isset iterable match mixed namespace never new null or \
                   print private protected public readonly require require_once return self static string switch \
                   throw trait true try unset use var void while yield",
        comments: &["//", "#"],
        quotes: &[text("\"", "\"", true), text("'", "'", true), BACK],
        sigils: "$",
        ..C
    },
    Language {
        names: "yaml yml",
        keywords: "false no null off on true yes",
        inner: "-",
        key: Some(':'),
        quotes: &[DOUBLE, SINGLE],
        sigils: "&",
        ..SCRIPT
    },
    Language {
        names: "toml ini cfg conf properties dotenv env editorconfig hcl terraform tf",
        keywords: "false true null",
        comments: &["#", ";"],
        inner: "-",
        key: Some('='),
        quotes: &[TRIPLE, text("'''", "'''", false), DOUBLE, SINGLE],
        sigils: "$",
        ..SCRIPT
    },
    Language {
        names: "dockerfile docker containerfile makefile make mk cmake just justfile nginx",
        keywords: "add arg cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell \
                   stopsignal user volume workdir as define else endef endif export if ifdef ifeq ifneq include \
                   override location server set function endfunction foreach endforeach",
        inner: "-",
        is_caseless: true,
        ..SCRIPT
    },
    Language {
        names: "diff patch udiff",
        form: Form::Diff,
        ..C
    },
    Language {
        names: "markdown md mdx",
        form: Form::Markdown,
        ..C
    },
];
