# Finds ZooKeeper's C client in its single-threaded flavour and defines zookeeper::st. Only the
# archive will do: it shares every symbol with the multi-threaded flavour, which a program may use
# beside us (see src/engines/zookeeper). Also installed, for users of our static libraries.
find_path(ZooKeeperST_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeperST_LIBRARY libzookeeper_st.a)
mark_as_advanced(ZooKeeperST_INCLUDE_DIR ZooKeeperST_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeperST
  REQUIRED_VARS ZooKeeperST_LIBRARY ZooKeeperST_INCLUDE_DIR)

if(ZooKeeperST_FOUND AND NOT TARGET zookeeper::st)
  add_library(zookeeper::st STATIC IMPORTED)
  set_target_properties(zookeeper::st PROPERTIES
    IMPORTED_LOCATION ${ZooKeeperST_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${ZooKeeperST_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES m)
endif()
