# What a user of the build can choose. Inside of another project only the libraries are built.
option(BUILD_SHARED_LIBS "Build shared libraries" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_INSTALL "Install libraries, headers and package files" ON)
option(CROSSLOCK_CLI "Build the program crosslock" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(CROSSLOCK_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})

set(CROSSLOCK_ENGINES AUTO CACHE STRING
    "What an engine without a choice of its own gets: AUTO (built if it can be), ON or OFF")
set_property(CACHE CROSSLOCK_ENGINES PROPERTY STRINGS AUTO ON OFF)

# Before 1.0 every minor version may change the ABI.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(crosslock_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
  set(crosslock_soversion ${PROJECT_VERSION_MAJOR})
endif()
