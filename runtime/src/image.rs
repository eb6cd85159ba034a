//! Device images: PTX text, fatbins and their entries, and the choice between them.
//!
//! # Formats
//! A fatbin is a header (magic `0xBA55ED50`, version, header size, size of the rest) and entries. An entry
//! has a kind (1 PTX, 2 cubin), header and payload sizes, the compressed size (0: not compressed), the
//! architecture, flags and the uncompressed size.
//!
//! A cubin is an ELF file. Built with line information it has the PTX that it was made of, its lines ended by zero bytes, in
//! a section `.nv_debug_ptx_txt`; nvlink leaves one for each unit, with a suffix made of its text: of units that are equal it
//! leaves one section with the text of each.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use cuda_abi::{Result, Status};

/// Magic number of a fatbin.
pub const FATBIN: u32 = 0xba55_ed50;
/// Magic number of the wrapper around a fatbin's address.
pub const WRAPPER: u32 = 0x4662_43b1;

/// Magic number of an ELF file.
pub const ELF: u32 = 0x464c_457f;

/// A PTX text in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ptx {
    /// The architecture it is for: 90 for `compute_90`.
    pub sm: u32,
    /// `compute_90a`: for this architecture only.
    pub exact: bool,
    /// The text.
    pub text: Vec<u8>,
}

const PTX: u16 = 1;
const CUBIN: u16 = 2;
/// What begins the names of sections with PTX.
const DEBUG_PTX: &[u8] = b".nv_debug_ptx_txt";
/// Bytes of an ELF file's header, and of a section's.
pub const ELF_HEADER: usize = 64;
const SECTION: usize = 64;
/// Bytes of a symbol.
const SYMBOL: usize = 24;
/// In `.nv.info`: the format of attributes that say their size, and the kind of the count of registers of a function.
const SIZED: u8 = 4;
const REGISTERS: u8 = 0x2f;
/// The type of a section that takes no bytes of the file.
const NOBITS: u64 = 8;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ARCH: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
/// Largest text that is unpacked.
const MOST: u64 = 1 << 30;

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64> {
    let field = at.checked_add(N).and_then(|end| bytes.get(at..end)).ok_or(Status::INVALID_IMAGE)?;
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Bytes of a fatbin with its header, from its first 16 bytes.
///
/// # Errors
/// `INVALID_IMAGE` if it is none.
pub fn fatbin_size(header: &[u8]) -> Result<usize> {
    if number::<4>(header, 0)? != u64::from(FATBIN) {
        return Err(Status::INVALID_IMAGE);
    }
    let size = number::<2>(header, 6)?.checked_add(number::<8>(header, 8)?);
    size.filter(|&size| size < 1 << 40).map(|size| size as usize).ok_or(Status::INVALID_IMAGE)
}

/// Where an ELF file's headers of sections lie, from its own header.
///
/// # Errors
/// `INVALID_IMAGE` if it is none of 64 bits.
pub fn section_headers(header: &[u8]) -> Result<Range<usize>> {
    let (magic, class) = (number::<4>(header, 0)?, number::<1>(header, 4)?);
    let (start, size, count) = (number::<8>(header, 40)?, number::<2>(header, 58)?, number::<2>(header, 60)?);
    if magic != u64::from(ELF) || class != 2 || size != SECTION as u64 || start >= 1 << 40 {
        return Err(Status::INVALID_IMAGE);
    }
    let start = start as usize;
    Ok(start..start + SECTION * count as usize)
}

/// Where an ELF file ends that has these headers of sections.
///
/// # Errors
/// `INVALID_IMAGE` if a section ends nowhere.
pub fn elf_end(headers: &[u8]) -> Result<usize> {
    headers.chunks_exact(SECTION).try_fold(0, |end, section| {
        if number::<4>(section, 4)? == NOBITS {
            return Ok(end);
        }
        let own = number::<8>(section, 24)?.checked_add(number::<8>(section, 32)?);
        let own = own.filter(|&own| own < 1 << 40).ok_or(Status::INVALID_IMAGE)?;
        Ok(end.max(own as usize))
    })
}

/// What an image has for a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// PTX, a text a unit.
    pub texts: Vec<Vec<u8>>,
    /// Registers of kernels in the machine code that the device would run, by name, where there is some.
    pub registers: Registers,
}

