//! The page-fault tax of one setting: CPU of a hash under load, with each page behaviour.

use super::{Load, MeasureError, Measurement};
use crate::engine::Pages;
use crate::engine::advice::MATTERS;
use crate::setting::{Argon2id, Setting};
use crate::stats::median;
use crate::units::Share;

/// How the tax is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaxPlan {
    /// Hashes in flight: the usable CPUs, rounded up.
    pub clients: u32,
    /// Hashes of each closed loop, and the seconds after which no more are started.
    pub hashes: u32,
    /// See `hashes`.
    pub seconds: f64,
    /// Loops for each page behaviour. They alternate, so that drift of the machine meets all alike.
    pub rounds: u32,
    /// What "deployed" is for this setting, where the engine knows: its figure is then taken from that behaviour's loops.
    /// `None`: it is measured.
    pub deployed_is: Option<Pages>,
}

impl TaxPlan {
    /// Three short rounds at saturation on `cpus` usable CPUs: about 3 x 3 x 8 hashes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn new(cpus: f64) -> Self {
        let clients = (cpus.ceil() as u32).max(1);
        Self {
            clients,
            hashes: (clients * 4).max(8),
            seconds: 1.0,
            rounds: 3,
            deployed_is: None,
        }
    }
}

/// CPU seconds of one hash under load.
#[derive(Debug, Clone, PartialEq)]
pub struct PageTax {
    /// What was hashed with.
    pub setting: Setting,
    /// Whether the deployed library asks for fresh memory: as the plan knows it, else what its figure is nearer to.
    pub fresh: bool,
    /// Hashes in flight.
    pub clients: u32,
    /// As the C library's `malloc` does it.
    pub deployed_s: f64,
    /// Mapped for each hash.
    pub fresh_s: f64,
    /// Mapped for each hash in huge pages, or why that could not be measured.
    pub huge_s: Result<f64, String>,
    /// Kept.
    pub reused_s: f64,
    /// The tax, round by round: 1 - reused / deployed.
    pub rounds: Vec<f64>,
}

impl PageTax {
    /// Share of the deployed hash's CPU that kept memory would save.
    pub fn share(&self) -> Share {
        self.saved_by(self.reused_s)
    }

    /// Share of the deployed hash's CPU that huge pages would save.
    pub fn huge_share(&self) -> Option<Share> {
        self.huge_s.as_ref().ok().map(|huge| self.saved_by(*huge))
    }

    /// Share of the CPU that fresh memory costs at this size, whether or not the deployed library asks for it.
    pub fn if_fresh(&self) -> Share {
        Share((1.0 - self.reused_s / self.fresh_s).max(0.0))
    }

    /// The share is above [`MATTERS`], and no round denies that there is one.
    pub fn matters(&self) -> bool {
        self.share().0.max(self.huge_share().map_or(0.0, |h| h.0)) > MATTERS && self.rounds.iter().all(|r| *r > 0.0)
    }

    /// The setting with the same passes and lanes that takes `budget_s` CPU seconds where this one takes `cost_s`: whole MiB,
    /// rounded down. A proposal, to be measured; `None` where there is no such setting.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn affords(&self, cost_s: f64, budget_s: f64) -> Option<Setting> {
        let Setting::Argon2id(now) = self.setting else {
            return None;
        };
        // CPU is proportional to memory within the few tens of percent that matter here.
        let mib = (f64::from(now.memory_kib()) / 1024.0 * budget_s / cost_s).floor() as u32;
        let more = Argon2id::new(mib.saturating_mul(1024), now.time_cost(), now.lanes());
        more.ok().map(Setting::Argon2id)
    }

    fn saved_by(&self, cpu_s: f64) -> Share {
        Share((1.0 - cpu_s / self.deployed_s).max(0.0))
    }
}

/// Measures the tax. `measure` runs one closed loop with an engine of that page behaviour.
///
/// `None` for all but Argon2id: the other families' memory does not follow [`Pages`].
///
/// # Errors
/// Those of `measure`, except for huge pages that the engine refuses: their absence is part of the answer.
pub fn page_tax(
    setting: &Setting,
    plan: &TaxPlan,
    mut measure: impl FnMut(Pages, &Setting, &Load) -> Result<Measurement, MeasureError>,
) -> Result<Option<PageTax>, MeasureError> {
    if !matches!(setting, Setting::Argon2id(_)) {
        return Ok(None);
    }
    let load = Load::Closed {
        clients: plan.clients,
        hashes: plan.hashes,
        seconds: plan.seconds,
    };
    let mut seen: Vec<[Option<f64>; 4]> = Vec::new();
    let mut no_huge = None;
    for round in 0..plan.rounds.max(1) {
        let mut row = [None; 4];
        for at in 0..4 {
            // Forth and back: none is always first.
            let at = if round % 2 == 0 { at } else { 3 - at };
            let pages = Pages::ALL[at];
            if (pages == Pages::Deployed && plan.deployed_is.is_some()) || (pages == Pages::Huge && no_huge.is_some()) {
                continue;
            }
            match measure(pages, setting, &load) {
                Ok(seen) => row[at] = Some(seen.cpu_per_hash()),
                Err(MeasureError::Engine(why)) if pages == Pages::Huge => no_huge = Some(why),
                Err(other) => return Err(other),
            }
        }
        if let Some(same) = plan.deployed_is {
            row[index(Pages::Deployed)] = row[index(same)];
        }
        seen.push(row);
    }
    Ok(Some(summary(setting, plan, &seen, no_huge)))
}

