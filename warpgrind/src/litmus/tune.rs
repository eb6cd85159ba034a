//! Environments that make a device show what the model allows, found by trying and mutating them.
//!
//! Tests of one shape (`MP+rlx`, `MP+rel+acq`: what is before the first `+` or `-` of their names) are mutants of each other. An
//! environment that shows the weak outcome of one is where to look for those of the others, and a test whose
//! outcome it does not show was at least looked at where its mutant gives in.

use std::time::Instant;

use memory_model::program::{Observable, Quantifier};
use memory_model::{Litmus, Options, Property, Verdict, check};
use sim_core::Backend;

use super::environment::{Environment, Random};
use super::experiment::{Experiment, NotRun, Plan, Seen};

/// What an environment showed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// The environment.
    pub environment: Environment,
    /// Instances that ended as the test asks.
    pub shown: u64,
    /// Instances that ended.
    pub instances: u64,
}

impl Trial {
    /// Of an instance, 0 to 1.
    pub fn rate(&self) -> f64 {
        self.shown as f64 / self.instances.max(1) as f64
    }
}

/// Launches of a trial at most: what an environment with few instances a launch shows is not worth the time of thousands.
const LAUNCHES: u32 = 4;

/// What a search found out about a test.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The test's name.
    pub name: String,
    /// What the model says of the outcome that is asked for: `allowed`, `forbidden`, or why it does not know.
    pub verdict: &'static str,
    /// What was run, or why nothing was.
    pub search: Result<Search, NotRun>,
}

/// Trials of one test.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Environments that were tried.
    pub tried: u64,
    /// Instances that ended, and those that ended as asked, in all of them.
    pub instances: u64,
    /// Those that ended as asked.
    pub shown: u64,
    /// The best of them in a run of its own, which did not choose it.
    pub best: Option<Trial>,
    /// The test and its trial from which the best environment is, if it is a mutant's.
    pub mutant: Option<(String, Trial)>,
    /// Outcomes that the model forbids, with where they were seen.
    pub alarms: Vec<(Vec<i64>, String)>,
    /// The first launch that ended early, and why.
    pub failed: Option<String>,
}

impl Search {
    /// The largest rate of the outcome, 0 to 1, that is compatible with its not having been seen once, at 95 percent
    /// confidence; `None` if it was seen.
    pub fn bound(&self) -> Option<f64> {
        (self.shown == 0 && self.instances > 0).then(|| (-(0.05f64.ln()) / self.instances as f64).min(1.0))
    }

    /// How likely the best environment would have shown the outcome, 0 to 1, had it come as often as the mutant's does there.
    pub fn confidence(&self) -> Option<f64> {
        let (best, (_, mutant)) = (self.best.as_ref()?, self.mutant.as_ref()?);
        (self.shown == 0).then(|| 1.0 - (-mutant.rate() * best.instances as f64).exp())
    }
}

/// Tunes environments for tests; each has `plan.timeout` and `plan.instances`, a second time if its outcome was not shown
/// the first time.
///
/// Allowed outcomes come first. Then environments in which mutants showed theirs are tried on the tests that showed
/// nothing, and on those whose outcome is forbidden. `trial` instances are a trial; `done` hears of each test that is through.
pub fn tune(
    tests: &[Litmus],
    options: &Options,
    backend: &dyn Backend,
    plan: &Plan,
    trial: u64,
    mut done: impl FnMut(),
) -> Vec<Tuned> {
    let mut random = Random::new(plan.seed);
    let judged: Vec<Verdict> = tests.iter().map(|litmus| asked(litmus, options)).collect();
    let mut out: Vec<Tuned> = tests
        .iter()
        .zip(&judged)
        .map(|(litmus, verdict)| Tuned {
            name: litmus.name.clone(),
            verdict: verdict.verdict,
            search: Ok(Search::default()),
        })
        .collect();
    let mut round = |out: &mut Vec<Tuned>, wanted: &dyn Fn(&Tuned) -> bool, done: &mut dyn FnMut()| {
        for at in 0..tests.len() {
            let stop = plan.interrupt.as_ref().is_some_and(|i| i.load(std::sync::atomic::Ordering::Relaxed));
            if stop || !wanted(&out[at]) {
                continue;
            }
            let mutants = mutants(out, at);
            let before = std::mem::replace(&mut out[at].search, Ok(Search::default()));
            let searched = Looking { litmus: &tests[at], verdict: &judged[at], plan, trial, mutants };
            out[at].search = before.and_then(|before| searched.search(backend, before, &mut random));
            done();
        }
    };
    round(&mut out, &|tuned| tuned.verdict == "allowed", &mut done);
    round(&mut out, &|tuned| tuned.search.as_ref().is_ok_and(|search| search.shown == 0), &mut done);
    out
}

