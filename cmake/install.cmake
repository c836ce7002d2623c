# find_package(heddle): the modules as heddle::<name>, from `cmake --install`. tests/install proves it.
include(CMakePackageConfigHelpers)
set(heddle_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
configure_package_config_file(cmake/heddleConfig.cmake.in ${PROJECT_BINARY_DIR}/heddleConfig.cmake
  INSTALL_DESTINATION ${heddle_package_folder} PATH_VARS CMAKE_INSTALL_LIBEXECDIR)
# Before 1.0 every minor version may change an interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
  DESTINATION ${heddle_package_folder})
install(EXPORT heddleTargets NAMESPACE heddle:: DESTINATION ${heddle_package_folder})
install(FILES LICENSE README.md SECURITY.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
heddle_write_modules(${PROJECT_BINARY_DIR}/modules.txt)
