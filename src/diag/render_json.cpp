// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "diag/render.h"

namespace tw::diag {
namespace {

json::Value span_json(Span span, const SourceManager& sources) {
  if (!sources.has(span.file)) {
    return nullptr;
  }
  Position begin = sources.position(span.file, span.begin);
  Position end = sources.position(span.file, std::max(span.begin, span.end));
  return json::Object{
      {"file", sources.name(span.file)}, {"begin", span.begin},  {"end", span.end},         {"line", begin.line},
      {"column", begin.column},          {"end_line", end.line}, {"end_column", end.column}};
}

json::Value optional_span_json(const std::optional<Span>& span, const SourceManager& sources) {
  return span ? span_json(*span, sources) : json::Value();
}

json::Array texts_json(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) {
    array.push_back(text);
  }
  return array;
}

json::Value evidence_json(const Evidence& evidence) {
  json::Value value(json::Object{{"verdict", evidence.verdict},
                                 {"obligation", evidence.obligation},
                                 {"facts", texts_json(evidence.facts)},
                                 {"assumptions", texts_json(evidence.assumptions)},
                                 {"replay", evidence.replay_command}});
  if (!evidence.counterexample_json.empty()) {
    // Kept as text when it is damaged: a reader sees what there was.
    Result<json::Value> counterexample = json::parse(evidence.counterexample_json);
    value.set("counterexample", counterexample ? *counterexample : json::Value(evidence.counterexample_json));
  }
  return value;
}

json::Value fixit_json(const FixIt& fixit, const SourceManager& sources) {
  json::Array edits;
  for (const Edit& edit : fixit.edits) {
    edits.push_back(json::Object{{"span", span_json(edit.span, sources)}, {"replacement", edit.replacement}});
  }
  return json::Object{
      {"title", fixit.title}, {"applicability", applicability_name(fixit.applicability)}, {"edits", std::move(edits)}};
}

}  // namespace

json::Value to_json(const Diagnostic& diagnostic, const SourceManager& sources) {
  json::Array arguments;
  for (const Argument& argument : diagnostic.arguments) {
    arguments.push_back(std::visit([](const auto& value) { return json::Value(value); }, argument));
  }
  json::Array labels;
  for (const Label& label : diagnostic.labels) {
    labels.push_back(json::Object{{"span", span_json(label.span, sources)},
                                  {"primary", label.is_primary || label.span == diagnostic.primary},
                                  {"text", label.text}});
  }
  json::Array notes;
  for (const Note& note : diagnostic.notes) {
    notes.push_back(json::Object{{"text", note.text}, {"span", optional_span_json(note.span, sources)}});
  }
  json::Array contexts;
  for (const Context& context : diagnostic.contexts) {
    contexts.push_back(json::Object{{"text", context.text}, {"span", optional_span_json(context.span, sources)}});
  }
  json::Array fixits;
  for (const FixIt& fixit : diagnostic.fixits) {
    fixits.push_back(fixit_json(fixit, sources));
  }
  json::Value value(json::Object{{"schema", "tw.diagnostic/1"},
                                 {"code", code_text(*diagnostic.code)},
                                 {"name", diagnostic.code->name},
                                 {"area", diagnostic.code->area},
                                 {"severity", severity_name(diagnostic.severity)},
                                 {"message", diagnostic.message()},
                                 {"arguments", std::move(arguments)},
                                 {"primary", span_json(diagnostic.primary, sources)},
                                 {"labels", std::move(labels)},
                                 {"notes", std::move(notes)},
                                 {"contexts", std::move(contexts)},
                                 {"fixits", std::move(fixits)}});
  if (diagnostic.evidence) {
    value.set("evidence", evidence_json(*diagnostic.evidence));
  }
  value.set("fingerprint", to_hex(diagnostic.fingerprint(sources)));
  value.set("rendered", render_terminal(std::span(&diagnostic, 1), sources, {}));
  return value;
}

std::string render_json(std::span<const Diagnostic> diagnostics, const SourceManager& sources) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    out += json::write(to_json(diagnostic, sources));
    out += '\n';
  }
  return out;
}

}  // namespace tw::diag
