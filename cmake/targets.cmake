# How every target of ours is compiled, and what makes a library a crosslock library.

# Language level, and warnings; these are errors only in our own presets, so that a newer compiler
# never breaks the build of somebody who merely uses us.
function(crosslock_compile_as_ours target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20
    CXX_EXTENSIONS OFF
    COMPILE_WARNING_AS_ERROR ${CROSSLOCK_WERROR})
endfunction()

# Forty files at a time, because most of what the compiler reads is headers. Names in unnamed
# namespaces must therefore differ among the files of a target.
function(crosslock_build_as_unity target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${CROSSLOCK_UNITY} UNITY_BUILD_BATCH_SIZE 40)
endfunction()

# crosslock_note_mutable(TARGET SOURCE...): the files that know deliberate faults
# (src/engine/mutant.hpp) stay objects of their own, so that tests can replace them.
function(crosslock_note_mutable target)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} found REGEX "mutated\\(|CROSSLOCK_MUTANTS" LIMIT_COUNT 1)
    if(found)
      cmake_path(ABSOLUTE_PATH source)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      set_property(TARGET ${target} APPEND PROPERTY crosslock_mutable ${source})
    endif()
  endforeach()
endfunction()

# crosslock_add_library(NAME SOURCE...): the library crosslock-NAME with the alias crosslock::NAME,
# installed as a component of the same name.
function(crosslock_add_library name)
  set(target crosslock-${name})
  add_library(${target} ${ARGN})
  add_library(crosslock::${name} ALIAS ${target})
  crosslock_compile_as_ours(${target})
  crosslock_build_as_unity(${target})
  if(CROSSLOCK_TESTS)
    crosslock_note_mutable(${target} ${ARGN})
  endif()
  # Nobody replaces our functions at run time: calls among them may be direct, or inlined.
  # (clang inlines them anyway.)
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # All libraries lie side by side, in the build tree as after installation: the program finds
  # the engines it loads at run time beside the core. What CMake would write into those of the build
  # tree ends with a colon, which means the current directory, whoever may have put what there.
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${crosslock_soversion}
    POSITION_INDEPENDENT_CODE ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}
    INSTALL_RPATH "$ORIGIN"
    BUILD_WITH_INSTALL_RPATH ON)
  set_property(GLOBAL APPEND PROPERTY crosslock_components ${name})
endfunction()

# crosslock_add_program(TARGET SOURCE...): a program of this repository, which may look behind the
# public headers.
function(crosslock_add_program target)
  add_executable(${target} ${ARGN})
  crosslock_compile_as_ours(${target})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
endfunction()
