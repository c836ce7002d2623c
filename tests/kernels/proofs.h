// One function a claim; see claims.cc for what each is to show.
#pragma once

#include "world.h"

namespace heddle::kernels {

// proofs_jail.cc
Finding landlock_version(const World& world);
Finding starts_or_refuses(const World& world);
Finding verifies(const World& world);
Finding memory_stays_plain(const World& world);
Finding passes_no_descriptor(const World& world);
Finding tells_deaths_apart(const World& world);
Finding dies_with_the_host(const World& world);
Finding dies_with_the_supervisor(const World& world);
Finding failed_steps(const World& world);

// proofs_cgroup.cc
Finding group_memory(const World& world);
Finding group_processes(const World& world);
Finding group_deaths(const World& world);
Finding group_peak(const World& world);
Finding group_cpu(const World& world);
Finding group_is_what_was_asked(const World& world);
Finding group_is_ended(const World& world);

// proofs_doctor.cc
Finding doctor_agrees(const World& world);
Finding doctor_knows_what_is_applied(const World& world);
Finding doctor_sees_the_group(const World& world);
Finding doctor_sees_group_kill(const World& world);
Finding doctor_sees_namespaces(const World& world);

// proofs_attacks.cc
Finding no_file(const World& world);
Finding no_mount(const World& world);
Finding no_socket(const World& world);
Finding no_host_socket(const World& world);
Finding no_exec(const World& world);
Finding no_process(const World& world);
Finding no_other_process(const World& world);
Finding no_foreign_call(const World& world);
Finding no_kernel_surface(const World& world);
Finding no_executable_memory(const World& world);
Finding limits_hold(const World& world);
Finding layers_below_hold(const World& world);
Finding sealed_has_no_exec(const World& world);

// proofs_landlock.cc
Finding landlock_files(const World& world);
Finding landlock_truncate(const World& world);
Finding landlock_devices(const World& world);
Finding landlock_tcp(const World& world);
Finding landlock_udp(const World& world);
Finding landlock_abstract_sockets(const World& world);
Finding landlock_socket_files(const World& world);
Finding landlock_signals(const World& world);
Finding landlock_memory_files(const World& world);

}  // namespace heddle::kernels
