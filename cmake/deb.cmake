# The Debian package of the program: cmake --build build/release --target deb
#
# It has the component `program`. On which packages it depends is read from what the program and the
# libraries are linked with.
function(crosslock_offer_deb)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "the crosslock contributors <crosslock@localhost>")
  set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/deb)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
      OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL program)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME crosslock)
  set(CPACK_DEBIAN_PROGRAM_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION admin)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "locks that hold across processes and machines")
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Runs a command while it holds a lock: among the processes of a machine
without any server, or among machines by one. The command never runs
without the lock, and is stopped when the lock is lost.")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
      ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/deb-documents.cmake)
  set(CPACK_CROSSLOCK_CHANGELOG ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
  include(CPack)
  add_custom_target(deb
    COMMAND ${CMAKE_CPACK_COMMAND} --config ${PROJECT_BINARY_DIR}/CPackConfig.cmake
    DEPENDS crosslock crosslock-completion USES_TERMINAL VERBATIM)
endfunction()
