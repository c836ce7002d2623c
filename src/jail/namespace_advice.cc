#include "namespace_advice.h"

#include <cerrno>

namespace heddle::jail {

std::string why_no_namespaces(const Failure& failure) {
  std::string text = "the host refuses them at the step " + std::string(step_name(failure.step));
  switch (failure.error) {
    case EPERM:
    case EACCES:
      return text +
             ". Allow it: kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile on Ubuntu, "
             "kernel.unprivileged_userns_clone=1 on Debian, CAP_SYS_ADMIN for root, or the outer container's filter";
    case ENOSPC:
    case EUSERS:
      return text + ". Raise user.max_user_namespaces and the other user.max_*_namespaces";
    case EINVAL:
    case ENOSYS:
      return text + ". This kernel is built without them, or its root folder cannot be replaced (an initramfs)";
    default:
      return text;
  }
}

}  // namespace heddle::jail