/// Registers of kernels, by name.
pub type Registers = BTreeMap<String, u32>;

/// A cubin's sections.
struct Sections<'a> {
    bytes: &'a [u8],
    headers: &'a [u8],
    names: &'a [u8],
}

/// An ELF file of a device of NVIDIA with sections of these names and bytes.
fn elf(flags: u32, sections: &[(&str, &[u8])]) -> Vec<u8> {
    const PROGBITS: u32 = 1;
    const STRTAB: u32 = 3;
    // The first section's name is empty, and it is none.
    let (mut names, mut headers) = (vec![0u8], vec![0u8; SECTION]);
    // A class of 64 bits, little end first, CUDA's calling convention of version 8, an executable of CUDA.
    let mut bytes = [&b"\x7fELF\x02\x01\x01\x41\x08"[..], &[0; 7], &[2, 0, 190, 0]].concat();
    bytes.resize(ELF_HEADER, 0);
    let mut put = |kind: u32, name: usize, contents: &[u8], bytes: &mut Vec<u8>| {
        let mut header = [0u8; SECTION];
        header[..4].copy_from_slice(&(name as u32).to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        header[48] = 1;
        headers.extend(header);
        bytes.extend(contents);
    };
    for (name, contents) in sections {
        put(PROGBITS, names.len(), contents, &mut bytes);
        names.extend([name.as_bytes(), &[0]].concat());
    }
    put(STRTAB, 0, &names, &mut bytes);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let (start, count) = (bytes.len() as u64, (headers.len() / SECTION) as u16);
    bytes.extend(headers);
    bytes[20] = 1;
    bytes[40..48].copy_from_slice(&start.to_le_bytes());
    bytes[48..52].copy_from_slice(&flags.to_le_bytes());
    let sizes = [ELF_HEADER as u16, 0, 0, SECTION as u16, count, count - 1];
    for (at, size) in sizes.into_iter().enumerate() {
        bytes[52 + 2 * at..][..2].copy_from_slice(&size.to_le_bytes());
    }
    bytes
}

/// The architecture in a PTX text's directive `.target`.
fn target(text: &[u8]) -> Option<u32> {
    let number = |line: &[u8]| {
        let name = std::str::from_utf8(line).ok()?.trim_start().strip_prefix(".target")?.trim_start();
        let digits = name.strip_prefix("sm_")?.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    text.split(|&byte| byte == b'\n').find_map(number)
}

/// A cubin that has a PTX text for its code, for programs that ask for machine code and look whether it is an ELF file. Of a zero
/// byte at the text's end nothing is left.
#[must_use]
pub fn cubin_of(text: &[u8]) -> Vec<u8> {
    // As nvcc 13.0 writes them, with the architecture between.
    const FLAGS: u32 = 0x0600_0004;
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    let lines: Vec<u8> = text.iter().map(|&byte| if byte == b'\n' { 0 } else { byte }).collect();
    elf(FLAGS | (target(text).unwrap_or(0) & 0xffff) << 8, &[(".nv_debug_ptx_txt", &lines)])
}

impl<'a> Sections<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let headers = bytes.get(section_headers(bytes)?).ok_or(Status::INVALID_IMAGE)?;
        let mut sections = Self { bytes, headers, names: &[] };
        sections.names = sections.numbered(number::<2>(bytes, 62)?)?.1;
        Ok(sections)
    }

    /// What a header says of a section, and its bytes.
    fn contents(&self, header: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let (start, size) = (number::<8>(header, 24)? as usize, number::<8>(header, 32)? as usize);
        let bytes = start.checked_add(size).and_then(|end| self.bytes.get(start..end));
        Ok((header, bytes.ok_or(Status::INVALID_IMAGE)?))
    }

    fn numbered(&self, at: u64) -> Result<(&'a [u8], &'a [u8])> {
        let header = self.headers.chunks_exact(SECTION).nth(at as usize);
        self.contents(header.ok_or(Status::INVALID_IMAGE)?)
    }

    /// The headers of sections whose names a test wants.
    fn named(&self, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<&'a [u8]>> {
        let mut found = Vec::new();
        for header in self.headers.chunks_exact(SECTION) {
            let name = self.names.get(number::<4>(header, 0)? as usize..).ok_or(Status::INVALID_IMAGE)?;
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
            if wanted(&name[..end]) {
                found.push(header);
            }
        }
        Ok(found)
    }
}

