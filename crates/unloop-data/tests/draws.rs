//! Draws as files: what is written can be read.

use unloop::Options;
use unloop_data::draws::{DrawFormat, DrawTable, write_draws};

const NAMES: [&str; 3] = ["a", "b, c", "\"d\""];
const THETA: [[f64; 3]; 4] = [[0.2, 0.3, 0.5], [1.0, 0.0, 1e-300], [0.25, 0.25, 0.5], [0.1, 0.2, 0.7]];

fn written(format: DrawFormat) -> Vec<u8> {
    let options = Options::from_names(NAMES).expect("names");
    let mut bytes = Vec::new();
    let table = DrawTable { options: &options, chains: 2, draws: 2, theta: THETA.into_iter().map(Vec::from) };
    write_draws(&mut bytes, format, table).expect("written");
    bytes
}

#[test]
fn csv_has_names_chains_and_every_digit() {
    let text = String::from_utf8(written(DrawFormat::Csv)).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("chain,draw,a,\"b, c\",\"\"\"d\"\"\""));
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|x| x.parse().expect("a number")).collect()).collect();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row[..2], [(i / 2) as f64, (i % 2) as f64]);
        assert_eq!(row[2..], THETA[i]);
    }
    assert_eq!(rows.len(), 4);
}

#[test]
fn json_lines_are_objects_with_shares_by_name() {
    let text = String::from_utf8(written(DrawFormat::JsonLines)).expect("text");
    for (i, line) in text.lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((value["chain"].as_u64(), value["draw"].as_u64()), (Some(i as u64 / 2), Some(i as u64 % 2)));
        for (name, share) in NAMES.iter().zip(THETA[i]) {
            assert_eq!(value["theta"][name].as_f64(), Some(share));
        }
    }
    assert_eq!(text.lines().count(), 4);
}

/// NumPy's format 1.0: magic, a header that ends at a multiple of 64 bytes, little-endian floats.
#[test]
fn npy_is_an_array_of_chains_draws_and_options() {
    let bytes = written(DrawFormat::Npy);
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + length]).expect("text");
    assert_eq!(header.trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 3), }");
    assert!(header.ends_with('\n') && (10 + length) % 64 == 0);
    let values: Vec<f64> =
        bytes[10 + length..].chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect();
    assert_eq!(values, THETA.concat());
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use std::path::PathBuf;
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::record::Field;
    use parquet::schema::parser::parse_message_type;
    use unloop::Options;
    use unloop_data::draws::DrawFormat;
    use unloop_data::{CountSettings, ReadSettings, Source, count};

    use super::{NAMES, THETA, written};

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("unloop-{}-{name}", std::process::id()))
    }

    #[test]
    fn draws_are_columns() {
        let path = temporary("draws.parquet");
        std::fs::write(&path, written(DrawFormat::Parquet)).expect("written");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("opens")).expect("Parquet");
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").into_columns()).collect();
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(rows.len(), 4);
        for (i, row) in rows.iter().enumerate() {
            let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [&["chain", "draw"], &NAMES[..]].concat());
            let place = i64::try_from(i).expect("few");
            assert_eq!((&row[0].1, &row[1].1), (&Field::Long(place / 2), &Field::Long(place % 2)));
            assert_eq!(row[2..].iter().map(|(_, field)| field.clone()).collect::<Vec<_>>(), THETA[i].map(Field::Double));
        }
    }

    /// Battles with a count that may be missing, in two row groups.
    #[test]
    fn choices_are_read() {
        let path = temporary("battles.parquet");
        let schema = "message battles { required binary model_a (UTF8); required binary model_b (UTF8); \
                      required binary winner (UTF8); required int64 count; optional double score; }";
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let file = std::fs::File::create(&path).expect("a file");
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).expect("a writer");
        for (winner, times) in [("model_a", 2), ("tie", 1)] {
            let mut group = writer.next_row_group().expect("a group");
            for text in ["x", "y", winner] {
                let mut column = group.next_column().expect("a column").expect("a column");
                column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(text)], None, None).expect("written");
                column.close().expect("closed");
            }
            let mut column = group.next_column().expect("a column").expect("a column");
            column.typed::<Int64Type>().write_batch(&[times], None, None).expect("written");
            column.close().expect("closed");
            let mut column = group.next_column().expect("a column").expect("a column");
            column.typed::<DoubleType>().write_batch(&[], Some(&[0]), None).expect("written");
            column.close().expect("closed");
            group.close().expect("closed");
        }
        writer.close().expect("closed");
        let mut options = Options::new();
        let counted = count([Source::open(&path)], &mut options, &ReadSettings::default(), &CountSettings::default());
        std::fs::remove_file(&path).expect("removed");
        let counted = counted.expect("read");
        let chosen = |name: &str| options.get(name).map(|id| counted.statistics().chosen(id));
        assert_eq!((counted.rows, chosen("x"), chosen("y")), (2, Some(2.5), Some(0.5)));
    }
}
