// From what the supervisor noted to a Denial in words. The bytes are a guest's: nothing of them is believed.
#pragma once

#include <string>
#include <string_view>

#include "heddle/jail/denial.h"
#include "heddle/jail/launch/notify.h"

namespace heddle::jail {

[[nodiscard]] Denial read_denial(const SyscallTable& table, const DenialRecord& record);
/// Of a guest that ended by SIGSYS.
[[nodiscard]] Denial unknown_denial(const SyscallTable& table);

/// A struct sockaddr of any length and content.
[[nodiscard]] std::string address_text(std::string_view bytes);
/// By libseccomp's table; `architecture` is an AUDIT_ARCH_.
[[nodiscard]] std::string syscall_name(int number, std::uint32_t architecture);

}  // namespace heddle::jail
