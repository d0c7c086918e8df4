//! The quirks of models behind Bedrock's Converse.

use jackfield_provider_bedrock::profile::ModelProfile;

use super::{Quirk, flag};

impl super::Profile for ModelProfile {
    const QUIRKS: &'static [Quirk<Self>] = &[
        flag!(auto_cache_points),
        flag!(cache_points),
        flag!(forced_any),
        flag!(forced_tool),
        flag!(hour_cache_points),
        flag!(images_in_results),
        flag!(reasoning),
        flag!(result_status),
        flag!(streams_tools),
        flag!(structured_output),
    ];
}