/// What the model says about the outcome that a test asks for, and all outcomes that it allows.
fn asked(litmus: &Litmus, options: &Options) -> Verdict {
    check(litmus, &Options { property: Property::Assertion, outcomes: true, ..options.clone() })
}

/// The shape of a test by its name.
fn shape(name: &str) -> &str {
    name.split(['+', '-']).next().unwrap_or(name)
}

/// Tests of the same shape that showed their outcome, the rarest first: what shows that shows more.
fn mutants(out: &[Tuned], at: usize) -> Vec<(String, Trial)> {
    let others = out.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, tuned)| tuned);
    let alike = others.filter(|tuned| shape(&tuned.name) == shape(&out[at].name));
    let mut found: Vec<(String, Trial)> = alike
        .filter_map(|tuned| Some((tuned.name.clone(), tuned.search.as_ref().ok()?.best?)))
        .filter(|(_, trial)| trial.shown > 0)
        .collect();
    found.sort_by(|a, b| a.1.rate().total_cmp(&b.1.rate()));
    found
}

/// A test that is being searched for.
struct Looking<'a> {
    litmus: &'a Litmus,
    verdict: &'a Verdict,
    plan: &'a Plan,
    trial: u64,
    mutants: Vec<(String, Trial)>,
}

impl Looking<'_> {
    fn search(&self, backend: &dyn Backend, before: Search, random: &mut Random) -> Result<Search, NotRun> {
        let experiment = Experiment::open(self.litmus, backend, self.plan)?;
        let mut search = before;
        // A quarter of the time and the instances is for the best.
        let until = Instant::now().checked_add(self.plan.timeout.mul_f64(0.75));
        let late = || until.is_some_and(|until| Instant::now() >= until);
        let mut left = self.plan.instances;
        let kept = left / 4;
        let mut best: Option<Trial> = None;
        let mut tried = 0;
        while experiment.ended().is_none() && !late() && left > kept {
            let environment = match (self.mutants.get(tried), best.filter(|best| best.shown > 0)) {
                (Some((_, mutant)), _) => mutant.environment,
                (None, Some(best)) if random.below(4) > 0 => best.environment.mutated(random),
                (None, None) if !self.mutants.is_empty() && random.below(2) > 0 => {
                    let of = random.below(self.mutants.len() as u64) as usize;
                    self.mutants[of].1.environment.mutated(random)
                }
                _ => Environment::random(random),
            };
            tried += 1;
            let instances = self.trial.min(left - kept);
            let trial = self.run(&experiment, environment, (instances, LAUNCHES), &mut search, random)?;
            left -= trial.instances.max(1).min(left);
            if best.is_none_or(|best| trial.rate() > best.rate()) {
                best = Some(trial);
            }
        }
        let mutant = self.mutants.iter().max_by(|a, b| a.1.rate().total_cmp(&b.1.rate()));
        search.tried += tried as u64;
        search.mutant = mutant.filter(|_| search.shown == 0).cloned();
        let chosen = match &search.mutant {
            Some((_, mutant)) => Some(mutant.environment),
            None => best.map(|best| best.environment),
        };
        if let Some(chosen) = chosen {
            let trial = self.run(&experiment, chosen, (left, u32::MAX), &mut search, random)?;
            // Where no time is left, the trial counts.
            search.best = Some(trial).filter(|trial| trial.instances > 0).or(best);
        }
        Ok(search)
    }

    /// Launches so many instances, in so many launches at most, or until the time is over.
    fn run(
        &self,
        experiment: &Experiment<'_>,
        environment: Environment,
        (instances, launches): (u64, u32),
        search: &mut Search,
        random: &mut Random,
    ) -> Result<Trial, NotRun> {
        let mut seen = Seen::default();
        let mut made = 0;
        for _ in 0..launches {
            if experiment.ended().is_some() || made >= instances {
                break;
            }
            let wanted = self.trial.min(instances - made);
            made += experiment.launch(Some(environment), wanted, random, &mut seen)?;
        }
        let mut shown = 0;
        for (values, (count, place)) in &seen.outcomes {
            if asks(self.litmus, values) {
                shown += count;
            }
            let listed = || self.verdict.outcomes.iter().any(|outcome| outcome.values == *values);
            let known = search.alarms.iter().any(|(alarm, _)| alarm == values);
            if self.verdict.outcomes_complete && !listed() && !known {
                search.alarms.push((values.clone(), place.clone()));
            }
        }
        search.instances += seen.complete;
        search.shown += shown;
        search.failed = search.failed.take().or(seen.failed);
        Ok(Trial { environment, shown, instances: seen.complete })
    }
}

