//! Which blocks of machine code do what a block of the PTX does: by instructions that both have.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use super::listing::{Instruction, Listing};
use super::ways::Ways;

/// How often a block of machine code does what a block of the PTX does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cover {
    /// The block of the PTX.
    pub ptx: u32,
    /// How often.
    pub times: u32,
    /// Whether it may do it for no lane: behind guards.
    pub optional: bool,
}

/// Where a block of the PTX may be in the machine code: by block there.
type Sites = Vec<(u32, Cover)>;

/// A line of the PTX in the machine code: what it says of places, and how often blocks have it, without and with guards, and for how
/// many turns of it, where accesses of several may have become one.
type Line = (u32, BTreeMap<u32, (u32, u32, u32)>);

/// The blocks of the PTX, and where each may be.
#[derive(Clone, Debug)]
pub struct Anchors {
    /// The block of each position.
    pub block_of: Vec<u32>,
    /// By block of the PTX: where it may be, with how much speaks for it, the most likely first; and which is taken for true.
    candidates: Vec<(Vec<(Sites, u32)>, usize)>,
    /// By line: the block of the PTX that it is in.
    pub block_of_line: BTreeMap<u32, u32>,
    /// Lines of branches.
    pub branches: BTreeSet<u32>,
    /// By block of the PTX: whether it has what no assembler leaves out.
    keeps: Vec<bool>,
}

/// How much loads, stores and arithmetic of floats say.
const TELLING: u32 = 4;

/// What a PTX instruction is made into, and how much it says of where its block is; nothing where that says nothing.
fn weight(op: &str, of: &Instruction) -> u32 {
    let name = op.split('.').next().unwrap_or("");
    let base = of.base();
    let among = |list: &[&str]| list.contains(&base);
    match name {
        "st" => 8 * u32::from(among(&["ST", "STG", "STS", "STL"])),
        // Others become a loop.
        "red" | "atom" => {
            8 * u32::from(
                among(&["RED", "REDG", "ATOM", "ATOMG", "ATOMS"]) && !of.has("CAS") && !of.has("CAST"),
            )
        }
        "bar" | "barrier" => 8 * u32::from(among(&["BAR"])),
        "shfl" => 8 * u32::from(among(&["SHFL"])),
        "ldmatrix" => 8 * u32::from(among(&["LDSM"])),
        "stmatrix" => 8 * u32::from(among(&["STSM"])),
        "cp" => 8 * u32::from(among(&["LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG"])),
        "mma" | "wmma" => {
            4 * u32::from(among(&[
                "HMMA", "IMMA", "DMMA", "BMMA", "LDG", "LDS", "STG", "STS", "LD", "ST", "LDSM",
            ]))
        }
        "wgmma" => 4 * u32::from(among(&["HGMMA", "IGMMA", "QGMMA", "BGMMA"])),
        "vote" | "match" | "redux" => 6 * u32::from(among(&["VOTE", "VOTEU", "MATCH", "REDUX"])),
        "ld" if !op.contains(".param") && !op.contains(".const") => {
            4 * u32::from(among(&["LD", "LDG", "LDS", "LDL"]))
        }
        "tex" | "tld4" | "suld" | "sust" => 4 * u32::from(among(&["TEX", "TLD", "TLD4", "SULD", "SUST"])),
        "add" | "sub" | "mul" | "fma" | "mad" if op.contains(".f") || op.contains(".rn") => {
            4 * u32::from(among(&["FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HFMA2"]))
        }
        "ld" | "mov" | "cvta" | "ret" | "exit" | "call" | "bra" => 0,
        _ if base.starts_with('U') => 0,
        _ if among(&[
            "MOV", "LDC", "S2R", "BSSY", "BSYNC", "BRA", "CS2R", "S2UR", "R2UR", "NOP", "PLOP3", "EXIT",
            "CALL",
        ]) =>
        {
            0
        }
        _ if of.has("MOV") => 0,
        _ => 1,
    }
}

