//! CPU seconds of one hash by the native engine, as one JSON object: the counterpart of `tests/python/hash_cost.py`.
//!
//! `engine_cpu SETTING PAGES [HASHES] [CLIENTS]`, for example `engine_cpu argon2id:m=47104,t=1,p=1 fresh 10 1`.

use std::error::Error;
use std::sync::Barrier;
use std::thread;

use hashtune::engine::{Engine, Native, Pages, clock};
use hashtune::setting::Setting;

/// Hashes of each client before the clock is read: what is kept has been kept by then.
const WARM_UP: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [setting, pages, rest @ ..] = args.as_slice() else {
        return Err("usage: engine_cpu SETTING PAGES [HASHES] [CLIENTS]".into());
    };
    let setting: Setting = setting.parse()?;
    let engine = Native::new(pages.parse()?);
    let hashes: u32 = rest.first().map_or(Ok(10), |text| text.parse())?;
    let clients: u32 = rest.get(1).map_or(Ok(1), |text| text.parse())?;
    if hashes == 0 || clients == 0 {
        return Err("HASHES and CLIENTS are at least 1".into());
    }
    let cpu = cpu_per_hash(&engine, &setting, hashes, clients)?;
    println!("{{\"cpu_ms\": {:.3}, \"pages\": \"{}\"}}", cpu * 1e3, engine.pages());
    if engine.pages() == Pages::Deployed {
        match engine.fresh_from() {
            Some(from) => eprintln!("fresh from {from}"),
            None => eprintln!("kept at every size that was probed"),
        }
    }
    Ok(())
}

/// `clients` threads hash `hashes` times each; the process clock is read between the warm-up and the end.
fn cpu_per_hash(engine: &Native, setting: &Setting, hashes: u32, clients: u32) -> Result<f64, Box<dyn Error>> {
    let gate = Barrier::new(clients as usize + 1);
    let used = thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let slot = engine.slot(setting).and_then(|mut slot| {
                        for _ in 0..WARM_UP {
                            slot.hash()?;
                        }
                        Ok(slot)
                    });
                    gate.wait(); // also on failure: the others wait here
                    gate.wait();
                    let mut slot = slot?;
                    (0..hashes).try_for_each(|_| slot.hash())
                })
            })
            .collect();
        gate.wait();
        let before = clock::process_cpu();
        gate.wait();
        for thread in threads {
            thread.join().map_err(|_| "a client panicked")??;
        }
        Ok::<_, Box<dyn Error>>(clock::process_cpu() - before)
    })?;
    Ok(used / f64::from(hashes * clients))
}
