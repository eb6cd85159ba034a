//! Recordings: what a device gave, in little space.
//!
//! # Format
//! Little-endian. A header: the bytes `WGCONF\r\n`, the format version (4 bytes), length and CRC-32 (4
//! bytes each) of what follows. Then, compressed with DEFLATE: three texts with their lengths (4 bytes):
//! device, driver, target; the number of cases (4 bytes), and the cases in ascending order of their key.
//! A case has its key (8 bytes), the numbers of columns and of sampled rows (1 byte each), for each
//! column the bytes of an element (1 byte), its codes ([`crate::syndrome`]: 8 bytes each, for the low
//! word of all elements and then for the higher ones), and its sampled elements.
//!
//! What follows from a case's columns and tuples ([`Layout`]) is not stored.

use std::io::{Read, Write};

use crate::case::Case;
use crate::syndrome::Code;

const MAGIC: &[u8; 8] = b"WGCONF\r\n";
/// The format version.
const VERSION: u32 = 1;
const HEADER: usize = 20;
/// Nothing greater is read.
const LARGEST: u64 = 256 << 20;
/// Rows that a code covers, for one column of up to 32 bits; others share its room.
const RUN: usize = 1024;

/// What is wrong with a recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// Other bytes at the start.
    #[error("this is no conformance recording: it does not begin with the mark of one")]
    NotARecording,
    /// Made by a later or earlier version of this format.
    #[error("the recording has format version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// Shorter than its header says.
    #[error("the recording is truncated: {actual} of {expected} bytes are there")]
    Truncated {
        /// Bytes there are.
        actual: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// The contents are not those that were written.
    #[error("the recording is damaged: {0}")]
    Damaged(&'static str),
}

/// Where a recording was made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The driver's version.
    pub driver: String,
    /// `.version` and `.target` of the kernels.
    pub target: String,
}

/// How the results of a case are divided up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Threads.
    pub(crate) tuples: usize,
    /// Bytes of an element of each column.
    pub(crate) widths: Vec<usize>,
    /// Rows that a code covers.
    pub(crate) run: usize,
    /// Rows recorded in full.
    pub(crate) samples: usize,
    /// Between them.
    pub(crate) stride: usize,
}

impl Layout {
    pub(crate) fn new(case: &Case) -> Layout {
        let tuples = case.tuples();
        let widths: Vec<usize> = case.results.iter().map(|result| result.bytes).collect();
        let words: usize = widths.iter().map(|bytes| bytes.div_ceil(4)).sum();
        let run = (RUN * words.next_power_of_two() * tuples / crate::TUPLES).min(tuples);
        let row: usize = widths.iter().sum();
        let samples = (128 / row.max(1)).clamp(8, 32);
        // Odd, so that the samples meet all remainders.
        let stride = if case.exhaustive() { 2039 } else { 61 };
        Layout { tuples, widths, run, samples, stride }
    }

    /// Where a column begins in the output.
    pub(crate) fn start(&self, column: usize) -> usize {
        self.widths[..column].iter().sum::<usize>() * self.tuples
    }

    /// Columns of 32-bit words, as column and word of its elements.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let columns = self.widths.iter().enumerate();
        columns.flat_map(|(column, bytes)| (0..bytes.div_ceil(4)).map(move |word| (column, word)))
    }

    /// A word of an element, zero-extended.
    pub(crate) fn word(&self, output: &[u8], column: usize, word: usize, row: usize) -> u32 {
        let width = self.widths[column];
        let start = self.start(column) + row * width + 4 * word;
        let bytes = &output[start..start + (width - 4 * word).min(4)];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }

    /// An element.
    pub(crate) fn element(&self, output: &[u8], column: usize, row: usize) -> u128 {
        let start = self.start(column) + row * self.widths[column];
        value(&output[start..start + self.widths[column]])
    }

    /// The sampled rows.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.samples).map(|at| at * self.stride)
    }

    fn codes(&self) -> usize {
        self.words().count() * (self.tuples / self.run)
    }

    fn row(&self) -> usize {
        self.widths.iter().sum()
    }
}

