//! The text of a page.

use jackfield_tools_web::for_tests::text_of_html;
use proptest::prelude::*;

#[test]
fn a_page_is_its_text() {
    for (html, text) in [
        ("<p>One</p><p>Two &amp; three</p>", "One\n\nTwo & three"),
        (
            "<title>T</title><script>if (a<b) alert('</p>')</script>x",
            "T\nx",
        ),
        ("<style>p { }</style><SCRIPT>1</SCRIPT>y", "y"),
        ("a < b and b > c", "a < b and b > c"),
        ("I <3 you", "I <3 you"),
        ("1<2, 3>2, </3", "1<2, 3>2, </3"),
        ("<h1>1<2</h1>x", "1<2\nx"),
        ("<svg width='1'/>shown<SVG />, too", "shown, too"),
        ("<svg><path/></svg>x<script src='/'/>y", "x"),
        (
            "<a title='>'>link</a> &#8212; &#x4e2d;&nbsp;&unknown;",
            "link — 中 &unknown;",
        ),
        ("<tr><td>1</td><td>2</td></tr>", "1 2"),
        ("<!-- <p>no</p> -->yes<br>no", "yes\nno"),
        ("cut <scr", "cut"),
        ("<script>never closed", ""),
    ] {
        assert_eq!(text_of_html(html), text, "{html}");
    }
}

proptest! {
    #[test]
    fn any_text_has_a_text_that_is_not_longer(html in ".*") {
        let text = text_of_html(&html);
        prop_assert!(text.len() <= html.len() + html.matches('<').count());
    }

    #[test]
    fn any_markup_is_read_to_its_end(html in "[<>/!&;#\\-'\" a-zé中]{0,80}") {
        let _text = text_of_html(&html);
    }
}