fn index(pages: Pages) -> usize {
    Pages::ALL.iter().position(|p| *p == pages).unwrap_or(0)
}

fn summary(setting: &Setting, plan: &TaxPlan, seen: &[[Option<f64>; 4]], no_huge: Option<String>) -> PageTax {
    let of = |pages| {
        let all: Vec<f64> = seen.iter().filter_map(|row| row[index(pages)]).collect();
        median(&all).unwrap_or(f64::NAN)
    };
    let tax = |row: &[Option<f64>; 4]| Some(1.0 - row[index(Pages::Reused)]? / row[index(Pages::Deployed)]?);
    let (deployed_s, fresh_s, reused_s) = (of(Pages::Deployed), of(Pages::Fresh), of(Pages::Reused));
    let nearer_to_fresh = || fresh_s > reused_s && deployed_s > fresh_s.midpoint(reused_s);
    PageTax {
        setting: *setting,
        fresh: plan
            .deployed_is
            .map_or_else(nearer_to_fresh, |pages| pages == Pages::Fresh),
        clients: plan.clients,
        deployed_s,
        fresh_s,
        huge_s: no_huge.map_or_else(|| Ok(of(Pages::Huge)), Err),
        reused_s,
        rounds: seen.iter().filter_map(tax).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::steady;
    use super::*;

    fn argon() -> Setting {
        "argon2id:m=47104,t=1,p=1".parse().unwrap()
    }

    fn costs(cpu_s: f64) -> Measurement {
        Measurement { cpu_s, ..steady(1) }
    }

    fn cpu(pages: Pages) -> f64 {
        match pages {
            Pages::Deployed | Pages::Fresh => 0.060,
            Pages::Huge => 0.036,
            Pages::Reused => 0.030,
        }
    }

    fn plan(deployed_is: Option<Pages>) -> TaxPlan {
        TaxPlan {
            deployed_is,
            ..TaxPlan::new(1.5)
        }
    }

    #[test]
    fn shares_are_of_the_deployed_cpu() {
        let tax = page_tax(&argon(), &plan(None), |pages, _, _| Ok(costs(cpu(pages))))
            .unwrap()
            .unwrap();
        assert!((tax.share().0 - 0.5).abs() < 1e-9);
        assert!((tax.huge_share().unwrap().0 - 0.4).abs() < 1e-9);
        assert!(tax.fresh && tax.matters());
        assert_eq!((tax.clients, tax.rounds.len()), (2, 3));
        assert_eq!(
            tax.affords(tax.reused_s, tax.deployed_s).unwrap().to_string(),
            "argon2id:m=94208,t=1,p=1"
        );
        assert_eq!(tax.affords(1.0, 0.0), None);
    }

    #[test]
    fn loops_alternate_and_one_odd_round_is_outvoted() {
        let mut order = Vec::new();
        let tax = page_tax(&argon(), &plan(Some(Pages::Fresh)), |pages, _, load| {
            order.push(pages);
            assert_eq!(
                *load,
                Load::Closed {
                    clients: 2,
                    hashes: 8,
                    seconds: 1.0
                }
            );
            let odd = if order.len() == 3 { 10.0 } else { 1.0 }; // the first of the reused ones
            Ok(costs(cpu(pages) * odd))
        });
        let tax = tax.unwrap().unwrap();
        let forth = [Pages::Fresh, Pages::Huge, Pages::Reused];
        let back = [Pages::Reused, Pages::Huge, Pages::Fresh];
        assert_eq!(order, [forth, back, forth].concat());
        assert!((tax.share().0 - 0.5).abs() < 1e-9);
        assert!(!tax.matters(), "one round says that there is no tax: {:?}", tax.rounds);
    }

    #[test]
    fn kept_memory_pays_no_tax() {
        let tax = page_tax(&argon(), &plan(Some(Pages::Reused)), |pages, _, _| {
            Ok(costs(cpu(pages)))
        });
        let tax = tax.unwrap().unwrap();
        assert_eq!(tax.share(), Share(0.0));
        assert!(!tax.fresh && !tax.matters());
        assert!((tax.if_fresh().0 - 0.5).abs() < 1e-9);
    }

    #[test]
    fn without_huge_pages_the_rest_is_measured() {
        let tax = page_tax(&argon(), &plan(None), |pages, _, _| match pages {
            Pages::Huge => Err(MeasureError::Engine("no huge pages".into())),
            _ => Ok(costs(cpu(pages))),
        });
        let tax = tax.unwrap().unwrap();
        assert_eq!(tax.huge_s, Err("no huge pages".into()));
        assert_eq!(tax.huge_share(), None);
        assert!(tax.matters());
    }

    #[test]
    fn other_failures_and_other_families() {
        let fails = page_tax(&argon(), &plan(None), |_, _, _| Err(MeasureError::Time));
        assert_eq!(fails, Err(MeasureError::Time));
        let bcrypt = "bcrypt:12".parse().unwrap();
        assert_eq!(page_tax(&bcrypt, &plan(None), |_, _, _| unreachable!()), Ok(None));
    }
}
