//! The page-fault tax of an Argon2id setting on this machine, and what to set against it.
//!
//! `page_tax SETTING [single|many]`, for example `page_tax argon2id:m=47104,t=1,p=1 single`.

use std::error::Error;
use std::sync::Arc;
use std::{fs, thread};

use hashtune::engine::advice::{HashThreads, PageFacts, advise};
use hashtune::engine::{Native, Pages, libc};
use hashtune::measure::{Measure, Runner, TaxPlan, page_tax};
use hashtune::setting::Setting;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let setting: Setting = args.first().ok_or("usage: page_tax SETTING [single|many]")?.parse()?;
    let threads = match args.get(1).map(String::as_str) {
        Some("single") => HashThreads::Single,
        Some("many") => HashThreads::Many,
        _ => HashThreads::Unknown,
    };
    let cpus = f64::from(u32::try_from(thread::available_parallelism()?.get())?);
    let from = Native::new(Pages::Deployed).fresh_from();
    let fresh = from.is_some_and(|from| setting.memory_cost() >= from);
    let plan = TaxPlan {
        deployed_is: Some(if fresh { Pages::Fresh } else { Pages::Reused }),
        ..TaxPlan::new(cpus)
    };
    let tax = page_tax(&setting, &plan, |pages, setting, load| {
        Runner::new(Arc::new(Native::new(pages)), cpus).measure(setting, load)
    })?;
    let Some(tax) = tax else {
        println!("{setting}: page behaviour is Argon2's alone");
        return Ok(());
    };
    println!("{tax:#?}");
    println!(
        "share {}, with huge pages {:?}, matters: {}",
        tax.share(),
        tax.huge_share(),
        tax.matters()
    );
    let facts = PageFacts {
        libc: libc(),
        thp: fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
            .ok()
            .and_then(|text| text.parse().ok()),
        threads,
        memory: setting.memory_cost(),
        fresh: tax.is_fresh(),
        tax: tax.share(),
        huge: tax.huge_share(),
    };
    for advice in advise(&facts) {
        println!("{}: {advice}", advice.code);
        if let Some(more) = advice.saves.and_then(|saves| tax.affords(saves)) {
            println!("  would pay for about {more}");
        }
    }
    Ok(())
}
