# crosslock_add_engine(NAME name [DEPENDS package/target/debian-package/pkg-config-module ...]
#                      [KEEP_INSIDE archive ...])
#
# Builds crosslock-<name> (alias crosslock::<name>) from src/engines/<name>/*.cpp. Each dependency
# gives the name for find_package, the target to link, the Debian package that brings it, and what
# pkg-config calls it:
#     crosslock_add_engine(NAME sqlite DEPENDS SQLite3/SQLite::SQLite3/libsqlite3-dev/sqlite3)
# In place of the last, for what pkg-config does not know, what a static user's linker is told.
# A shared library of ours exports nothing of the archives in KEEP_INSIDE.
# CROSSLOCK_ENGINE_<NAME> is AUTO (built if everything is found), ON (anything missing is an
# error) or OFF. The Debian package also belongs into cmake/packages.
function(crosslock_add_engine)
  cmake_parse_arguments(PARSE_ARGV 0 engine "" NAME "DEPENDS;KEEP_INSIDE")
  string(TOUPPER ${engine_NAME} upper)
  set(CROSSLOCK_ENGINE_${upper} ${CROSSLOCK_ENGINES} CACHE STRING
      "Build the engine ${engine_NAME}: AUTO, ON or OFF")
  set_property(CACHE CROSSLOCK_ENGINE_${upper} PROPERTY STRINGS AUTO ON OFF)
  set(choice ${CROSSLOCK_ENGINE_${upper}})

  if(NOT choice STREQUAL AUTO AND NOT choice)
    message(STATUS "crosslock: engine ${engine_NAME} is switched off")
    return()
  endif()

  set(packages "")
  set(libraries "")
  set(modules "")
  set(flags "")
  foreach(dependency IN LISTS engine_DEPENDS)
    string(REPLACE "/" ";" parts "${dependency}")
    list(POP_FRONT parts package library debian module)
    find_package(${package} QUIET)
    if(NOT TARGET ${library})
      set(reason "${package} is missing (Debian: apt-get install ${debian})")
      if(choice STREQUAL AUTO)
        message(STATUS "crosslock: engine ${engine_NAME} is not built: ${reason}")
        return()
      endif()
      message(FATAL_ERROR "crosslock: engine ${engine_NAME} cannot be built: ${reason}")
    endif()
    list(APPEND packages ${package})
    list(APPEND libraries ${library})
    if(module MATCHES "^-")
      list(APPEND flags ${module})
    else()
      list(APPEND modules ${module})
    endif()
  endforeach()

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/engines/${engine_NAME}/*.cpp)
  if(NOT sources)
    message(FATAL_ERROR "crosslock: there are no sources in src/engines/${engine_NAME}")
  endif()
  crosslock_add_library(${engine_NAME} ${sources})
  crosslock_embed_lua(${engine_NAME})
  set(target crosslock-${engine_NAME})
  target_link_libraries(${target} PUBLIC crosslock-core PRIVATE ${libraries})
  set_property(TARGET ${target} PROPERTY crosslock_packages ${packages})
  set_property(TARGET ${target} PROPERTY crosslock_modules ${modules})
  set_property(TARGET ${target} PROPERTY crosslock_flags ${flags})
  foreach(archive IN LISTS engine_KEEP_INSIDE)
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,${archive})
  endforeach()
  crosslock_keep_linked(${target} crosslock_engine_${engine_NAME})
  set_property(GLOBAL APPEND PROPERTY crosslock_engines ${engine_NAME})
  message(STATUS "crosslock: engine ${engine_NAME} is built")
endfunction()

# The core refers to an engine's factory only weakly (src/engine/registry.cpp), and a linker drops
# what nobody needs strongly: an archive's member, or with --as-needed the whole shared library.
# Whoever links the engine therefore asks for it by name.
function(crosslock_keep_linked target factory)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    target_link_options(${target} INTERFACE "LINKER:-u,${factory}")
  else()
    set(file $<TARGET_LINKER_FILE:$<TARGET_NAME:${target}>>)
    target_link_options(${target} INTERFACE
      "LINKER:--push-state,--no-as-needed,${file},--pop-state")
  endif()
endfunction()

# The .lua files of an engine's folder become string literals in engines/<name>/lua.hpp, each under
# the name of its file; a word that C++ keeps for itself gets an underscore behind it.
function(crosslock_embed_lua name)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/engines/${name}/*.lua)
  if(NOT scripts)
    return()
  endif()
  set(text "// Made from the .lua files beside the engine.\n#pragma once\n\n")
  string(APPEND text "#include <string_view>\n\n")
  string(APPEND text "namespace crosslock::${name}::lua {\n")
  foreach(script IN LISTS scripts)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    get_filename_component(variable ${script} NAME_WE)
    if(variable STREQUAL break)
      set(variable break_)
    endif()
    file(READ ${script} body)
    string(APPEND text "inline constexpr std::string_view ${variable} = R\"lua(${body})lua\";\n")
  endforeach()
  string(APPEND text "}  // namespace crosslock::${name}::lua\n")
  set(folder ${PROJECT_BINARY_DIR}/lua)
  file(CONFIGURE OUTPUT ${folder}/engines/${name}/lua.hpp CONTENT "${text}" @ONLY)
  target_include_directories(crosslock-${name} PRIVATE ${folder})
endfunction()