/// The PTX that a cubin was made of; none if it was built without line information.
///
/// # Errors
/// `INVALID_IMAGE` if it is no ELF file, or damaged.
pub fn cubin(bytes: &[u8]) -> Result<Program> {
    let sections = Sections::of(bytes)?;
    let mut texts = Vec::new();
    for header in sections.named(|name| name.starts_with(DEBUG_PTX))? {
        let (_, text) = sections.contents(header)?;
        let text: Vec<u8> = text.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }).collect();
        texts.extend(units(&text).into_iter().map(<[u8]>::to_vec));
    }
    Ok(Program { texts, registers: registers(bytes).unwrap_or_default() })
}

/// The units whose texts stand one behind the other: each begins with its version.
fn units(text: &[u8]) -> Vec<&[u8]> {
    const VERSION: &[u8] = b"\n.version";
    let starts =
        text.windows(VERSION.len()).enumerate().filter(|(_, at)| *at == VERSION).map(|(at, _)| at + 1);
    // What stands before the first version belongs to it.
    let first = usize::from(!text.starts_with(&VERSION[1..]));
    let mut cuts = vec![0];
    cuts.extend(starts.skip(first));
    cuts.push(text.len());
    cuts.windows(2).map(|unit| &text[unit[0]..unit[1]]).collect()
}

/// Registers of a cubin's kernels: attributes of the section `.nv.info`, each a format, a kind, and bytes or their count.
fn registers(bytes: &[u8]) -> Result<Registers> {
    let sections = Sections::of(bytes)?;
    let mut found = Registers::new();
    for header in sections.named(|name| name == b".nv.info")? {
        let (_, info) = sections.contents(header)?;
        // The section's link is the table of symbols, whose own link is their names.
        let (symbols, entries) = sections.numbered(number::<4>(header, 40)?)?;
        let (_, names) = sections.numbered(number::<4>(symbols, 40)?)?;
        let mut at = 0;
        while at + 4 <= info.len() {
            let (format, kind, size) = (info[at], info[at + 1], number::<2>(info, at + 2)? as usize);
            at += 4;
            if format != SIZED {
                continue;
            }
            if kind == REGISTERS {
                let (symbol, count) = (number::<4>(info, at)? as usize, number::<4>(info, at + 4)?);
                let name = number::<4>(entries, symbol.saturating_mul(SYMBOL))? as usize;
                let name = names.get(name..).ok_or(Status::INVALID_IMAGE)?;
                let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
                found.insert(String::from_utf8_lossy(&name[..end]).into(), count as u32);
            }
            at += size;
        }
    }
    Ok(found)
}

/// The PTX texts of a fatbin, not unpacked yet.
///
/// # Errors
/// `INVALID_IMAGE` if the bytes are no fatbin, or damaged.
pub fn fatbin(bytes: &[u8]) -> Result<Vec<Packed<'_>>> {
    entries(bytes, PTX)
}

/// Its cubins.
///
/// # Errors
/// As [`fatbin`].
pub fn cubins(bytes: &[u8]) -> Result<Vec<Packed<'_>>> {
    entries(bytes, CUBIN)
}