/// Little-endian bytes as a number.
pub(crate) fn value(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// What a device gave for a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    key: u64,
    widths: Vec<u8>,
    rows: u8,
    /// By word column, then by run.
    codes: Vec<Code>,
    /// By column, then by row.
    samples: Vec<u8>,
}

impl Entry {
    /// Of a case's results.
    pub(crate) fn new(case: &Case, output: &[u8]) -> Entry {
        let layout = Layout::new(case);
        let mut codes = Vec::with_capacity(layout.codes());
        for (column, word) in layout.words() {
            for run in 0..layout.tuples / layout.run {
                let rows = run * layout.run..(run + 1) * layout.run;
                codes.push(Code::of(rows.map(|row| layout.word(output, column, word, row))));
            }
        }
        let mut samples = Vec::with_capacity(layout.row() * layout.samples);
        for (column, &width) in layout.widths.iter().enumerate() {
            for row in layout.sampled() {
                let start = layout.start(column) + row * width;
                samples.extend_from_slice(&output[start..start + width]);
            }
        }
        let widths = layout.widths.iter().map(|&width| width as u8).collect();
        Entry { key: case.key(), widths, rows: layout.samples as u8, codes, samples }
    }

    /// Whether it has the columns, codes and rows of such a case.
    pub(crate) fn fits(&self, layout: &Layout) -> bool {
        self.widths.iter().map(|&width| usize::from(width)).eq(layout.widths.iter().copied())
            && usize::from(self.rows) == layout.samples
            && self.codes.len() == layout.codes()
            && self.samples.len() == layout.row() * layout.samples
    }

    /// The code of a run of a word column (by their index).
    pub(crate) fn code(&self, layout: &Layout, word: usize, run: usize) -> Code {
        self.codes[word * (layout.tuples / layout.run) + run]
    }

    /// A recorded element of the n-th sampled row.
    pub(crate) fn sample(&self, layout: &Layout, column: usize, at: usize) -> u128 {
        let before: usize = layout.widths[..column].iter().sum();
        let width = layout.widths[column];
        let start = before * layout.samples + at * width;
        value(&self.samples[start..start + width])
    }
}

/// What a device gave for many cases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// Where it was made.
    pub device: Device,
    /// Ascending by key.
    entries: Vec<Entry>,
}

impl Recording {
    pub(crate) fn new(device: Device, mut entries: Vec<Entry>) -> Recording {
        entries.sort_by_key(|entry| entry.key);
        Recording { device, entries }
    }

