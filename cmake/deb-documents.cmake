# Run by CPack on what is about to be packed: documents as Debian wants them, compressed.
set(share ${CPACK_TEMPORARY_DIRECTORY}/program/usr/share)
file(COPY_FILE ${CPACK_CROSSLOCK_CHANGELOG} ${share}/doc/crosslock/changelog)
file(CHMOD ${share}/doc/crosslock/changelog PERMISSIONS
     OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
execute_process(
  COMMAND gzip --best --no-name ${share}/doc/crosslock/changelog ${share}/man/man1/crosslock.1
  COMMAND_ERROR_IS_FATAL ANY)
