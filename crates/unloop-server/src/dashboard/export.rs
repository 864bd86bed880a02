//! What pages show, as files: CSV and JSON, and pictures drawn by `unloop-plot`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use unloop_plot::figures::count;
use unloop_plot::{Forest, ForestRow, Picture, Reference};

use super::board::View;
use super::charts::{Chart, Curves};
use super::fairness::Figures;
use super::page::{Oops, missing};
use super::pairs::{Chance, Prediction, matrix_picture, pairwise_rows, predict};
use super::params::Params;
use super::session::Visitor;
use crate::access::Scope;
use crate::api::export::{ExportAsked, send};
use crate::catalog::Known;
use crate::problem::{Kind, Problem};
use crate::rankings::{Ranked, RankingRow};
use crate::service::Shared;

/// Rows of a picture.
const MOST_DRAWN: usize = 200;

/// A form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Csv,
    Json,
    Svg,
}

/// A table: names of columns, and rows.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    fn new(columns: &[&str], rows: Vec<Vec<Value>>) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows }
    }

    fn csv(&self) -> String {
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => quoted(text),
            other => other.to_string(),
        };
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let head = line(self.columns.iter().map(|name| quoted(name)).collect());
        self.rows.iter().fold(head, |text, row| text + &line(row.iter().map(cell).collect()))
    }

    fn json(&self) -> String {
        let object =
            |row: &Vec<Value>| Value::Object(self.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>());
        let rows: Vec<Value> = self.rows.iter().map(object).collect();
        json!({ "rows": rows }).to_string()
    }
}

/// A text as a field of CSV. What a spreadsheet would take for a formula begins with an apostrophe: names come from anybody.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r', '\'']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// A file's name and form.
fn parse(file: &str) -> Option<(&str, Form)> {
    let (name, ending) = file.rsplit_once('.')?;
    let form = match ending {
        "csv" => Form::Csv,
        "json" => Form::Json,
        "svg" => Form::Svg,
        _ => return None,
    };
    Some((name, form))
}

