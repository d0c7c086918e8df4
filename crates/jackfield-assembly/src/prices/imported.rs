//! The file of imported list prices, `prices.txt` beside the configuration.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jackfield_prices::Catalogue;

use crate::place::{ConfigError, ConfigProblem, Origin, ValueSource};
use crate::replaced_file::{replace, text_of};

/// The file of imported list prices; they win over those that come with Jackfield.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PricesFile(PathBuf);

impl PricesFile {
    /// The file beside this configuration file.
    #[must_use]
    pub fn beside(config: &Path) -> Self {
        Self(config.with_file_name(NAME))
    }

    /// Its path, whether or not it exists.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Replaces it. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// It cannot be written, or it is larger than what is read, which is [`ErrorKind::FileTooLarge`].
    pub fn write(&self, catalogue: &Catalogue) -> io::Result<()> {
        let length = catalogue.text().len();
        if length as u64 > MOST {
            let message = format!("the prices take {length} bytes, and at most {MOST} are read");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        replace(&self.0, catalogue.text())
    }

    /// Reads it; `None` if it does not exist.
    pub(crate) fn read(&self) -> Result<Option<Catalogue>, ConfigError> {
        let wrong = |line: Option<usize>, message: String| {
            let place = ValueSource {
                line,
                ..Origin::File(self.path().into()).into()
            };
            let help = format!(
                "import it again with `jackfield prices import`, or delete {}",
                self.0.display()
            );
            ConfigError::Wrong(vec![ConfigProblem::new(place, message).with_help(help)])
        };
        let text = match text_of(&self.0, MOST) {
            Ok(text) => text,
            // A home that is not one has no such file, either.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(wrong(None, error.to_string())),
        };
        if text.is_empty() {
            return Ok(None);
        }
        let catalogue = Catalogue::parse(text);
        let catalogue =
            catalogue.map_err(|error| wrong(Some(error.line), error.problem.to_owned()))?;
        Ok(Some(catalogue))
    }
}

const NAME: &str = "prices.txt";
/// The maximum size of the file, in bytes.
const MOST: u64 = 16 << 20;