/// Whether machine code was made of another text: most of its accesses of global and shared memory, and barriers, are at lines
/// that have nothing of that kind.
pub fn is_foreign(listing: &Listing, ways: &Ways) -> bool {
    let reaches = |op: &str| {
        let name = op.split('.').next().unwrap_or("");
        matches!(name, "ld" | "ldu" | "st" | "atom" | "red" | "bar" | "barrier" | "cp" | "call" | "multimem")
            || ["mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "mbarrier", "fence", "membar"].contains(&name)
    };
    let own: BTreeSet<u32> = ways.positions.iter().filter(|of| reaches(&of.op)).map(|of| of.line).collect();
    let is_access = |of: &&Instruction| matches!(of.base(), "LDG" | "STG" | "LDS" | "STS" | "BAR");
    let all = listing.instructions.iter().filter(|of| of.line != 0).filter(is_access);
    let (mut others, mut count) = (0, 0);
    for of in all {
        count += 1;
        others += usize::from(!own.contains(&of.line));
    }
    2 * others > count
}

/// For how many turns of a load or store of the PTX a machine instruction may stand: those that follow each other become one. Of
/// others that is not known.
fn turns(op: &str, of: &Instruction) -> u32 {
    let mut parts = op.split('.');
    if !matches!(parts.next(), Some("ld" | "st"))
        || !matches!(of.base(), "LDG" | "LDS" | "LDL" | "LD" | "STG" | "STS" | "STL" | "ST")
    {
        return 0;
    }
    let (mut bits, mut elements) = (32, 1);
    for part in parts {
        match part {
            "v2" => elements = 2,
            "v4" => elements = 4,
            _ => bits = part.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(bits),
        }
    }
    let width = if of.has("128") {
        128
    } else if of.has("64") {
        64
    } else {
        32
    };
    (width / (bits * elements).max(1)).max(1)
}

/// Whether ptxas leaves an instruction where it is.
fn is_kept(op: &str) -> bool {
    let name = op.split('.').next().unwrap_or("");
    matches!(name, "bar" | "barrier" | "red") || name == "st" && op.contains(".global")
}

/// Whether ptxas may make an instruction again where its result is wanted, rather than keep that: arithmetic, and loads of what
/// nobody writes.
fn may_be_made_again(op: &str) -> bool {
    let name = op.split('.').next().unwrap_or("");
    match name {
        "ld" => op.contains(".nc") || op.contains(".const") || op.contains(".param"),
        "st" | "atom" | "red" | "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "cp"
        | "ldmatrix" => false,
        "stmatrix" | "mma" | "wmma" | "wgmma" | "tex" | "tld4" | "suld" | "sust" | "sured" | "call" => false,
        _ => true,
    }
}

/// Whether ptxas makes one machine instruction of one of the PTX, wherever it makes it: accesses that fit one, and arithmetic of floats.
fn is_made_once(op: &str) -> bool {
    let (name, modifiers) = op.split_once('.').unwrap_or((op, ""));
    let (mut bits, mut elements) = (32, 1);
    for part in modifiers.split('.') {
        match part {
            "v2" => elements = 2,
            "v4" => elements = 4,
            "v8" => elements = 8,
            _ => bits = part.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(bits),
        }
    }
    match name {
        "ld" | "st" => bits * elements <= 128 && !may_be_made_again(op),
        "red" | "atom" | "bar" | "barrier" | "ldmatrix" | "stmatrix" => true,
        "shfl" | "add" | "sub" | "mul" | "fma" => bits <= 64,
        _ => false,
    }
}

/// By block of the PTX, up to the highest one: whether a thread comes there more than once.
fn repeated(ways: &Ways, block_of: &[u32], highest: u32) -> Vec<bool> {
    let mut repeated = vec![false; highest as usize + 1];
    let mut seen = vec![0usize; highest as usize + 1];
    for (way, number) in ways.ways.iter().zip(1..) {
        for block in blocks_of(way, block_of) {
            repeated[block as usize] |= seen[block as usize] == number;
            seen[block as usize] = number;
        }
    }
    repeated
}

/// The blocks of a way.
fn blocks_of<'a>(way: &'a [(u32, u32)], block_of: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    way.iter().flat_map(|&(first, end)| {
        let block = |at: u32| block_of.get(at as usize).copied();
        let (from, to) = (block(first), block(end.saturating_sub(1)));
        from.or(to).zip(to.or(from)).into_iter().flat_map(|(from, to)| from.min(to)..from.max(to) + 1)
    })
}

/// Whether control may go elsewhere behind an instruction.
fn branches(op: &str) -> bool {
    let name = op.split('.').next().unwrap_or("");
    matches!(name, "bra" | "brx" | "call" | "ret" | "exit" | "trap")
}