fn entries(bytes: &[u8], wanted: u16) -> Result<Vec<Packed<'_>>> {
    let end = fatbin_size(bytes)?.min(bytes.len());
    let mut at = number::<2>(bytes, 6)? as usize;
    let mut texts = Vec::new();
    while at + 64 <= end {
        let kind = number::<2>(bytes, at)? as u16;
        let header = number::<4>(bytes, at + 4)? as usize;
        let size = number::<8>(bytes, at + 8)?;
        let size = usize::try_from(size).map_err(|_| Status::INVALID_IMAGE)?;
        let start = at.checked_add(header).ok_or(Status::INVALID_IMAGE)?;
        let stop = start.checked_add(size).ok_or(Status::INVALID_IMAGE)?;
        let payload = bytes.get(start..stop).ok_or(Status::INVALID_IMAGE)?;
        if header < 64 {
            return Err(Status::INVALID_IMAGE);
        }
        if kind == wanted {
            texts.push(Packed {
                sm: number::<4>(bytes, at + 28)? as u32,
                flags: number::<8>(bytes, at + 40)?,
                compressed: number::<4>(bytes, at + 16)? as usize,
                size: number::<8>(bytes, at + 56)?,
                payload,
            });
        }
        at = stop;
    }
    Ok(texts)
}

/// A PTX text, or a cubin, in a fatbin.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// The architecture it is for.
    pub sm: u32,
    flags: u64,
    compressed: usize,
    size: u64,
    payload: &'a [u8],
}

impl Packed<'_> {
    /// Whether it is for exactly one architecture or its family.
    pub fn is_exact(&self) -> bool {
        self.flags & (FLAG_ARCH | FLAG_FAMILY) != 0
    }

    /// The text.
    ///
    /// # Errors
    /// `INVALID_IMAGE` if it cannot be unpacked.
    pub fn unpack(&self) -> Result<Ptx> {
        let mut text = self.bytes()?;
        if let Some(end) = text.iter().position(|&byte| byte == 0) {
            text.truncate(end);
        }
        Ok(Ptx { sm: self.sm, exact: self.is_exact(), text })
    }

    /// Its bytes.
    ///
    /// # Errors
    /// `INVALID_IMAGE` if they cannot be unpacked.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let bad = Status::INVALID_IMAGE;
        if self.size > MOST {
            return Err(bad);
        }
        let packed = match self.compressed {
            0 => self.payload,
            size => self.payload.get(..size).ok_or(bad)?,
        };
        if self.flags & FLAG_ZSTD != 0 {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|_| bad)?;
            let mut bytes = Vec::new();
            decoder.take(MOST).read_to_end(&mut bytes).map_err(|_| bad)?;
            Ok(bytes)
        } else if self.flags & FLAG_LZ4 != 0 {
            lz4_flex::block::decompress(packed, self.size as usize).map_err(|_| bad)
        } else {
            Ok(packed.to_vec())
        }
    }
}

