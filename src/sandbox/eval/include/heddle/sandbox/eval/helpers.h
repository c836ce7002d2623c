// Where Heddle's helper programs are.
#pragma once

#include <string>

namespace heddle::sandbox {

/// `../libexec/heddle` of this program's own folder where there is one, as in an installation that was moved; else
/// where Heddle was to be installed. Whether what lies there can be trusted is looked at before it is started.
[[nodiscard]] std::string helper_folder();

}  // namespace heddle::sandbox