/// Whether a machine instruction reads texels: ptxas does not say of which line it was made.
fn is_texture(of: &Instruction) -> bool {
    matches!(of.base(), "TEX" | "TLD" | "TLD4")
}

/// The lines of the instructions of a block of machine code. Those that read texels have the lines of the PTX's, in their order
/// and again, in the block of the PTX that the others are the most of.
fn texture_lines(
    own: &[Instruction],
    ways: &Ways,
    lines: &BTreeMap<u32, usize>,
    block_of: &[u32],
) -> Vec<u32> {
    let plain = || own.iter().map(|of| of.line);
    if !own.iter().any(is_texture) {
        return plain().collect();
    }
    let mut texels: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (position, &block) in ways.positions.iter().zip(block_of) {
        if matches!(position.op.split('.').next(), Some("tex" | "tld4")) {
            texels.entry(block).or_default().push(position.line);
        }
    }
    let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
    for of in own.iter().filter(|of| !is_texture(of)) {
        let block = lines.get(&of.line).map(|&at| block_of[at]);
        block
            .into_iter()
            .filter(|block| texels.contains_key(block))
            .for_each(|block| *votes.entry(block).or_default() += 1);
    }
    let most = votes.into_iter().max_by_key(|&(block, count)| (count, std::cmp::Reverse(block)));
    let only = || texels.keys().next().copied().filter(|_| texels.len() == 1);
    let Some(list) = most.map(|(block, _)| block).or_else(only).and_then(|block| texels.get(&block)) else {
        return plain().map(|_| 0).collect();
    };
    let mut next = list.iter().cycle();
    own.iter().map(|of| if is_texture(of) { next.next().copied().unwrap_or(0) } else { of.line }).collect()
}

impl Anchors {
    /// Of a kernel and the ways through it.
    pub fn of(listing: &Listing, graph: &Graph, ways: &Ways) -> Self {
        let count = ways.positions.len();
        let mut first = vec![false; count + 1];
        first[0] = true;
        for (at, position) in ways.positions.iter().enumerate() {
            first[at + 1] |= branches(&position.op);
        }
        for &(from, _) in ways.ways.iter().flatten() {
            first[(from as usize).min(count)] = true;
        }
        let mut block_of = Vec::with_capacity(count);
        let mut number = 0;
        for (at, first) in first[..count].iter().enumerate() {
            number += u32::from(*first && at > 0);
            block_of.push(number);
        }
        let lines_of: BTreeMap<u32, usize> =
            ways.positions.iter().enumerate().map(|(at, position)| (position.line, at)).collect();
        // By block of the PTX, by line: how often each block of the machine code has it, without and with guards.
        let mut found: Vec<BTreeMap<u32, Line>> = vec![BTreeMap::new(); number as usize + 1];
        for (site, block) in graph.blocks.iter().enumerate() {
            let own = &listing.instructions[block.first as usize..block.end as usize];
            for (of, line) in own.iter().zip(texture_lines(own, ways, &lines_of, &block_of)) {
                let Some(&at) = lines_of.get(&line) else { continue };
                let weight = weight(&ways.positions[at].op, of);
                if weight == 0 {
                    continue;
                }
                let line = found[block_of[at] as usize].entry(line).or_default();
                line.0 = line.0.max(weight);
                let counts = line.1.entry(site as u32).or_default();
                if of.guard.is_some() {
                    counts.1 += 1
                } else {
                    counts.0 += 1
                }
                counts.2 += turns(&ways.positions[at].op, of);
            }
        }
        let in_loops = graph.in_loops();
        let again = repeated(ways, &block_of, number);
        let candidates = found.into_iter().enumerate().map(|(ptx, lines)| {
            let mut profiles: BTreeMap<Sites, u32> = BTreeMap::new();
            for (line, (mut weight, mut sites)) in lines {
                let is_made_again = !again[ptx]
                    && lines_of.get(&line).is_some_and(|&at| may_be_made_again(&ways.positions[at].op));
                let in_loop = |site: &u32| in_loops[*site as usize];
                if is_made_again && sites.keys().all(in_loop) {
                    // It may be what is left of it.
                    weight = 1;
                } else if is_made_again && sites.keys().any(in_loop) {
                    sites.retain(|site, _| !in_loop(site));
                }
                let most = |(plain, guarded, _): &(u32, u32, u32)| if *plain > 0 { *plain } else { *guarded };
                // All turns of a loop may be there, one behind the other.
                if again[ptx] && sites.values().any(|counts| counts.2 > 1) {
                    let all = sites.iter().map(|(&site, counts)| {
                        let (times, optional) = (counts.2.max(1), counts.0 == 0);
                        (site, Cover { ptx: ptx as u32, times, optional })
                    });
                    profiles.entry(all.collect()).or_default();
                }
                let least = sites.values().map(most).min().unwrap_or(1).max(1);
                let of = |least: u32| {
                    let sites = sites.iter().map(|(&site, counts)| {
                        let optional = counts.0 == 0;
                        (site, Cover { ptx: ptx as u32, times: (most(counts) / least).max(1), optional })
                    });
                    sites.collect::<Sites>()
                };
                // What one machine instruction is made of is there as often as there are turns of a loop, though all of them have more.
                let is_one = lines_of.get(&line).is_some_and(|&at| is_made_once(&ways.positions[at].op));
                if again[ptx] && weight >= TELLING && is_one && least > 1 {
                    profiles.entry(of(least)).or_default();
                    *profiles.entry(of(1)).or_default() += weight;
                } else {
                    *profiles.entry(of(least)).or_default() += weight;
                }
            }
            let mut list: Vec<(Sites, u32)> = profiles.into_iter().collect();
            list.sort_by_key(|(sites, weight)| (std::cmp::Reverse(*weight), std::cmp::Reverse(sites.len())));
            (list, 0)
        });
        let block_of_line = lines_of.iter().map(|(&line, &at)| (line, block_of[at])).collect();
        let mut keeps = vec![false; number as usize + 1];
        for (position, &block) in ways.positions.iter().zip(&block_of) {
            keeps[block as usize] |= is_kept(&position.op);
        }
        let branches =
            ways.positions.iter().filter(|position| branches(&position.op)).map(|position| position.line);
        Anchors {
            candidates: candidates.collect(),
            block_of,
            block_of_line,
            branches: branches.collect(),
            keeps,
        }
    }

