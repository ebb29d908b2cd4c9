// The table and the JSON lines.
#include "benchmarks/report.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>

namespace crosslock::bench {
namespace {

std::string format(const char* pattern, double value) {
  char text[32];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string cell(std::optional<double> value, const char* pattern) {
  return value ? format(pattern, *value) : std::string{};
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Small ones need more digits to say anything.
std::string text_of(const spread& ratio) {
  const char* const pattern = ratio.median < 0.01 ? "%.4f" : "%.2f";
  return format(pattern, ratio.median) + " (" + format(pattern, ratio.min) + ".." +
         format(pattern, ratio.max) + ")";
}

std::string ratio_cell(const summary& row) {
  return row.ratio && row.subject != "floor" ? text_of(*row.ratio) : std::string{};
}

/// What only few workloads have.
std::string extras(const summary& row) {
  std::string text;
  for (const comparison& one : row.comparisons) {
    text += "  " + text_of(one.ratio) + " of " + std::string{one.with};
  }
  if (row.relation) text += "  " + text_of(*row.relation) + " of " + std::string{row.relative};
  if (row.cpu_us_per_op) text += "  " + format("%.2f", *row.cpu_us_per_op) + " us CPU each";
  if (row.round_trips_per_op) text += "  " + format("%.3f", *row.round_trips_per_op) + " trips";
  if (row.notices_per_op) text += "  " + format("%.2f", *row.notices_per_op) + " notices";
  if (row.allocations_per_op) text += "  " + format("%.2f", *row.allocations_per_op) + " mallocs";
  if (row.bytes) text += "  " + format("%.0f", *row.bytes) + " bytes each";
  if (row.system_calls) text += *row.system_calls ? "  makes system calls" : "  no system call";
  return text;
}

class table final : public report {
 public:
  explicit table(std::ostream& out) : out_{out} {}

  void remark(std::string_view text) override { out_ << text << '\n'; }

  void begin(std::string_view engine) override {
    out_ << '\n' << engine << '\n';
    line("workload", "subject",
         {"ops/s", "ratio to the floor", "p50 us", "p99 us", "req/op", "max/min"});
  }

  void add(std::span<const summary> rows, const workload& workload,
           std::string_view note) override {
    for (const summary& row : rows) {
      line(std::string{row.workload}, std::string{row.subject},
           {cell(row.rate, "%.0f"), ratio_cell(row), cell(row.p50_us, "%.1f"),
            cell(row.p99_us, "%.1f"), cell(row.requests_per_op, "%.3f"),
            cell(row.share_max_min, "%.2f")},
           extras(row));
    }
    out_ << "    one operation: " << workload.what;
    if (!note.empty()) out_ << "; " << note;
    out_ << std::endl;  // seen at once, also through a pipe
  }

 private:
  void line(std::string workload, std::string subject, const std::vector<std::string>& cells,
            const std::string& rest = {}) {
    constexpr std::size_t widths[] = {12, 25, 9, 10, 8, 8};
    workload.resize(21, ' ');
    subject.resize(13, ' ');
    out_ << workload << subject;
    for (std::size_t i = 0; i < cells.size(); ++i) out_ << padded(cells[i], widths[i]);
    out_ << rest << '\n';
  }

  std::ostream& out_;
};

class json_lines final : public report {
 public:
  json_lines(std::ostream& out, std::ostream& remarks) : out_{out}, remarks_{remarks} {}

  void remark(std::string_view text) override { remarks_ << text << '\n'; }
  void begin(std::string_view) override {}

  void add(std::span<const summary> rows, const workload&, std::string_view note) override {
    for (const summary& row : rows) {
      nlohmann::ordered_json line{
          {"engine", row.engine}, {"workload", row.workload}, {"subject", row.subject}};
      line["rate"] = number(row.rate);
      line["ratio"] = row.ratio ? number(row.ratio->median) : nullptr;
      if (row.ratio) line["ratio_min"] = number(row.ratio->min);
      if (row.ratio) line["ratio_max"] = number(row.ratio->max);
      if (row.relation) {
        line["relative"] = row.relative;
        line["relation"] = number(row.relation->median);
        line["relation_min"] = number(row.relation->min);
        line["relation_max"] = number(row.relation->max);
      }
      for (const comparison& one : row.comparisons) {
        line["compared"][std::string{one.with}] = number(one.ratio.median);
      }
      add_if(line, "p50_us", row.p50_us);
      add_if(line, "p99_us", row.p99_us);
      add_if(line, "requests_per_op", row.requests_per_op);
      add_if(line, "round_trips_per_op", row.round_trips_per_op);
      add_if(line, "notices_per_op", row.notices_per_op);
      add_if(line, "share_max_min", row.share_max_min);
      add_if(line, "cpu_us_per_op", row.cpu_us_per_op);
      add_if(line, "allocations_per_op", row.allocations_per_op);
      add_if(line, "bytes", row.bytes);
      if (row.system_calls) line["system_calls"] = *row.system_calls;
      if (!note.empty()) line["note"] = note;
      out_ << line.dump() << std::endl;
    }
  }

 private:
  using json = nlohmann::ordered_json;

  /// JSON knows no infinity.
  static json number(std::optional<double> value) {
    return value && std::isfinite(*value) ? json(*value) : json(nullptr);
  }
  static void add_if(json& line, const char* key, std::optional<double> value) {
    if (value) line[key] = number(value);
  }

  std::ostream& out_;
  std::ostream& remarks_;
};

}  // namespace

std::unique_ptr<report> make_table(std::ostream& out) { return std::make_unique<table>(out); }

std::unique_ptr<report> make_json_lines(std::ostream& out, std::ostream& remarks) {
  return std::make_unique<json_lines>(out, remarks);
}

}  // namespace crosslock::bench