/// The best text for a device: exactly its architecture first, else the highest that is not above.
///
/// # Errors
/// `NO_BINARY_FOR_GPU` if there is none, `INVALID_IMAGE` if it cannot be unpacked.
pub fn choose(texts: &[Packed<'_>], sm: u16) -> Result<Ptx> {
    let sm = u32::from(sm);
    let fits = |text: &&Packed<'_>| if text.is_exact() { text.sm == sm } else { text.sm <= sm };
    let best = texts.iter().filter(fits).max_by_key(|text| (text.is_exact(), text.sm));
    best.ok_or(Status::NO_BINARY_FOR_GPU)?.unpack()
}

/// The program of a fatbin for a device: the best text, or else that of the best cubin which carries its own.
///
/// # Errors
/// As [`choose`].
pub fn best(bytes: &[u8], sm: u16) -> Result<Program> {
    let mut cubins = cubins(bytes)?;
    cubins.retain(|cubin| cubin.sm <= sm.into());
    cubins.sort_by_key(|cubin| std::cmp::Reverse(cubin.sm));
    let none = match choose(&fatbin(bytes)?, sm) {
        Err(status @ Status::NO_BINARY_FOR_GPU) => status,
        chosen => {
            // A device runs the code of its own generation first.
            let own = cubins.first().filter(|cubin| cubin.sm / 10 == u32::from(sm / 10));
            let code = own.and_then(|cubin| cubin.bytes().ok()).and_then(|bytes| registers(&bytes).ok());
            return Ok(Program { texts: vec![chosen?.text], registers: code.unwrap_or_default() });
        }
    };
    for packed in cubins {
        let program = cubin(&packed.bytes()?).unwrap_or_default();
        if !program.texts.is_empty() {
            return Ok(program);
        }
    }
    Err(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubin_gives_the_ptx_that_it_was_made_of() {
        let mut file = elf(
            0,
            &[
                (".text.k", b"machine code"),
                (".nv_debug_ptx_txt.12", b".version 8.0\0.target sm_80\0"),
                (".nv_debug_ptx_txt.7", b".version 8.0\0"),
            ],
        );
        let texts = cubin(&file).unwrap().texts;
        assert_eq!(texts, [&b".version 8.0\n.target sm_80\n"[..], b".version 8.0\n"]);
        // Equal units share a section.
        let twice = elf(
            0,
            &[(
                ".nv_debug_ptx_txt.5",
                b"\0\0.version 8.5\0.weak .global .u32 x;\0\0.version 8.5\0.weak .global .u32 x;\0",
            )],
        );
        let unit = b".version 8.5\n.weak .global .u32 x;\n";
        assert_eq!(cubin(&twice).unwrap().texts, [[b"\n\n", &unit[..], b"\n"].concat(), unit.to_vec()]);
        assert_eq!(cubin(&elf(0, &[(".nv_debug_ptx_txt", b"")])).unwrap().texts, [b""]);
        // One more that takes no bytes of the file.
        let mut nowhere = [0; SECTION];
        nowhere[4] = NOBITS as u8;
        nowhere[24..40].fill(0x70);
        file.extend(nowhere);
        file[60] += 1;
        let headers = section_headers(&file).unwrap();
        let end = elf_end(&file[headers.clone()]).unwrap();
        assert_eq!((headers.end, end.next_multiple_of(8)), (file.len(), headers.start));
        assert_eq!(cubin(&elf(0, &[(".text.k", b"code")])), Ok(Program::default()));

        // PTX goes first; of cubins the latest that has any.
        let plain = elf(0, &[(".text.k", b"code")]);
        let packed = lz4_flex::block::compress(&file);
        let fat = image(&[
            entry(2, 90, 0, &plain, 0),
            entry(2, 80, FLAG_LZ4, &packed, file.len()),
            entry(2, 100, 0, &file, 0),
        ]);
        assert_eq!(best(&fat, 90).unwrap().texts, texts);
        assert_eq!(best(&fat, 75), Err(Status::NO_BINARY_FOR_GPU));
        assert_eq!(best(&image(&[entry(2, 90, 0, &plain, 0)]), 90), Err(Status::NO_BINARY_FOR_GPU));
        let both = image(&[entry(2, 90, 0, &file, 0), entry(1, 80, 0, b"text", 0)]);
        assert_eq!(best(&both, 90).unwrap().texts, [b"text"]);
        for cut in 0..file.len() {
            // No length makes it panic.
            let _ = cubin(&file[..cut]);
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] = 0xff;
            let _ = (cubin(&damaged), section_headers(&damaged).map(|at| damaged.get(at).map(elf_end)));
        }
    }

    #[test]
    fn what_is_given_as_machine_code_is_a_cubin_with_its_text() {
        let text = b"// Made by hand\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n\0";
        let file = cubin_of(text);
        let headers = section_headers(&file).unwrap();
        assert_eq!(headers.end, file.len());
        let read = cubin(&file).unwrap().texts;
        assert_eq!(read, [&text[..text.len() - 1]]);
        assert_eq!((file[49], target(b".version 8.0"), target(b".target sm_x")), (90, None, None));
    }

    #[test]
    fn a_cubin_says_how_many_registers_its_kernels_have() {
        // As nvcc 13.0 writes it: the third symbol is `kernel`, with 56 registers.
        let names = b"\0other\0kernel\0";
        let mut symbols = vec![0u8; 3 * SYMBOL];
        symbols[SYMBOL] = 1;
        symbols[2 * SYMBOL] = 7;
        let info = [
            [3, 0x37, 0x82, 0, 4, 0x11, 8, 0, 2, 0, 0, 0, 99, 0, 0, 0],
            [4, 0x2f, 8, 0, 2, 0, 0, 0, 56, 0, 0, 0, 3, 0x1b, 0xff, 0],
        ];
        let mut file = elf(0, &[(".strtab", names), (".symtab", &symbols), (".nv.info", &info.concat())]);
        let headers = section_headers(&file).unwrap().start;
        // The links: from attributes to symbols, and from those to names.
        file[headers + 3 * SECTION + 40] = 2;
        file[headers + 2 * SECTION + 40] = 1;
        let registers = Registers::from([("kernel".into(), 56)]);
        assert_eq!(cubin(&file).unwrap().registers, registers);
        let of = |sm| best(&image(&[entry(2, sm, 0, &file, 0), entry(1, 80, 0, b"text", 0)]), 90).unwrap();
        assert_eq!(of(90), Program { texts: vec![b"text".into()], registers });
        assert!(of(86).registers.is_empty(), "the text is compiled for this device");
        for cut in 0..file.len() {
            let _ = cubin(&file[..cut]);
        }
        for at in 0..file.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = file.clone();
                damaged[at] = byte;
                let _ = cubin(&damaged);
            }
        }
    }

    fn entry(kind: u16, sm: u32, flags: u64, payload: &[u8], size: usize) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[0..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&64u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        let compressed = if flags & (FLAG_LZ4 | FLAG_ZSTD) != 0 { payload.len() } else { 0 };
        bytes[16..20].copy_from_slice(&(compressed as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&sm.to_le_bytes());
        bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        bytes[56..64].copy_from_slice(&(size as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn image(entries: &[Vec<u8>]) -> Vec<u8> {
        let rest = entries.concat();
        let mut bytes = FATBIN.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((rest.len() as u64).to_le_bytes());
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn the_best_text_is_chosen_and_unpacked() {
        let packed = lz4_flex::block::compress(b"of 80\0");
        let image = image(&[
            entry(2, 90, 0, b"cubin", 0),
            entry(1, 80, FLAG_LZ4, &packed, 6),
            entry(1, 75, 0, b"of 75\0", 0),
            entry(1, 100, 0, b"of 100", 0),
            entry(1, 86, FLAG_ARCH, b"of 86a", 0),
        ]);
        let texts = fatbin(&image).unwrap();
        assert_eq!(choose(&texts, 90).unwrap().text, b"of 80");
        assert_eq!(choose(&texts, 86).unwrap().text, b"of 86a");
        assert_eq!(choose(&texts, 79).unwrap().text, b"of 75");
        assert_eq!(choose(&texts, 70), Err(Status::NO_BINARY_FOR_GPU));
    }

    #[test]
    fn damaged_images_are_refused() {
        let good = image(&[entry(1, 80, FLAG_ZSTD, b"not zstd", 8), entry(1, 70, 0, b"x", 0)]);
        assert_eq!(choose(&fatbin(&good).unwrap(), 90), Err(Status::INVALID_IMAGE));
        for cut in 0..good.len() {
            // No length makes it panic.
            let _ = fatbin(&good[..cut]).map(|texts| choose(&texts, 90));
        }
        let mut long = good.clone();
        long[16 + 8..16 + 16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(fatbin(&long).unwrap_err(), Status::INVALID_IMAGE);
    }
}
