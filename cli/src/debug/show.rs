//! What `info` and its kin show.

use std::fmt::Write;

use debugger::format::Format;
use debugger::types::Space;
use debugger::{Error, Focus, Result};
use sim_core::{WaitsFor, WarpId};

use super::commands::text::{info_line, info_symbol};
use super::prompt::{Prompt, dim, mask_text as lanes};

/// Rows with their columns below each other; the last column is as long as it is.
fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|name| name.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        for (at, cell) in cells.iter().enumerate() {
            match at + 1 == cells.len() {
                true => text += cell,
                false => write!(text, "{cell:<width$}  ", width = widths[at]).unwrap_or_default(),
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(header.to_vec());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text
}

/// Shows something.
type Show = fn(&mut Prompt<'_, '_, '_, '_>, &str) -> Result<()>;

/// What `info` can be asked.
pub(super) const INFO: &[(&str, Show)] = &[
    ("allocations", |prompt, _| prompt.info_allocations()),
    ("args", |prompt, _| prompt.info_locals(true)),
    ("barriers", |prompt, _| prompt.info_barriers()),
    ("blocks", |prompt, _| prompt.info_blocks()),
    ("breakpoints", |prompt, _| prompt.info_breakpoints()),
    ("display", |prompt, _| {
        prompt.info_display();
        Ok(())
    }),
    ("findings", |prompt, _| prompt.info_findings()),
    ("frame", |prompt, _| {
        prompt.tell_place(true);
        Ok(())
    }),
    ("functions", |prompt, _| prompt.info_functions()),
    ("kernels", |prompt, _| prompt.info_kernels()),
    ("lanes", |prompt, _| prompt.info_lanes()),
    ("line", info_line),
    ("locals", |prompt, _| prompt.info_locals(false)),
    ("registers", |prompt, rest| prompt.info_registers(rest)),
    ("shared", |prompt, _| prompt.info_shared()),
    ("source", |prompt, _| prompt.info_sources()),
    ("symbol", info_symbol),
    ("threads", |prompt, _| prompt.info_threads()),
    ("time", |prompt, _| prompt.info_time()),
    ("warps", |prompt, _| prompt.info_warps()),
    ("watchpoints", |prompt, _| prompt.info_breakpoints()),
];

/// Blocks that are listed.
const BLOCKS: usize = 64;

impl Prompt<'_, '_, '_, '_> {
    /// `info` of something.
    pub(super) fn info(&mut self, what: &str) -> Result<()> {
        let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
        // `info cuda warps`, as one writes it there.
        let (word, rest) = match word {
            "cuda" => rest.trim().split_once(' ').unwrap_or((rest.trim(), "")),
            _ => (word, rest),
        };
        let found: Vec<_> =
            INFO.iter().filter(|(name, _)| !word.is_empty() && name.starts_with(word)).collect();
        match found[..] {
            [(_, show)] => show(self, rest.trim()),
            _ => {
                match found.iter().find(|(name, _)| *name == word || word == "b" && *name == "breakpoints") {
                    Some((_, show)) => show(self, rest.trim()),
                    None if found.len() > 1 => {
                        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
                        Err(Error::Refused(format!("ambiguous \"info {word}\": {}", names.join(", "))))
                    }
                    None => {
                        let names: Vec<&str> = INFO.iter().map(|(name, _)| *name).collect();
                        Err(Error::Refused(format!("\"info\" is followed by one of {}", names.join(", "))))
                    }
                }
            }
        }
    }

    fn info_kernels(&mut self) -> Result<()> {
        let session = self.debugger.session();
        let launch = session.launch();
        let resident = session.look().blocks().count();
        let row = vec![
            "*".into(),
            dim(launch.grid),
            dim(session.cluster()),
            dim(launch.block),
            (session.shared_bytes() - sim_core::window::SHARED_START.min(session.shared_bytes())).to_string(),
            resident.to_string(),
            reports::readable(&launch.kernel).into_owned(),
        ];
        let text = table(&["", "Grid", "Cluster", "Block", "Shared", "Resident blocks", "Kernel"], &[row]);
        self.out(text);
        Ok(())
    }

    fn info_blocks(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let mut rows = Vec::new();
        let mut more = 0;
        for block in look.blocks() {
            if rows.len() == BLOCKS {
                more += 1;
                continue;
            }
            let live = |mask: fn(&sim_core::WarpView<'_>) -> u32| -> u32 {
                block.warps().map(|warp| mask(&warp).count_ones()).sum()
            };
            let all = live(|warp| warp.lanes());
            let (exited, faulted) = (live(|warp| warp.exited()), live(|warp| warp.faulted()));
            rows.push(vec![
                if block.index() == focus.warp.block { "*" } else { "" }.into(),
                dim(block.position()),
                (all - exited - faulted).to_string(),
                exited.to_string(),
                faulted.to_string(),
            ]);
        }
        drop(look);
        self.out(table(&["", "Block", "Running", "Exited", "Faulted"], &rows));
        if more > 0 {
            self.out(format!("… and {more} more\n"));
        }
        Ok(())
    }

    fn waits_text(waits: WaitsFor) -> String {
        match waits {
            WaitsFor::Nothing => String::new(),
            WaitsFor::Barrier(number) => format!("barrier {number}"),
            WaitsFor::Lanes(members) => format!("lanes {}", lanes(members)),
            WaitsFor::Cluster => "the barrier of the cluster".into(),
            WaitsFor::Warpgroup => "the other warps of its warpgroup".into(),
        }
    }

    fn info_warps(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let gone = || {
            Error::NoThread(format!("block {} is not running", dim(self.debugger.block(focus.warp.block))))
        };
        let block = look.block(focus.warp.block).ok_or_else(gone)?;
        let mut rows = Vec::new();
        for warp in block.warps() {
            let mut first = true;
            let groups = warp.groups();
            let mark = if warp.index() == focus.warp.warp { "*" } else { "" };
            if groups.is_empty() {
                rows.push(vec![
                    mark.into(),
                    warp.index().to_string(),
                    "none".into(),
                    String::new(),
                    "exited".into(),
                    String::new(),
                ]);
            }
            for group in groups {
                let own = group.lanes() >> focus.lane & 1 != 0 && warp.index() == focus.warp.warp;
                rows.push(vec![
                    if own { "*" } else { "" }.into(),
                    if first { warp.index().to_string() } else { String::new() },
                    lanes(group.lanes()),
                    group.position().to_string(),
                    Self::waits_text(group.waits_for()),
                    self.place_text(group.position()),
                ]);
                first = false;
            }
        }
        let text = table(&["", "Warp", "Lanes", "Position", "Waits for", "Where"], &rows);
        drop(look);
        self.out(text);
        Ok(())
    }

    fn info_lanes(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let gone = || {
            Error::NoThread(format!("block {} is not running", dim(self.debugger.block(focus.warp.block))))
        };
        let block = look.block(focus.warp.block).ok_or_else(gone)?;
        let warp = block.warp(focus.warp.warp).ok_or_else(gone)?;
        let mut rows = Vec::new();
        for lane in (0..32).filter(|lane| warp.lanes() >> lane & 1 != 0) {
            let (state, place) = match warp.group(lane) {
                Some(group) if group.waits_for() == WaitsFor::Nothing => {
                    ("active".into(), self.place_text(group.position()))
                }
                Some(group) => (
                    format!("waits for {}", Self::waits_text(group.waits_for())),
                    self.place_text(group.position()),
                ),
                None if warp.faulted() >> lane & 1 != 0 => ("faulted".into(), String::new()),
                None => ("exited".into(), String::new()),
            };
            let thread = self.debugger.thread(Focus { warp: focus.warp, lane });
            let mark = if lane == focus.lane { "*" } else { "" };
            rows.push(vec![mark.into(), lane.to_string(), dim(thread), state, place]);
        }
        let text = table(&["", "Lane", "Thread", "State", "Where"], &rows);
        drop(look);
        self.out(text);
        Ok(())
    }

    /// Threads at one place as one row, over all resident blocks.
    fn info_threads(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut more = 0;
        for block in look.blocks() {
            for warp in block.warps() {
                for group in warp.groups() {
                    if rows.len() == 4 * BLOCKS {
                        more += 1;
                        continue;
                    }
                    let id = WarpId { block: block.index(), warp: warp.index() };
                    let thread = |lane| dim(self.debugger.thread(Focus { warp: id, lane }));
                    let (first, last) = (group.lanes().trailing_zeros(), 31 - group.lanes().leading_zeros());
                    let own = id == focus.warp && group.lanes() >> focus.lane & 1 != 0;
                    rows.push(vec![
                        if own { "*" } else { "" }.into(),
                        dim(block.position()),
                        thread(first),
                        thread(last),
                        group.lanes().count_ones().to_string(),
                        self.place_text(group.position()),
                    ]);
                }
            }
        }
        let text = table(&["", "Block", "First thread", "Last thread", "Count", "Where"], &rows);
        drop(look);
        self.out(text);
        if more > 0 {
            self.out(format!("… and {more} more\n"));
        }
        Ok(())
    }

    fn info_barriers(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let gone = || {
            Error::NoThread(format!("block {} is not running", dim(self.debugger.block(focus.warp.block))))
        };
        let block = look.block(focus.warp.block).ok_or_else(gone)?;
        let live: u32 =
            block.warps().map(|warp| (warp.lanes() & !warp.exited() & !warp.faulted()).count_ones()).sum();
        let rows: Vec<Vec<String>> = block
            .barriers()
            .iter()
            .map(|barrier| {
                let arrived = barrier.arrived.iter().zip(0..).filter(|(mask, _)| **mask != 0);
                let arrived: Vec<String> =
                    arrived.map(|(mask, warp): (_, u32)| format!("warp {warp}: {}", lanes(*mask))).collect();
                vec![
                    barrier.barrier.to_string(),
                    barrier.count.to_string(),
                    barrier.expected.unwrap_or(live).to_string(),
                    arrived.join("; "),
                ]
            })
            .collect();
        let text = match rows.is_empty() {
            true => "Nobody waits at a barrier of the block.\n".into(),
            false => table(&["Barrier", "Arrived", "Expected", "Who"], &rows),
        };
        drop(look);
        self.out(text);
        Ok(())
    }

    /// Who waits for whom.
    pub(super) fn others(&mut self) -> Result<()> {
        let focus = self.debugger.focus();
        let look = self.debugger.session().look();
        let mut text = String::new();
        let mut shown = 0;
        for block in look.blocks() {
            shown += 1;
            if shown > BLOCKS {
                continue;
            }
            let own = if block.index() == focus.warp.block { "* " } else { "  " };
            writeln!(text, "{own}block {}", dim(block.position())).unwrap_or_default();
            let barriers = block.barriers();
            for warp in block.warps() {
                for group in warp.groups() {
                    let own = WarpId { block: block.index(), warp: warp.index() } == focus.warp
                        && group.lanes() >> focus.lane & 1 != 0;
                    let picture: String = (0..32)
                        .map(|lane| match () {
                            () if group.lanes() >> lane & 1 != 0 => '#',
                            () if warp.lanes() >> lane & 1 == 0 => ' ',
                            () => '.',
                        })
                        .collect();
                    let what = match group.waits_for() {
                        WaitsFor::Nothing => "runs".to_owned(),
                        WaitsFor::Barrier(number) => {
                            let barrier = barriers.iter().find(|barrier| barrier.barrier == number);
                            let missing = barrier.map(|barrier| {
                                let missing =
                                    block.warps().zip(&barrier.arrived).filter_map(|(warp, arrived)| {
                                        let live = warp.lanes() & !warp.exited() & !warp.faulted() & !arrived;
                                        (live != 0)
                                            .then(|| format!("warp {} lanes {}", warp.index(), lanes(live)))
                                    });
                                missing.collect::<Vec<_>>().join("; ")
                            });
                            match missing.as_deref() {
                                None | Some("") => format!("waits at barrier {number}"),
                                Some(missing) => format!("waits at barrier {number} for {missing}"),
                            }
                        }
                        WaitsFor::Lanes(members) => {
                            let missing = members & !group.lanes() & !warp.exited();
                            format!("waits for lanes {} of its warp", lanes(missing))
                        }
                        WaitsFor::Cluster => "waits at the barrier of the cluster".into(),
                        WaitsFor::Warpgroup => "waits for the other warps of its warpgroup".into(),
                    };
                    let mark = if own { "*" } else { " " };
                    let place = self.place_text(group.position());
                    writeln!(
                        text,
                        "  {mark} warp {:<2} [{picture}] {what}\n{:43}at {place}",
                        warp.index(),
                        ""
                    )
                    .unwrap_or_default();
                }
                let exited = warp.exited() | warp.faulted();
                if exited != 0 && warp.groups().is_empty() {
                    writeln!(text, "    warp {:<2} has exited", warp.index()).unwrap_or_default();
                }
            }
        }
        drop(look);
        if shown == 0 {
            text += "No block is running.\n";
        }
        if shown > BLOCKS {
            writeln!(text, "… and {} more blocks", shown - BLOCKS).unwrap_or_default();
        }
        self.out(text);
        Ok(())
    }

    fn info_breakpoints(&mut self) -> Result<()> {
        let program = self.debugger.program().clone();
        let points = self.debugger.points();
        let mut rows = Vec::new();
        for point in &points.breakpoints {
            let place = match (point.line, &point.places[..]) {
                (Some(line), [(position, _), rest @ ..]) => {
                    let more =
                        if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                    format!("{} (position {position}{more})", program.line_text(line))
                }
                _ => format!("<pending> {}", point.text),
            };
            let mut place = place;
            if let Some(condition) = &point.condition {
                place += &format!(", if {condition}");
            }
            if let Some(threads) = point.threads {
                place += &format!(", only {}", self.lanes_text(threads.warp, threads.lanes));
            }
            rows.push((
                point.id,
                vec![
                    point.id.to_string(),
                    "breakpoint".into(),
                    if point.temporary { "del" } else { "keep" }.into(),
                    if point.enabled { "y" } else { "n" }.into(),
                    point.hits.to_string(),
                    place,
                ],
            ));
        }
        for point in &points.watchpoints {
            let kind = match (point.reads, point.writes) {
                (true, false) => "read watchpoint",
                (true, true) => "acc watchpoint",
                _ => "watchpoint",
            };
            let what = format!("{} ({} bytes at {:#x})", point.text, point.range.bytes, point.range.address);
            let enabled = if point.enabled { "y" } else { "n" };
            rows.push((
                point.id,
                vec![
                    point.id.to_string(),
                    kind.into(),
                    "keep".into(),
                    enabled.into(),
                    point.hits.to_string(),
                    what,
                ],
            ));
        }
        rows.sort_by_key(|(id, _)| *id);
        let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
        let text = match rows.is_empty() {
            true => "No breakpoints or watchpoints.\n".into(),
            false => table(&["Num", "Type", "Disp", "Enb", "Hits", "What"], &rows),
        };
        self.out(text);
        Ok(())
    }

    fn info_display(&self) {
        if self.kept.displays.is_empty() {
            self.out("Nothing is displayed.\n");
        }
        for display in &self.kept.displays {
            self.out(format!("{}: {}\n", display.id, display.text));
        }
    }

    fn info_registers(&mut self, only: &str) -> Result<()> {
        self.debugger.frames()?;
        let wanted: Vec<&str> = only.split_whitespace().collect();
        let registers = self.debugger.scope_here().registers();
        let mut rows = Vec::new();
        for (name, ty) in registers {
            let asked = |word: &&str| word.trim_start_matches(['$', '%']) == name.trim_start_matches('%');
            if !wanted.is_empty() && !wanted.iter().any(asked) {
                continue;
            }
            let shown = |format| self.debugger.show(&name, format).unwrap_or_else(|error| error.to_string());
            let hexadecimal =
                if ty == ptx_frontend::ScalarType::Pred { String::new() } else { shown(Format::Hexadecimal) };
            rows.push(vec![name.clone(), format!(".{}", ty.text()), hexadecimal, shown(Format::Natural)]);
        }
        if rows.is_empty() {
            return Err(Error::NoSymbol(only.to_owned()));
        }
        self.out(table(&["Register", "Type", "Bits", "Value"], &rows));
        Ok(())
    }

    fn info_locals(&mut self, arguments: bool) -> Result<()> {
        self.debugger.frames()?;
        let scope = self.debugger.scope_here();
        let names = if arguments { scope.arguments() } else { scope.locals() };
        if names.is_empty() {
            self.out(if arguments { "No arguments.\n" } else { "No locals.\n" });
        }
        for name in names {
            let shown =
                self.debugger.show(&name, Format::Natural).unwrap_or_else(|error| format!("<{error}>"));
            self.out(format!("{name} = {shown}\n"));
        }
        Ok(())
    }

    fn info_shared(&mut self) -> Result<()> {
        let variables = self.debugger.scope(0).shared();
        if variables.is_empty() {
            self.out("The kernel has no shared variables.\n");
            return Ok(());
        }
        let mut rows = Vec::new();
        for (name, ty, offset, bytes) in variables {
            let shown =
                self.debugger.show(&name, Format::Natural).unwrap_or_else(|error| format!("<{error}>"));
            let mut shown: String = shown;
            if shown.chars().count() > 60 {
                shown = shown.chars().take(57).collect::<String>() + "...";
            }
            rows.push(vec![name, format!("{offset:#x}"), bytes.to_string(), ty.to_string(), shown]);
        }
        self.out(table(&["Variable", "Offset", "Bytes", "Type", "Value"], &rows));
        Ok(())
    }

    fn info_allocations(&mut self) -> Result<()> {
        let allocations = self.debugger.session().look().allocations();
        let rows: Vec<Vec<String>> = allocations
            .into_iter()
            .map(|found| vec![format!("{:#x}", found.address), found.bytes.to_string(), found.label])
            .collect();
        self.out(table(&["Address", "Bytes", "Name"], &rows));
        Ok(())
    }

    fn info_findings(&mut self) -> Result<()> {
        let found = self.debugger.found().to_vec();
        if found.is_empty() {
            self.out("Nothing was found so far.\n");
            return Ok(());
        }
        let program = self.debugger.program().clone();
        let mut rows = Vec::new();
        for (at, found) in found.iter().enumerate() {
            for finding in &found.findings {
                let place = finding.place.as_ref().map_or(String::new(), |place| match place.cuda.first() {
                    Some(cuda) => format!("{}:{}", cuda.file, cuda.line),
                    None => program
                        .module()
                        .sources
                        .get(place.source.0 as usize)
                        .map_or(String::new(), |source| {
                            format!("{}:{}", source.name, source.line_column(place.span.start).0)
                        }),
                });
                rows.push(vec![
                    (at + 1).to_string(),
                    found.time.map_or("?".into(), |time| time.to_string()),
                    finding.kind.name().into(),
                    place,
                ]);
            }
        }
        self.out(table(&["Num", "Time", "Kind", "Where"], &rows));
        Ok(())
    }

    fn info_functions(&mut self) -> Result<()> {
        let program = self.debugger.program().clone();
        for name in program.functions() {
            self.out(format!("{}\n", reports::readable(name)));
        }
        Ok(())
    }

    fn info_sources(&mut self) -> Result<()> {
        let program = self.debugger.program().clone();
        for name in program.file_names() {
            self.out(format!("{name}\n"));
        }
        Ok(())
    }

    fn info_time(&mut self) -> Result<()> {
        let (bytes, count) = self.debugger.checkpoints();
        let text = format!(
            "{} have run; {} of {bytes} bytes\n",
            reports::plural(self.debugger.time(), "warp instruction"),
            reports::plural(count as u64, "checkpoint"),
        );
        self.out(text);
        Ok(())
    }

    /// `x/FMT`: so many units of so many bytes from an address on.
    pub(super) fn examine(
        &mut self,
        space: Space,
        address: u64,
        count: usize,
        format: Format,
        size: u8,
    ) -> Result<()> {
        use debugger::types::Type;
        if format == Format::Instruction {
            let position = u32::try_from(address).unwrap_or(u32::MAX);
            self.disassemble(position.saturating_add(count as u32 / 2), count as u32);
            return Ok(());
        }
        let ty = match (format, size) {
            (Format::Float, 2) => Type::Half,
            (Format::Float, 4) => Type::Float(4),
            (Format::Float, _) => Type::Float(8),
            (Format::Char, _) => Type::Char,
            (Format::Signed, bytes) => Type::Int(bytes, true),
            (_, bytes) => Type::Int(bytes, false),
        };
        let size = ty.bytes();
        let a_line = match size {
            1 => 8,
            2 => 8,
            4 => 4,
            _ => 2,
        };
        for line in 0..count.div_ceil(a_line) {
            let start = address.wrapping_add((line * a_line) as u64 * size);
            let mut text = format!("{start:#x}:");
            for at in line * a_line..((line + 1) * a_line).min(count) {
                let mut bytes = [0; 16];
                self.debugger.read(
                    space,
                    address.wrapping_add(at as u64 * size),
                    &mut bytes[..size as usize],
                )?;
                let bits = u128::from_le_bytes(bytes);
                let shown = match format {
                    Format::Hexadecimal
                    | Format::Address
                    | Format::Natural
                    | Format::Text
                    | Format::Instruction => {
                        format!("0x{bits:0width$x}", width = 2 * size as usize)
                    }
                    other => debugger::format::scalar(&ty, bits, other),
                };
                text += &format!("\t{shown}");
            }
            self.out(text + "\n");
        }
        Ok(())
    }
}
