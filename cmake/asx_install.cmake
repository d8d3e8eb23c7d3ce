# Headers, libraries, the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

foreach(header ${asx_headers})
  file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${header}")
  get_filename_component(folder "${relative}" DIRECTORY)
  install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}")
endforeach()

install(TARGETS asx_static asx_shared asx_c_static asx_c_shared EXPORT asx_targets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT asx_targets FILE asx_targets.cmake NAMESPACE asx:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/asx")

configure_package_config_file(cmake/asxConfig.cmake.in "${PROJECT_BINARY_DIR}/asxConfig.cmake"
                              INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/asx")
# 0.1 promises nothing to 0.2: only the same minor version is compatible before 1.0.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/asxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/asxConfig.cmake" "${PROJECT_BINARY_DIR}/asxConfigVersion.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/asx")

# Relative to the file itself, so that an installed tree can be moved, however deep its library folder is.
file(RELATIVE_PATH asx_prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/asx.pc.in "${PROJECT_BINARY_DIR}/asx.pc" @ONLY)
configure_file(cmake/asx_c.pc.in "${PROJECT_BINARY_DIR}/asx_c.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/asx.pc" "${PROJECT_BINARY_DIR}/asx_c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES tools/gdb/asx_gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/asx/gdb")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(ASX_BUILD_CLI AND NOT CMAKE_CROSSCOMPILING)
  install(TARGETS asx_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${PROJECT_BINARY_DIR}/asx/cli/asx.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${PROJECT_BINARY_DIR}/asx/cli/asx.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
          RENAME asx)
  install(FILES "${PROJECT_BINARY_DIR}/asx/cli/asx.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
