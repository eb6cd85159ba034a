//! Leaving out what a difference does not need.

use super::{Kernel, Statement};

/// The smallest kernel that is found for which `differs` still holds; it holds for `kernel`. `attempts`
/// limits how many are tried.
pub fn shrink(kernel: &Kernel, mut attempts: usize, differs: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut best = kernel.clone();
    let mut attempt = |candidate: &Kernel| {
        attempts = attempts.saturating_sub(1);
        attempts > 0 && differs(candidate)
    };
    // Large parts first: halves of the body, quarters, and so on.
    let mut size = best.body.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.body.len() {
            let mut candidate = best.clone();
            candidate.body.drain(at..(at + size).min(best.body.len()));
            if attempt(&candidate) {
                best = candidate;
            } else {
                at += size;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    // Then each statement, wherever it is, or what is around it.
    let mut progress = true;
    while progress {
        progress = false;
        for unwrap in [false, true] {
            let mut at = 0;
            while at < count(&best) {
                let mut candidate = best.clone();
                let changed = edit(&mut candidate, at, unwrap);
                if changed && attempt(&candidate) {
                    best = candidate;
                    progress = true;
                } else {
                    at += 1;
                }
            }
        }
    }
    best
}

fn lists(statement: &Statement) -> Vec<&Vec<Statement>> {
    match statement {
        Statement::Text(_) | Statement::Call { .. } => Vec::new(),
        Statement::If { then, other, .. } => vec![then, other],
        Statement::Loop { body, .. } => vec![body],
        Statement::Switch { arms, .. } => arms.iter().collect(),
    }
}

fn lists_mut(statement: &mut Statement) -> Vec<&mut Vec<Statement>> {
    match statement {
        Statement::Text(_) | Statement::Call { .. } => Vec::new(),
        Statement::If { then, other, .. } => vec![then, other],
        Statement::Loop { body, .. } => vec![body],
        Statement::Switch { arms, .. } => arms.iter_mut().collect(),
    }
}

/// Statements of a kernel, nested ones too.
fn count(kernel: &Kernel) -> usize {
    fn of(list: &[Statement]) -> usize {
        list.iter()
            .map(|statement| 1 + lists(statement).into_iter().map(|list| of(list)).sum::<usize>())
            .sum()
    }
    of(&kernel.body) + kernel.functions.iter().map(|body| of(body)).sum::<usize>()
}

/// Takes out the statement of this number, or what is around its parts; whether there was something.
fn edit(kernel: &mut Kernel, at: usize, unwrap: bool) -> bool {
    fn within(list: &mut Vec<Statement>, at: &mut usize, unwrap: bool) -> Option<bool> {
        for index in 0..list.len() {
            if *at == 0 {
                if !unwrap {
                    list.remove(index);
                    return Some(true);
                }
                let parts: Vec<Statement> = lists(&list[index]).into_iter().flatten().cloned().collect();
                let compound = !lists(&list[index]).is_empty();
                if compound {
                    list.splice(index..=index, parts);
                }
                return Some(compound);
            }
            *at -= 1;
            for inner in lists_mut(&mut list[index]) {
                let done = within(inner, at, unwrap);
                if done.is_some() {
                    return done;
                }
            }
        }
        None
    }
    let mut at = at;
    std::iter::once(&mut kernel.body)
        .chain(&mut kernel.functions)
        .find_map(|list| within(list, &mut at, unwrap))
        .unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_stays() {
        let kernel = (0..).map(Kernel::new).find(|kernel| kernel.ptx().contains("popc.b32")).unwrap();
        let small = shrink(&kernel, 10_000, &mut |kernel| kernel.ptx().contains("popc.b32"));
        assert_eq!(count(&small), 1, "{}", small.ptx());
    }

    #[test]
    fn attempts_are_limited() {
        let mut tried = 0;
        shrink(&Kernel::new(1), 5, &mut |_| {
            tried += 1;
            false
        });
        assert!(tried <= 5);
    }
}
