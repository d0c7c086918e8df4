//! Data URLs and media types.

use jackfield_dialect_kit::data_url::{DataUrl, is_one, media_type, read};

#[test]
fn a_data_url_is_read_in_any_case_and_by_any_name() {
    for (url, named) in [
        ("data:image/png;base64,AAAA", "image/png"),
        ("data:image/jpg;base64,AAAA", "image/jpeg"),
        ("DATA:IMAGE/JPEG;BASE64,AAAA", "image/jpeg"),
        (
            "Data:Application/PDF;charset=utf-8;Base64,AAAA",
            "application/pdf",
        ),
        ("data:;base64,AAAA", ""),
    ] {
        let inline = DataUrl {
            data: "AAAA",
            media_type: named.to_owned(),
        };
        assert_eq!(read(url), Some(Some(inline)), "{url}");
        assert!(is_one(url), "{url}");
    }
    for url in [
        "data:image/png,AAAA",
        "data:image/png;base64",
        "DATA:",
        "data:,é",
    ] {
        assert_eq!(read(url), Some(None), "{url}");
    }
    for url in ["", "https://example.com/a.jpg", "dat", "daté:"] {
        assert_eq!(read(url), None, "{url}");
        assert!(!is_one(url), "{url}");
    }
    assert_eq!(media_type(" Image/JPG ; q=1"), "image/jpeg");
}
