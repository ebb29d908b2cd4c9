# What a user of the build can choose. Inside of another project only the libraries are built; our
# own presets ask for tests, benchmarks, examples and warnings as errors.
option(BUILD_SHARED_LIBS "Build shared libraries" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_INSTALL "Install libraries, headers and package files" ON)
option(CROSSLOCK_CLI "Build the program crosslock" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_TESTS "Build the tests" OFF)
option(CROSSLOCK_BENCH "Build the benchmarks" OFF)
option(CROSSLOCK_EXAMPLES "Build the examples" OFF)
option(CROSSLOCK_WERROR "Take warnings for errors" OFF)
option(CROSSLOCK_UNITY "Compile several source files at once (a unity build): half the time" ON)

set(CROSSLOCK_ENGINES AUTO CACHE STRING
    "What an engine without a choice of its own gets: AUTO (built if it can be), ON or OFF")
set_property(CACHE CROSSLOCK_ENGINES PROPERTY STRINGS AUTO ON OFF)

# Before 1.0 every minor version may change the ABI.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(crosslock_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
  set(crosslock_soversion ${PROJECT_VERSION_MAJOR})
endif()

# Whoever does not say what to optimise for gets what a user of locks wants.
get_property(several_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT several_configurations AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug, ..." FORCE)
endif()
