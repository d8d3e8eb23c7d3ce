# libasx_c: the C interface by itself. The same sources once more, without exceptions and RTTI and with a section for
# every function: a program that hands over its memory links nothing of the heap, and needs no C++ library at run time.
# The shared one exports asx_* and nothing else; the C++ inside is its own business.
set(asx_c_components base model journal wheel sched kernel runtime chan capi)
asx_library_sources(asx_c_sources asx_c_unused ${asx_c_components})
list(FILTER asx_c_sources EXCLUDE REGEX "/drive_|/parallel\\.cpp$|/entry_order\\.cpp$|/metrics\\.cpp$|/export_|/why\\.cpp$|/compare\\.cpp$|/schedule_|/detail/replay|/codec_json|/(broadcast|watch|rendezvous|hub)\\.cpp$")

add_library(asx_c_objects OBJECT ${asx_c_sources})
target_link_libraries(asx_c_objects PRIVATE asx_build_flags)
target_include_directories(asx_c_objects PRIVATE "${ASX_XXHASH_INCLUDE_DIR}")
target_compile_options(asx_c_objects PRIVATE -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections)
target_compile_definitions(asx_c_objects PRIVATE ASX_ONE_THREAD "ASX_C_API=__attribute__((visibility(\"default\")))")
asx_usage(asx_c_objects)
set_target_properties(asx_c_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

foreach(kind static shared)
  string(TOUPPER ${kind} KIND)
  add_library(asx_c_${kind} ${KIND} $<TARGET_OBJECTS:asx_c_objects>)
  target_include_directories(asx_c_${kind} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(asx_c_${kind} PRIVATE $<BUILD_INTERFACE:asx_build_flags>)
  set_target_properties(asx_c_${kind} PROPERTIES OUTPUT_NAME asx_c EXPORT_NAME c_${kind} LINKER_LANGUAGE CXX)
  add_library(asx::c_${kind} ALIAS asx_c_${kind})
endforeach()
set_target_properties(asx_c_shared PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_link_options(asx_c_shared PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/asx_c.map"
                    "LINKER:--gc-sections")
set_property(TARGET asx_c_shared APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/asx_c.map")
# Foreign handles use a little of the C++ library. The shared library holds that little itself, hidden:
# a C program needs no C++ library at run time. A sanitizer has to see the real one.
include(CheckLinkerFlag)
check_linker_flag(CXX -static-libstdc++ ASX_CXX_LIBRARY_CAN_BE_STATIC)
if(ASX_CXX_LIBRARY_CAN_BE_STATIC AND NOT ASX_SANITIZE AND NOT ASX_COVERAGE)
  target_link_options(asx_c_shared PRIVATE -static-libstdc++ -static-libgcc)
endif()
if(BUILD_SHARED_LIBS)
  add_library(asx::c ALIAS asx_c_shared)
else()
  add_library(asx::c ALIAS asx_c_static)
endif()
if(NOT ASX_INSTALL)  # For whoever links it, and else not at all.
  set_target_properties(asx_c_objects asx_c_static asx_c_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
