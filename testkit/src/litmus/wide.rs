//! Instructions that the other flavours leave out: every operation of atomics, vectors of all sizes that overlap in every way, rare proxies
//! with fences of one direction, barriers that reduce.

use super::Program;

/// Names of atomic operations that take one operand.
const OPERATIONS: [&str; 11] = ["add", "sub", "mul", "div", "and", "or", "xor", "min", "max", "inc", "dec"];

impl Program<'_> {
    fn wide_order(&mut self, orders: &[&'static str]) -> String {
        let order = self.random.pick(orders);
        let scope = self.scope();
        if order == "weak" { order.to_owned() } else { format!("{order}.{scope}") }
    }

    /// A vector of registers, or of values.
    fn elements(&mut self, count: usize, registers: bool) -> String {
        let list: Vec<String> =
            (0..count).map(|_| if registers { self.register() } else { self.value() }).collect();
        if count == 1 { list[0].clone() } else { format!("{{{}}}", list.join(", ")) }
    }

    /// Bytes of an element, how many, and from where, within 16 bytes.
    fn extent(&mut self) -> (usize, usize, usize) {
        let bytes = [1, 2, 4, 8][self.random.below(4)];
        let count = if bytes < 8 && self.random.chance(50) { 2 } else { 1 };
        let places = 8 / (bytes * count);
        (bytes, count, bytes * count * self.random.below(places.max(1)))
    }

    /// One instruction.
    pub(super) fn wide(&mut self, out: &mut Vec<String>) {
        match self.random.below(8) {
            0 if self.reads < 3 => {
                self.reads += 1;
                let order = self.wide_order(&["relaxed", "acquire", "release", "acq_rel"]);
                let (op, location) = (self.random.pick(&OPERATIONS), self.location());
                let (register, value) = (self.register(), self.value());
                out.push(format!("atom.{order}.{op} {register}, {location}, {value}"));
            }
            1 => {
                self.reads += 1;
                let order = self.wide_order(&["relaxed", "release"]);
                let (op, location) = (self.random.pick(&OPERATIONS), self.location());
                let value = self.value();
                out.push(format!("red.{order}.{op} {location}, {value}"));
            }
            2 => {
                let (bytes, count, offset) = self.extent();
                let order = self.wide_order(&["weak", "relaxed", "release"]);
                let vector = if count > 1 { format!(".v{count}") } else { String::new() };
                let (bits, values) = (8 * bytes, self.elements(count, false));
                out.push(format!("st.{order}{vector}.u{bits} [x+{offset}], {values}"));
            }
            3 if self.reads < 3 => {
                let (bytes, count, offset) = self.extent();
                self.reads += count;
                let order = self.wide_order(&["weak", "relaxed", "acquire"]);
                let vector = if count > 1 { format!(".v{count}") } else { String::new() };
                let (bits, registers) = (8 * bytes, self.elements(count, true));
                out.push(format!("ld.{order}{vector}.u{bits} {registers}, [x+{offset}]"));
            }
            4 => {
                let direction = self.random.pick(&["release", "acquire"]);
                let proxy = self.random.pick(&["async", "tensormap"]);
                let scope = self.scope();
                out.push(match self.random.below(4) {
                    0 => format!("fence.proxy.{proxy}::generic.{direction}.{scope}"),
                    1 => "fence.proxy.async".to_owned(),
                    2 => "fence.proxy.alias".to_owned(),
                    _ => format!("fence.{}.{scope}", self.random.pick(&["sc", "acq_rel", direction])),
                });
            }
            5 if self.reads < 3 => {
                self.reads += 1;
                let (read, register) = (self.random.pick(&["ald", "tmld", "cold"]), self.register());
                let location = if read == "cold" { "c" } else { "y" };
                out.push(format!("{read}.weak {register}, {location}"));
            }
            6 => {
                let mode = self.random.pick(&["sync", "red", "arrive"]);
                let count = 1 + self.random.below(2);
                out.push(match mode {
                    "arrive" => format!("bar.cta.arrive 2, 2, {count}"),
                    _ => format!("bar.cta.{mode} 2"),
                });
            }
            _ => {
                let order = self.wide_order(&["weak", "relaxed", "release"]);
                let (location, value) = (self.location(), self.value());
                out.push(format!("st.{order} {location}, {value}"));
            }
        }
    }
}
