#include "data/delimited.h"

#include <string_view>

namespace regard::data {

// Append an empty field to the record and return it. Strings that `fields` already contains are reused, to
// avoid allocations.
std::string& FieldReader::field(std::vector<std::string>& fields) {
  if (count_ == fields.size()) fields.emplace_back();
  std::string& next = fields[count_++];
  next.clear();
  return next;
}

bool FieldReader::next(std::vector<std::string>& fields) {
  if (!reader_.next(text_)) return false;
  line_ = reader_.line_number();
  valid_ = reader_.valid();
  blank_ = text_.empty();
  malformed_field_ = 0;
  count_ = 0;
  if (form_.quotes)
    split_quoted(fields);
  else
    split(fields);
  fields.resize(count_);
  return true;
}

void FieldReader::split(std::vector<std::string>& fields) {
  for (std::size_t begin = 0;;) {
    const std::size_t end = text_.find(form_.delimiter, begin);
    field(fields).assign(text_, begin, end == std::string::npos ? end : end - begin);
    if (end == std::string::npos) return;
    begin = end + 1;
  }
}

void FieldReader::split_quoted(std::vector<std::string>& fields) {
  for (std::size_t begin = 0;;) {
    std::string& text = field(fields);
    if (begin < text_.size() && text_[begin] == '"') {
      begin = read_quoted(begin + 1, text);
      if (begin < text_.size() && text_[begin] != form_.delimiter && malformed_field_ == 0)
        malformed_field_ = count_;
    }
    const std::size_t end = text_.find(form_.delimiter, begin);
    text.append(text_, begin, end == std::string::npos ? end : end - begin);
    if (end == std::string::npos) return;
    begin = end + 1;
  }
}

// Read a quoted field; `begin` is the position after its opening quotation mark. Returns the position after
// its closing quotation mark.
std::size_t FieldReader::read_quoted(std::size_t begin, std::string& field) {
  while (true) {
    const std::size_t mark = text_.find('"', begin);
    if (mark == std::string::npos) {
      field.append(text_, begin);
      next_line_of_field(field);
      begin = 0;
      continue;
    }
    field.append(text_, begin, mark - begin);
    if (mark + 1 == text_.size() || text_[mark + 1] != '"') return mark + 1;
    field += '"';
    begin = mark + 2;
  }
}

void FieldReader::next_line_of_field(std::string& field) {
  const std::int64_t begun = reader_.line_number();
  field += reader_.line_end();
  if (field.size() <= LineReader::kMaxLine && reader_.next(text_)) {
    valid_ = valid_ && reader_.valid();
    return;
  }
  throw Error(ErrorKind::bad_file, "a quoted field is not closed", {reader_.name(), line_, -1})
      .found("field " + std::to_string(count_) + ", still open on line " + std::to_string(begun))
      .expected("a closing quotation mark")
      .remedy("Add the closing quotation mark. Write each quotation mark inside the field twice");
}

}  // namespace regard::data
