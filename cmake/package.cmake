# Install rules, the CMake package with one component per library, and the .pc files.
#
# For CMake's install there are two components: `program` is what a user of the command line needs,
# with the libraries of all engines; `development` is all that whoever builds on them needs besides.
include(CMakePackageConfigHelpers)

set(crosslock_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/crosslock)

# One library, its export file, and its .pc file.
function(crosslock_install_component name)
  set(target crosslock-${name})
  install(TARGETS ${target} EXPORT ${target}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                  COMPONENT program NAMELINK_COMPONENT development
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT ${target} NAMESPACE crosslock:: COMPONENT development
          FILE crosslock-${name}-targets.cmake DESTINATION ${crosslock_package_dir})

  # The same reason, and the same two ways, as in crosslock_keep_linked; pkg-config's answer has
  # to serve static and shared linking alike.
  set(pc_name ${name})
  # Found from where the .pc file is: the prefix may be chosen when installing, and be moved.
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH way_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" way_up ${way_up})
    set(pc_prefix "\${pcfiledir}/${way_up}")
  endif()
  set(pc_requires "")
  set(pc_libs "-L\${libdir} -lcrosslock-${name}")
  get_property(flags TARGET ${target} PROPERTY crosslock_flags)
  list(JOIN flags " " pc_libs_private)
  get_property(modules TARGET ${target} PROPERTY crosslock_modules)
  list(JOIN modules " " pc_requires_private)
  if(name STREQUAL core)
    set(pc_description "${PROJECT_DESCRIPTION}")
    set(pc_libs_private "-pthread")
  else()
    set(pc_description "The ${name} engine of crosslock")
    set(pc_requires "crosslock-core = ${PROJECT_VERSION}")
    set(keep "-Wl,--push-state,--no-as-needed,-lcrosslock-${name},--pop-state")
    set(pc_libs "-L\${libdir} -Wl,-u,crosslock_engine_${name} ${keep}")
  endif()
  set(pc_file ${PROJECT_BINARY_DIR}/package/crosslock-${name}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/crosslock.pc.in ${pc_file} @ONLY)
  install(FILES ${pc_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

function(crosslock_install_package)
  if(NOT CROSSLOCK_INSTALL)
    return()
  endif()
  get_property(components GLOBAL PROPERTY crosslock_components)
  set(crosslock_dependencies "")
  foreach(name IN LISTS components)
    crosslock_install_component(${name})
    # A static library passes on what it links, so its user needs the same packages.
    get_target_property(type crosslock-${name} TYPE)
    get_target_property(packages crosslock-${name} crosslock_packages)
    if(type STREQUAL STATIC_LIBRARY AND packages)
      string(APPEND crosslock_dependencies "set(_crosslock_${name}_packages ${packages})\n")
    endif()
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/crosslock
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
          FILES_MATCHING PATTERN "*.hpp")

  set(config ${PROJECT_BINARY_DIR}/package/crosslockConfig.cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/crosslockConfig.cmake.in ${config}
    INSTALL_DESTINATION ${crosslock_package_dir} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/crosslockConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  file(GLOB find_modules ${PROJECT_SOURCE_DIR}/cmake/Find*.cmake)
  install(FILES ${config} ${PROJECT_BINARY_DIR}/package/crosslockConfigVersion.cmake
          ${find_modules} DESTINATION ${crosslock_package_dir} COMPONENT development)
endfunction()
