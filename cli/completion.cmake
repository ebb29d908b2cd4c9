# The scripts in completion/ become string literals, each under the name of its shell. What shells
# are given is printed by the program, which puts its commands and options in.
set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(text "// Made from the scripts in cli/completion/.\n#pragma once\n\n#include <string_view>\n\n")
string(APPEND text "namespace crosslock::cli::completion_scripts {\n")
foreach(shell bash zsh fish)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/completion/crosslock.${shell})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(READ ${script} body)
  string(APPEND text "inline constexpr std::string_view ${shell} = R\"sh(${body})sh\";\n")
endforeach()
string(APPEND text "}  // namespace crosslock::cli::completion_scripts\n")
file(CONFIGURE OUTPUT ${folder}/cli/completion_scripts.hpp CONTENT "${text}" @ONLY)
target_include_directories(crosslock-cli PRIVATE ${folder})

# Each under the name and in the folder in which its shell looks for it.
function(crosslock_install_completion)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/completion)
  set(made ${folder}/crosslock ${folder}/_crosslock ${folder}/crosslock.fish)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND crosslock completion bash > ${folder}/crosslock
    COMMAND crosslock completion zsh > ${folder}/_crosslock
    COMMAND crosslock completion fish > ${folder}/crosslock.fish
    DEPENDS crosslock VERBATIM)
  add_custom_target(crosslock-completion ALL DEPENDS ${made})
  set(share ${CMAKE_INSTALL_DATADIR})
  install(FILES ${folder}/crosslock DESTINATION ${share}/bash-completion/completions
          COMPONENT program)
  install(FILES ${folder}/_crosslock DESTINATION ${share}/zsh/site-functions COMPONENT program)
  install(FILES ${folder}/crosslock.fish DESTINATION ${share}/fish/vendor_completions.d
          COMPONENT program)
endfunction()
