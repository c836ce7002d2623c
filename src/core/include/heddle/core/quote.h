// Text of unknown origin inside what somebody may copy: a line of a policy, a command for a shell (JAIL-22).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::core {

/// A TOML basic string that means `text` and is seen whole: escapes for what a terminal obeys or does not show, and for
/// what a shell would obey between double quotes, should it be pasted there. Nothing for ill-formed UTF-8, which TOML
/// cannot hold.
[[nodiscard]] std::optional<std::string> toml_string(std::string_view text);

/// One word of sh(1), in single quotes where it needs them. Nothing for what cannot be shown as it is: what is seen and
/// what is pasted would be two things.
[[nodiscard]] std::optional<std::string> shell_word(std::string_view text);

/// "chmod a-w 'the file'": a command of ours for a path of somebody else's; in words where the path is no word.
[[nodiscard]] std::string shown_command(std::string_view command, std::string_view path);

}  // namespace heddle::core
