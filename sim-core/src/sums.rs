//! Counts that parts of a launch are added up in.

/// `+=` for counts, field by field: those named are added, those behind `but` are left as they are. A field in neither list
/// does not compile.
macro_rules! sums {
    ($name:ident: $($field:ident)* $(, but $($left:ident)*)?) => {
        impl std::ops::AddAssign<&$name> for $name {
            fn add_assign(&mut self, other: &$name) {
                let $name { $($field,)* $($($left: _,)*)? } = other;
                $(self.$field += $field;)*
            }
        }
    };
}

pub(crate) use sums;

#[cfg(test)]
mod tests {
    #[test]
    fn those_named_are_added_and_parts_with_them() {
        #[derive(Clone, Default, PartialEq, Debug)]
        struct Part {
            a: u64,
        }
        #[derive(Clone, Default, PartialEq, Debug)]
        struct Whole {
            b: u64,
            part: Part,
            kept: u64,
        }
        sums!(Part: a);
        sums!(Whole: b part, but kept);
        let one = Whole { b: 1, part: Part { a: 2 }, kept: 3 };
        let mut sum = one.clone();
        sum += &one;
        assert_eq!(sum, Whole { b: 2, part: Part { a: 4 }, kept: 3 });
    }
}
