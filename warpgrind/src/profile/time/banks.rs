//! How often banks are asked for accesses: of most instructions always as often, as their lanes lie to each other as before.

/// What was last asked of each instruction, and the answer.
#[derive(Default, Debug)]
pub(super) struct Banks(Vec<Option<Box<Known>>>);

#[derive(Debug)]
struct Known {
    lanes: u32,
    lie: Lie,
    asked: [u16; 3],
}

/// How the lanes of an access lie: from the first one, and that in the widest word that is loaded at once. Words of a bank are
/// the same ones wherever all of it lies.
type Lie = ([u64; 32], u64);

const WIDEST: u64 = 16;

fn lie(addresses: &[u64; 32], lanes: u32) -> Lie {
    let first = addresses[lanes.trailing_zeros() as usize & 31];
    let from_first = |lane: usize| {
        let takes_part = 0u64.wrapping_sub(u64::from(lanes >> lane & 1));
        addresses[lane].wrapping_sub(first) & takes_part
    };
    (std::array::from_fn(from_first), first % WIDEST)
}

impl Banks {
    /// How often an access of the instruction at a position asks: what `count` says, unless that is known.
    pub(super) fn asked(
        &mut self,
        position: u32,
        (addresses, lanes): (&[u64; 32], u32),
        count: impl FnOnce() -> [u16; 3],
    ) -> [u16; 3] {
        let at = position as usize;
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        let lie = lie(addresses, lanes);
        match &self.0[at] {
            Some(known) if known.lanes == lanes && known.lie == lie => known.asked,
            _ => {
                let asked = count();
                self.0[at] = Some(Box::new(Known { lanes, lie, asked }));
                asked
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Banks;

    #[test]
    fn what_lies_as_before_is_not_counted_again() {
        let mut banks = Banks::default();
        let mut counted = 0;
        let mut ask = |position, addresses: [u64; 32], lanes| {
            banks.asked(position, (&addresses, lanes), || {
                counted += 1;
                [counted; 3]
            })[0]
        };
        let row = |from: u64, apart: u64| std::array::from_fn(|lane| from + apart * lane as u64);
        assert_eq!(ask(3, row(0, 4), u32::MAX), 1);
        // Further on, and what lanes have that take no part.
        assert_eq!(ask(3, row(4096, 4), u32::MAX), 1);
        assert_eq!(ask(3, row(4096, 4), 1), 2);
        assert_eq!(ask(3, row(4096, 8), 1), 2);
        // Other words of a wide one, another distance, another instruction.
        assert_eq!(ask(3, row(4100, 4), 1), 3);
        assert_eq!(ask(3, row(4100, 8), 3), 4);
        assert_eq!(ask(0, row(4100, 8), 3), 5);
    }
}