fn file(known: &Known, name: &str, form: Form, text: String) -> Response {
    let (media, ending) = match form {
        Form::Csv => ("text/csv; charset=utf-8", "csv"),
        Form::Json => ("application/json", "json"),
        Form::Svg => ("image/svg+xml", "svg"),
    };
    let mut response = ([(header::CONTENT_TYPE, media)], text).into_response();
    let headers = response.headers_mut();
    // A catalog's name is plain.
    if let Ok(value) = HeaderValue::from_str(&format!("inline; filename=\"{}-{name}.{ending}\"", known.name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    // A picture that is opened by itself runs nothing either.
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn of_table(known: &Known, name: &str, form: Form, table: &Table) -> Result<Response, Oops> {
    match form {
        Form::Csv => Ok(file(known, name, form, table.csv())),
        Form::Json => Ok(file(known, name, form, table.json())),
        Form::Svg => Err(missing("there is no such picture")),
    }
}

fn of_picture(known: &Known, name: &str, picture: Option<Picture>) -> Result<Response, Oops> {
    let picture = picture.ok_or_else(|| missing("there is nothing to draw yet"))?;
    Ok(file(known, name, Form::Svg, picture.into_svg()))
}

fn computing() -> Oops {
    Problem::new(Kind::Computing, "the first ranking is being computed: try again in a moment").into()
}

/// A file of a catalog.
pub(super) async fn of_catalog(
    State(service): State<Shared>,
    visitor: Visitor,
    Path((catalog, asked)): Path<(String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &catalog)?;
    let (name, form) = parse(&asked).ok_or_else(|| missing("there is no such file"))?;
    let view = View::of(&params);
    if asked == "choices.csv" {
        return Ok(send(service, known.id, ExportAsked::csv(None), &headers, usize::MAX).await?);
    }
    if asked == "simplex.svg" {
        return of_picture(&known, name, service.simplex(&known).await?);
    }
    if let Some(chart) = Chart::of(name) {
        let curves = service.curves(&known, chart, &view).await?;
        return match form {
            Form::Svg => {
                let (title, label) = match chart {
                    Chart::Best => ("Probability of being the best", "P(best)"),
                    Chart::Exposure => ("Exposure beside belief", "share"),
                };
                of_picture(&known, name, curves.draw(format!("{}: {title}", known.name), label, "minutes", 60.0))
            }
            _ => of_table(&known, name, form, &curves.table()),
        };
    }
    let (ranked, _) = super::catalog::ranking(&service, &known, None).await?.ok_or_else(computing)?;
    match (name, form) {
        ("ranking", Form::Svg) => of_picture(&known, name, forest(&known, &ranked, &view, &known.name)),
        ("ranking", _) => of_table(&known, name, form, &ranking(&ranked)),
        ("fairness", _) => of_table(&known, name, form, &fairness(&service.fairness(&known, &ranked).await?)),
        ("pairs", Form::Svg) => of_picture(&known, name, matrix_picture(&known, &ranked, &view)),
        ("pairs", _) => {
            let columns = ["option", "over", "mean", "low", "high", "p_stronger"];
            let rows = pairwise_rows(&ranked, &view).into_iter().map(|(one, other, beats)| {
                vec![one.into(), other.into(), beats.mean.into(), beats.low.into(), beats.high.into(), beats.p_stronger.into()]
            });
            of_table(&known, name, form, &Table::new(&columns, rows.collect()))
        }
        ("prediction", _) => {
            let chances = predict(&known, &ranked, &view).ok_or_else(|| missing("tick two options or more"))?;
            if form == Form::Svg {
                return of_picture(&known, name, drawn(&chances));
            }
            let row = |own: &Chance| vec![own.name.clone().into(), own.mean.into(), own.low.into(), own.high.into()];
            let table = Table::new(&["option", "probability", "low", "high"], chances.rows.iter().map(row).collect());
            of_table(&known, name, form, &table)
        }
        _ => Err(missing("there is no such file")),
    }
}

/// Chances in a set as a picture.
fn drawn(prediction: &Prediction) -> Option<Picture> {
    let row = |own: &Chance| ForestRow {
        name: own.name.clone(),
        mean: own.mean,
        low: own.low,
        high: own.high,
        p_best: None,
        unseen: false,
    };
    let mut forest = Forest::new("What would be chosen", prediction.rows.iter().map(row).collect::<Vec<_>>());
    forest.legend = "chance and 90 % interval".into();
    forest.axis_title = "chance to be chosen from these".into();
    forest.numbered = false;
    forest.draw().ok()
}

/// A file of a context.
pub(super) async fn of_context(
    State(service): State<Shared>,
    visitor: Visitor,
    Path((catalog, asked)): Path<(String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Oops> {
    let known = visitor.access.catalog(&service, Scope::Admin, &catalog)?;
    let (name, form) = parse(&asked).ok_or_else(|| missing("there is no such file"))?;
    let context = params.get("name").to_owned();
    unloop_store::check_context(&context).map_err(Problem::from)?;
    if asked == "choices.csv" {
        return Ok(send(service, known.id, ExportAsked::csv(Some(context)), &headers, usize::MAX).await?);
    }
    let (ranked, _) = super::catalog::ranking(&service, &known, Some(&context)).await?.ok_or_else(computing)?;
    match (name, form) {
        ("ranking", Form::Svg) => of_picture(&known, name, forest(&known, &ranked, &View::of(&params), &context)),
        ("ranking", _) => of_table(&known, name, form, &ranking(&ranked)),
        _ => Err(missing("there is no such file")),
    }
}

fn ranking(ranked: &Ranked) -> Table {
    let columns =
        ["option", "rank", "mean", "sd", "low", "high", "map", "p_best", "p_top", "rank_low", "rank_high", "shown", "chosen"];
    let row = |row: &RankingRow| match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => columns.iter().map(|&name| fields.get(name).cloned().unwrap_or_default()).collect(),
        _ => Vec::new(),
    };
    Table::new(&columns, ranked.rows.iter().map(row).collect())
}

fn fairness(figures: &[Figures]) -> Table {
    let columns =
        ["option", "rank", "served", "shown", "chosen", "prior", "posterior", "next", "blind", "blind_next", "starved_by_blind"];
    let row = |own: &Figures| {
        let (blind, blind_next) = own.blind.map_or((Value::Null, Value::Null), |(mean, next)| (mean.into(), next.into()));
        vec![
            own.option.clone().into(),
            own.rank.into(),
            own.served.into(),
            own.shown.into(),
            own.chosen.into(),
            own.prior.into(),
            own.posterior.into(),
            own.next.into(),
            blind,
            blind_next,
            own.is_starved().into(),
        ]
    };
    Table::new(&columns, figures.iter().map(row).collect())
}

impl Curves {
    /// A row for each time.
    fn table(&self) -> Table {
        let names = self.series.iter().map(|own| own.name.as_str());
        let columns: Vec<&str> = std::iter::once("time").chain(names).collect();
        let row = |(place, x): (usize, &f64)| {
            let time = super::board::time((1e3 * x) as i64);
            let values = self.series.iter().map(|own| own.values.get(place).copied().flatten().into());
            std::iter::once(Value::from(time)).chain(values).collect()
        };
        Table::new(&columns, self.x.iter().enumerate().map(row).collect())
    }
}

/// A leaderboard as a picture.
fn forest(known: &Arc<Known>, ranked: &Ranked, view: &View, title: &str) -> Option<Picture> {
    let seen = ranked.rows.iter().enumerate().filter(|(place, row)| view.holds(known, &row.option, *place));
    let rows: Vec<ForestRow> = seen
        .map(|(_, row)| ForestRow {
            name: row.option.clone(),
            mean: row.mean,
            low: row.low,
            high: row.high,
            p_best: Some(row.p_best),
            unseen: row.shown == 0.0,
        })
        .take(MOST_DRAWN)
        .collect();
    let left = ranked.rows.len() - rows.len();
    let mut forest = Forest::new(title, rows);
    let options = count(ranked.rows.len() as f64);
    forest.subtitle = Some(format!("{options} options, {} presentations", count(ranked.presentations)));
    forest.legend = "posterior mean and 90 % interval".into();
    forest.reference = Some(Reference { value: 1.0 / ranked.rows.len().max(1) as f64, label: "equal share".into() });
    forest.footer = (left > 0).then(|| format!("… and {left} more"));
    // Somebody may look at options in the middle.
    forest.numbered = view.search.is_empty() && view.picks.is_empty();
    forest.draw().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_written_for_machines() {
        let rows = vec![vec!["a,\"b\"".into(), 0.5.into(), Value::Null], vec!["=1+1".into(), 2.into(), true.into()]];
        let table = Table::new(&["option", "mean", "map"], rows);
        assert_eq!(table.csv(), "option,mean,map\n\"a,\"\"b\"\"\",0.5,\n\"'=1+1\",2,true\n");
        assert_eq!(
            table.json(),
            r#"{"rows":[{"option":"a,\"b\"","mean":0.5,"map":null},{"option":"=1+1","mean":2,"map":true}]}"#
        );
        assert_eq!(parse("ranking.svg"), Some(("ranking", Form::Svg)));
        assert_eq!(parse("ranking"), None);
    }
}
