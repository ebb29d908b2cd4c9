// Receipts on the command line: where they come from, and how they are shown.
#pragma once

#include "cli/command_line.hpp"
#include "cli/target.hpp"

#include <crosslock/receipt.hpp>
#include <crosslock/time.hpp>

#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::cli {

/// Gives a command the word RECEIPT. It takes every word, so that nobody else quotes one.
void offer_receipt(command_words& words, std::vector<std::string>& given);

/// The one that was given; `-`: the first line of `in`; none: CROSSLOCK_RECEIPT. Throws
/// usage_error, which quotes nothing: whoever reads a receipt in a log could use it.
receipt read_receipt(const std::vector<std::string>& given, std::istream& in);

/// Throws `unsupported` where what is kept there ends with the process that took it. Connects
/// nothing.
void require_receipts(const target& where);
/// The same, and `conflict` unless the receipt is of the engine that is there.
void require_receipts(const target& where, const receipt& given);

/// The words that --format knows beside the bare receipt.
enum class receipt_format { bare, env, json };
void offer_format(command_words& words, std::optional<std::string>& format);
receipt_format read_format(const std::optional<std::string>& format);

/// A value as a shell reads it, and systemd in an EnvironmentFile.
std::string quoted_value(std::string_view value);

/// All that is to be printed, with the end of the last line. `name`: as the user knows it.
std::string shown(const receipt& given, std::string_view name, duration lease,
                  receipt_format format);

}  // namespace crosslock::cli
