//! One value of a row, whatever the file's form, and how names are written in it.

use std::borrow::Cow;

use crate::error::{Outcome, Problem, excerpt, refuse};

/// A value: nothing, a text, or a list of texts.
#[derive(Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Empty,
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// One text, empty if there is nothing.
    pub(crate) fn one(&self) -> Outcome<Cow<'_, str>> {
        match self {
            Self::Empty => Ok(Cow::Borrowed("")),
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::List(names) => {
                refuse(Problem::Kind { value: excerpt(&format!("[{}]", names.join(", "))), expected: "one value but a list" })
            }
        }
    }

    /// Names joined by a separator, or a list.
    pub(crate) fn for_each_name(&self, separator: &str, mut visit: impl FnMut(&str) -> Outcome<()>) -> Outcome<()> {
        match self {
            Self::Empty => Ok(()),
            Self::List(names) => names.iter().try_for_each(|name| visit(name)),
            Self::Text(text) => match json_list(text) {
                Some(names) => names.iter().try_for_each(|name| visit(name)),
                None => split(text, separator).try_for_each(|name| visit(&name)),
            },
        }
    }
}

/// A list written as a JSON array in a text; none if it is no such thing.
fn json_list(text: &str) -> Option<Vec<Cow<'static, str>>> {
    if !(text.starts_with('[') && text.ends_with(']')) {
        return None;
    }
    let values: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    values.into_iter().map(|value| crate::json_lines::name(&value).map(Cow::Owned)).collect()
}

/// Names joined by a separator. `\|` is the separator inside a name, `\\` a backslash; any other backslash is itself.
pub fn split<'a>(text: &'a str, separator: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    let mut rest = Some(text);
    let plain = !text.contains('\\');
    std::iter::from_fn(move || {
        let text = rest?;
        if plain {
            let (name, after) = match text.split_once(separator) {
                Some((name, after)) => (name, Some(after)),
                None => (text, None),
            };
            rest = after;
            return Some(Cow::Borrowed(name));
        }
        let (name, after) = escaped(text, separator);
        rest = after;
        Some(Cow::Owned(name))
    })
}

/// The first name of a text with escapes, and what comes after its separator.
fn escaped<'a>(text: &'a str, separator: &str) -> (String, Option<&'a str>) {
    let mut name = String::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('\\') {
            if let Some(next) = after.strip_prefix(separator) {
                name.push_str(separator);
                rest = next;
                continue;
            }
            rest = after.strip_prefix('\\').unwrap_or(after);
            name.push('\\');
            continue;
        }
        if let Some(after) = rest.strip_prefix(separator) {
            return (name, Some(after));
        }
        let Some(next) = rest.chars().next() else { return (name, None) };
        name.push(next);
        rest = &rest[next.len_utf8()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name as [`split`] reads it.
    fn escape<'a>(name: &'a str, separator: &str) -> Cow<'a, str> {
        if !name.contains('\\') && !name.contains(separator) {
            return Cow::Borrowed(name);
        }
        Cow::Owned(name.replace('\\', r"\\").replace(separator, &format!("\\{separator}")))
    }

    #[test]
    fn names_come_back_whatever_they_hold() {
        for separator in ["|", ", ", "=>"] {
            for names in [vec!["a", "b"], vec!["a|b", "c"], vec![r"back\", "slash"], vec![r"\\", "|", ", =>"], vec!["é|", "漢"]]
            {
                let text = names.iter().map(|name| escape(name, separator)).collect::<Vec<_>>().join(separator);
                assert_eq!(split(&text, separator).collect::<Vec<_>>(), names, "{text}");
            }
        }
    }

    #[test]
    fn a_backslash_before_anything_else_is_itself() {
        assert_eq!(split(r"C:\x|b", "|").collect::<Vec<_>>(), [r"C:\x", "b"]);
    }

    #[test]
    fn a_json_array_is_a_list_and_brackets_alone_are_not() {
        assert_eq!(json_list(r#"["a", "b|c", 3]"#).unwrap_or_default(), ["a", "b|c", "3"]);
        assert_eq!(json_list("[A]|[B]"), None);
    }
}
