// What is tried, each in a child of its own.
#pragma once

#include <string_view>

#include "heddle/jail/doctor/machine.h"

namespace heddle::jail {

Attempt try_no_new_privs();
/// Under a Landlock ruleset that denies all that this kernel's ABI has. EPROTO: the denied act worked.
Attempt try_landlock_files();
Attempt try_landlock_network();
Attempt try_landlock_scopes();
/// `filter` is a seccomp program. EPROTO: it is loaded and does not refuse what it must.
Attempt try_filter(std::string_view filter);
Attempt try_foreign_call(std::string_view filter);
Attempt try_notifications();
Attempt try_mdwe();
Attempt try_pidfd();
Attempt try_close_range();
Attempt try_identity();
Attempt try_user_namespace();
/// `flag` of CLONE_NEW*: in a user namespace where one can be made, else directly, which takes root.
Attempt try_namespace(int flag);

}  // namespace heddle::jail
