//! Keycloak's credential: a JSON object that holds two more as strings.

use serde_json::Value;

use super::encoding::{self, Padding, STANDARD};
use super::{Cost, Kdf, Read, Stored, pbkdf2};

/// Reads a credential as Keycloak exports it.
pub fn credential(text: &str) -> Read {
    let outer: Value = serde_json::from_str(text).map_err(|_| "not a JSON object")?;
    let data = nested(&outer, "credentialData")?;
    let secret = nested(&outer, "secretData")?;
    let field_len = |key: &str| -> Result<usize, String> {
        let text = secret[key]
            .as_str()
            .ok_or_else(|| format!("secretData.{key} is missing"))?;
        Ok(encoding::base64(text, STANDARD, Padding::Full)?.len())
    };
    let (salt, output) = (field_len("salt")?, field_len("value")?);
    let iterations = data["hashIterations"]
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n > 0)
        .ok_or("hashIterations is missing or no positive number")?;
    let algorithm = data["algorithm"].as_str().ok_or("algorithm is missing")?;
    if algorithm == "argon2" {
        return argon2(&data["additionalParameters"], iterations, salt, output);
    }
    let digest = match algorithm {
        "pbkdf2" => "sha1",
        other => other.strip_prefix("pbkdf2-").ok_or("the algorithm is not known")?,
    };
    Ok(Stored::new(pbkdf2::kdf(digest)?, Cost::Iterations(iterations)).lengths(salt, output))
}

/// A JSON object inside a string.
fn nested(outer: &Value, key: &str) -> Result<Value, String> {
    let text = outer[key].as_str().ok_or_else(|| format!("{key} is missing"))?;
    serde_json::from_str(text).map_err(|_| format!("{key} is not JSON in a string"))
}

fn argon2(parameters: &Value, time_cost: u32, salt: usize, output: usize) -> Read {
    // Each parameter is an array of one string.
    let one = |key: &str| -> Result<&str, String> {
        parameters[key][0]
            .as_str()
            .ok_or_else(|| format!("additionalParameters.{key} is missing"))
    };
    let kdf = match one("type")? {
        "id" => Kdf::Argon2id,
        "i" => Kdf::Argon2i,
        "d" => Kdf::Argon2d,
        _ => return Err("unknown type: only id, i and d exist".into()),
    };
    let memory_kib = encoding::positive(one("memory")?, "memory")?;
    let lanes = encoding::positive(one("parallelism")?, "parallelism")?;
    if lanes >= 1 << 24 || memory_kib < 8 * lanes {
        return Err(format!(
            "memory is {memory_kib}, below the minimum 8 x parallelism (KiB)"
        ));
    }
    let cost = Cost::Argon2 {
        memory_kib,
        time_cost,
        lanes,
    };
    let read = Stored::new(kdf, cost).lengths(salt, output);
    match one("version")? {
        "1.3" => Ok(read.variant("v19")),
        "1.0" => Ok(super::argon2::old(read, false)),
        _ => Err("unknown version: only 1.0 and 1.3 exist".into()),
    }
}