    /// Number of cases.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn find(&self, key: u64) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&key, |entry| entry.key).ok()?;
        self.entries.get(at)
    }

    /// How many cases it has that are not among these.
    pub(crate) fn unknown(&self, keys: &std::collections::HashSet<u64>) -> usize {
        self.entries.iter().filter(|entry| !keys.contains(&entry.key)).count()
    }

    /// Adds the cases of another recording of the same device, which replace those of the same text.
    pub fn merge(&mut self, newer: Recording) {
        let keys: std::collections::HashSet<u64> = newer.entries.iter().map(|entry| entry.key).collect();
        self.entries.retain(|entry| !keys.contains(&entry.key));
        self.entries.extend(newer.entries);
        self.entries.sort_by_key(|entry| entry.key);
        self.device = newer.device;
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        for text in [&self.device.name, &self.device.driver, &self.device.target] {
            raw.extend((text.len() as u32).to_le_bytes());
            raw.extend(text.as_bytes());
        }
        raw.extend((self.entries.len() as u32).to_le_bytes());
        for entry in &self.entries {
            raw.extend(entry.key.to_le_bytes());
            raw.extend([entry.widths.len() as u8, entry.rows]);
            raw.extend(&entry.widths);
            raw.extend((entry.codes.len() as u32).to_le_bytes());
            // Sums apart: those of narrow results have many zeros.
            raw.extend(entry.codes.iter().flat_map(|code| code.plain.to_le_bytes()));
            raw.extend(entry.codes.iter().flat_map(|code| code.weighted.to_le_bytes()));
            raw.extend(&entry.samples);
        }
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(&raw);
        let body = encoder.finish().unwrap_or_default();
        let mut check = flate2::Crc::new();
        check.update(&body);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(check.sum().to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, RecordingError> {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let truncated = |expected: u64| RecordingError::Truncated { actual: bytes.len() as u64, expected };
        if !bytes.starts_with(MAGIC) {
            // What is left of one is not something else.
            let cut = !bytes.is_empty() && MAGIC.starts_with(bytes);
            return Err(if cut { truncated(HEADER as u64) } else { RecordingError::NotARecording });
        }
        let version = number(8).ok_or_else(|| truncated(HEADER as u64))?;
        if version != VERSION {
            return Err(RecordingError::Version(version));
        }
        let (Some(length), Some(sum)) = (number(12), number(16)) else {
            return Err(truncated(HEADER as u64));
        };
        let body = &bytes[HEADER..];
        if body.len() as u64 != u64::from(length) {
            let expected = HEADER as u64 + u64::from(length);
            return Err(if (body.len() as u64) < u64::from(length) {
                truncated(expected)
            } else {
                RecordingError::Damaged("there are bytes behind its end")
            });
        }
        let mut check = flate2::Crc::new();
        check.update(body);
        if check.sum() != sum {
            return Err(RecordingError::Damaged("its checksum is wrong"));
        }
        let mut raw = Vec::new();
        let mut decoder = flate2::read::DeflateDecoder::new(body).take(LARGEST);
        decoder.read_to_end(&mut raw).map_err(|_| RecordingError::Damaged("it cannot be decompressed"))?;
        let mut cursor = Cursor { bytes: &raw };
        let recording = cursor.recording()?;
        match cursor.bytes {
            [] => Ok(recording),
            _ => Err(RecordingError::Damaged("there is more in it than its cases")),
        }
    }
}

/// What is left to read.
struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordingError> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or(RecordingError::Damaged("it ends within a case"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, RecordingError> {
        Ok(value(self.take(4)?) as usize)
    }

    fn text(&mut self) -> Result<String, RecordingError> {
        let length = self.number()?;
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| RecordingError::Damaged("a text in it is not UTF-8"))
    }

    fn recording(&mut self) -> Result<Recording, RecordingError> {
        let device = Device { name: self.text()?, driver: self.text()?, target: self.text()? };
        let count = self.number()?;
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..count {
            let entry = self.entry()?;
            if entries.last().is_some_and(|last| last.key >= entry.key) {
                return Err(RecordingError::Damaged("its cases are not in order"));
            }
            entries.push(entry);
        }
        Ok(Recording { device, entries })
    }

    fn entry(&mut self) -> Result<Entry, RecordingError> {
        let key = value(self.take(8)?) as u64;
        let [columns, rows] = *self.take(2)? else {
            return Err(RecordingError::Damaged("it ends within a case"));
        };
        let widths = self.take(columns.into())?.to_vec();
        let codes = self.number()?;
        let plain = self.take(4 * codes)?;
        let weighted = self.take(4 * codes)?;
        let word = |bytes: &[u8]| value(bytes) as u32;
        let codes = plain
            .chunks_exact(4)
            .zip(weighted.chunks_exact(4))
            .map(|(plain, weighted)| Code { plain: word(plain), weighted: word(weighted) })
            .collect();
        let row: usize = widths.iter().map(|&width| usize::from(width)).sum();
        let samples = self.take(row * usize::from(rows))?.to_vec();
        Ok(Entry { key, widths, rows, codes, samples })
    }
}