    /// What each block of the machine code does of the PTX.
    pub fn covers(&self, blocks: usize) -> Vec<Vec<Cover>> {
        let mut covers = vec![Vec::new(); blocks];
        for (candidates, taken) in &self.candidates {
            for (site, cover) in candidates.get(*taken).into_iter().flat_map(|(sites, _)| sites) {
                covers[*site as usize].push(*cover);
            }
        }
        covers
    }

    /// Whether nothing in the machine code says where a block of the PTX is.
    pub fn is_free(&self, ptx: u32) -> bool {
        self.candidates.get(ptx as usize).is_none_or(|(candidates, taken)| *taken >= candidates.len())
    }

    /// How much speaks for the place of a block.
    pub fn weight(&self, ptx: u32) -> u32 {
        let of = self.candidates.get(ptx as usize);
        of.and_then(|(candidates, taken)| candidates.get(*taken)).map_or(0, |(_, weight)| *weight)
    }

    /// Whether a block has loads, stores or the like, none of which is in machine code where the block is executed: it may be
    /// that of another text.
    pub fn is_lost(&self, ptx: u32) -> bool {
        let keeps = self.keeps.get(ptx as usize).copied().unwrap_or(false);
        let of = self.candidates.get(ptx as usize);
        of.is_some_and(|(candidates, taken)| {
            let tells = candidates.first().is_some_and(|(_, weight)| *weight >= TELLING);
            *taken >= candidates.len() && (tells || keeps)
        })
    }

    /// The blocks of the machine code where a block of the PTX is thought to be.
    pub fn sites(&self, ptx: u32) -> Vec<u32> {
        let of = self.candidates.get(ptx as usize).and_then(|(candidates, taken)| candidates.get(*taken));
        of.map_or_else(Vec::new, |(sites, _)| sites.iter().map(|(site, _)| *site).collect())
    }

    /// Takes the next place for a block; false if there was none left.
    pub fn reconsider(&mut self, ptx: u32) -> bool {
        match self.candidates.get_mut(ptx as usize) {
            Some((candidates, taken)) if *taken < candidates.len() => {
                *taken += 1;
                true
            }
            _ => false,
        }
    }

    /// The blocks of a way.
    pub fn trace(&self, way: &[(u32, u32)]) -> Vec<u32> {
        blocks_of(way, &self.block_of).collect()
    }
}