/// Whether an outcome, the values of the observables, is the one that a test is about: for `forall`, one that breaks it.
pub fn asks(litmus: &Litmus, values: &[i64]) -> bool {
    let observed = litmus.observables();
    let value = |v: Observable| observed.iter().position(|&o| o == v).map_or(0, |at| values[at]);
    litmus
        .assertion
        .as_ref()
        .is_some_and(|assertion| assertion.cond.eval(&value) != (assertion.quantifier == Quantifier::Forall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::{DeviceConfig, Simulator};
    use std::time::Duration;

    fn plan() -> Plan {
        Plan {
            instances: u64::MAX,
            launch: 16,
            seed: 1,
            weak: true,
            device: true,
            timeout: Duration::from_secs(600),
            interrupt: None,
        }
    }

    fn test(text: &str) -> Litmus {
        memory_model::parse(text).expect("well formed")
    }

    const RELAXED: &str = "PTX MP+rlx\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
        st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, y ;\n st.relaxed.gpu y, 1 | ld.relaxed.gpu r1, x ;\n\
        exists (1:r0 == 1 /\\ 1:r1 == 0)\n";
    const ORDERED: &str = "PTX MP+rel+acq\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
        st.relaxed.gpu x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | ld.relaxed.gpu r1, x ;\n\
        exists (1:r0 == 1 /\\ 1:r1 == 0)\n";

    const LIGHT: &str = "lanes=8 groups=1 blocks=1 rounds=1 turn=1 interleaved=1 stride=64 distant=1 gate=300 delay=7 gap=1 prime=4294967295 \
        stress-blocks=66 stress-warps=1 stress=50 stress-places=16 stress-stride=32 stress-stores=8";

    fn trial(shown: u64, instances: u64) -> Trial {
        Trial { environment: LIGHT.parse().expect("well formed"), shown, instances }
    }

    /// The simulator's weak memory stands in for a device.
    #[test]
    fn a_launch_in_an_environment_shows_what_the_model_allows() {
        // One instance in twelve shows it; of this seed's sixteen, three.
        let (simulator, plan) = (Simulator::new(DeviceConfig::h200()), Plan { seed: 2, ..plan() });
        for (text, verdict) in [(RELAXED, "allowed"), (ORDERED, "forbidden")] {
            let litmus = test(text);
            let judged = asked(&litmus, &Options::default());
            assert_eq!(judged.verdict, verdict);
            let experiment = Experiment::open(&litmus, &simulator, &plan).expect("it is a kernel");
            let looking =
                Looking { litmus: &litmus, verdict: &judged, plan: &plan, trial: 16, mutants: Vec::new() };
            let mut search = Search::default();
            let environment = LIGHT.parse().expect("well formed");
            let made = looking.run(&experiment, environment, (16, 1), &mut search, &mut Random::new(2));
            let made = made.expect("it runs");
            assert_eq!((made.instances, search.instances), (16, 16), "{search:?}");
            assert_eq!(made.shown > 0, verdict == "allowed", "{made:?}");
            assert!(search.failed.is_none() && search.alarms.is_empty(), "{search:?}");
        }
    }

    /// Whatever runs side by side, one after the other and with whom: each instance runs once, and shows what the model allows.
    #[test]
    fn each_instance_of_a_launch_runs_once() {
        let simulator = Simulator::new(DeviceConfig::h200());
        let plan = Plan { launch: 96, ..plan() };
        // Each thread adds what no other instance adds, and all see their own memory only.
        let counted = test(
            "PTX count\n{ x=5; y=0; p=&y; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 1,gpu 0 ;\n \
             atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 10 | ld.weak r0, p ;\n \
             | | st.weak [r0], 3 ;\nexists (x == 16 && y == 3 && 2:r0 == &y)\n",
        );
        for shape in [
            "lanes=8 groups=2 blocks=1 rounds=4 turn=5 interleaved=1 stride=64 distant=1",
            "lanes=1 groups=4 blocks=2 rounds=1 turn=1 interleaved=0 stride=16 distant=0",
            "lanes=32 groups=1 blocks=1 rounds=64 turn=0 interleaved=1 stride=16 distant=0",
            "lanes=8 groups=8 blocks=8 rounds=1 turn=1 interleaved=0 stride=128 distant=1",
        ] {
            let rest = LIGHT.split_once("gate=").expect("it is there").1;
            let rest = rest.replace("stress-blocks=66 stress-warps=1", "stress-blocks=0 stress-warps=0");
            let environment: Environment = format!("{shape} gate={rest}").parse().expect("well formed");
            for (litmus, all) in [(&counted, true), (&test(RELAXED), false), (&test(ORDERED), false)] {
                let judged = asked(litmus, &Options::default());
                let experiment = Experiment::open(litmus, &simulator, &plan).expect("it is a kernel");
                let mut seen = Seen::default();
                let random = &mut Random::new(3);
                let made = experiment.launch(Some(environment), 96, random, &mut seen).expect("it runs");
                assert!((1..=96).contains(&made), "{made}: {environment}");
                assert_eq!((seen.complete, seen.incomplete, &seen.failed), (made, 0, &None), "{environment}");
                for values in seen.outcomes.keys() {
                    assert!(judged.outcomes.iter().any(|outcome| outcome.values == *values), "{values:?}");
                    assert!(!all || asks(litmus, values), "{values:?}: {environment}");
                }
            }
        }
    }

    #[test]
    fn mutants_are_tests_of_one_shape_and_bound_what_was_not_seen() {
        let tuned = |name: &str, best: Trial| Tuned {
            name: name.into(),
            verdict: "allowed",
            search: Ok(Search {
                shown: best.shown,
                instances: best.instances,
                best: Some(best),
                ..Search::default()
            }),
        };
        let all = [
            tuned("MP+rlx", trial(10, 1000)),
            tuned("MP-obs-only", trial(1, 1000)),
            tuned("MP+bar", trial(0, 1000)),
            tuned("SB+rlx", trial(5, 1000)),
            tuned("MP+rel+acq", trial(0, 1000)),
        ];
        let found = mutants(&all, 4);
        let names: Vec<&str> = found.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, ["MP-obs-only", "MP+rlx"]);
        let mut missed = all[4].search.clone().expect("it ran");
        assert!((missed.bound().expect("not seen") - 0.002_995_7).abs() < 1e-6);
        assert_eq!(missed.confidence(), None);
        missed.mutant = Some(found[0].clone());
        // 1 - exp(-1): one was to be expected.
        assert!((missed.confidence().expect("not seen") - 0.632_12).abs() < 1e-4);
        assert_eq!(all[0].search.as_ref().expect("it ran").bound(), None);
    }

    #[test]
    fn environments_are_read_as_they_are_written() {
        let mut random = Random::new(7);
        for _ in 0..100 {
            let some = Environment::random(&mut random);
            assert_eq!(some.to_string().parse(), Ok(some));
            let other = some.mutated(&mut random);
            assert_ne!(some, other);
        }
        let wrong = |text: &str| text.parse::<Environment>().expect_err("not well formed");
        assert_eq!(wrong("lanes"), "`lanes` is not `name=value`");
        assert_eq!(wrong("lane=1"), "`lane` is no parameter of stress");
        assert_eq!(wrong("lanes=1"), "`groups` is missing");
        assert_eq!(wrong("lanes=3"), "`lanes` is one of [1, 8, 32], not `3`");
    }
}
