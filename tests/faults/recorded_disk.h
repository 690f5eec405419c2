// A disk in memory that follows recorded file calls (REGARD_FAULT_RECORD, fault_shim.c). It can be rebuilt as
// a power loss may leave it:
// - Data of a file that was synced is present. Other data is absent, zero, torn or present.
// - Names that were created, renamed, exchanged or removed after the last sync of their folder are in the old
//   or the new state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "support/namespaces.h"
#include "support/program.h"

namespace regard::testing {

struct RecordedCall {
  std::vector<std::string> words;
  std::string bytes;  // the data of a write
};

inline std::vector<RecordedCall> recorded_calls(const std::string& record) {
  std::vector<RecordedCall> calls;
  for (std::size_t at = 0; at < record.size();) {
    const std::size_t end = record.find('\n', at);
    std::istringstream line(record.substr(at, end - at));
    RecordedCall call;
    for (std::string word; line >> word;) call.words.push_back(word);
    at = end + 1;
    if (call.words.at(0) == "write") {
      call.bytes = record.substr(at, std::stoul(call.words.at(3)));
      at += call.bytes.size();
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

class RecordedDisk {
 public:
  enum class Data { absent, zero, torn, whole };
  struct Loss {
    std::function<bool(std::size_t)> keeps;  // true if the n-th unsynced change of names is kept
    // returns the state of a file whose data was not synced, given its name
    std::function<Data(const std::string&)> data;
  };

  // Start with the content of `root`, synced.
  explicit RecordedDisk(std::filesystem::path root) : root_(std::move(root)) {
    nodes_.push_back({.kind = Kind::folder});
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const bool folder = entry.is_directory();
      add(entry.path(),
          {.kind = folder ? Kind::folder : Kind::file, .data = folder ? "" : file_content(entry.path())});
      nodes_.back().safe_data = nodes_.back().data;
    }
    sync_all();
  }

  void apply(const RecordedCall& call) {
    const std::string& name = call.words.at(0);
    const std::filesystem::path path = call.words.at(1);
    const auto word = [&](std::size_t index) { return call.words.at(index); };
    if (name == "create") add(path, {.kind = Kind::file});
    if (name == "mkdir") add(path, {.kind = Kind::folder});
    if (name == "symlink") add(path, {.kind = Kind::link, .data = word(2)});
    if (name == "write") {
      std::string& data = node_at(path).data;
      const std::size_t offset = std::stoul(word(2));
      data.resize(std::max(data.size(), offset + call.bytes.size()));
      data.replace(offset, call.bytes.size(), call.bytes);
    }
    if (name == "resize") node_at(path).data.resize(std::stoul(word(2)));
    if (name == "sync") sync(find(path));
    if (name == "remove") change({{parent(path), path.filename(), kNone}});
    if (name == "rename" || name == "exchange") {
      const std::filesystem::path to = word(2);
      const int moved = find(path), other = name == "exchange" ? find(to) : kNone;
      change({{parent(path), path.filename(), other}, {parent(to), to.filename(), moved}});
    }
  }

  std::size_t unsynced_changes() const { return pending_.size(); }

  // Write the disk as it is after the loss to `folder`, which must not exist; if `folder` is empty, nothing
  // is written. Return a description of all names and data.
  std::string rebuild(const std::filesystem::path& folder, const Loss& loss) const {
    std::vector<std::map<std::string, int>> names;
    for (const Node& node : nodes_) names.push_back(node.safe_names);
    // A change can be kept only if all earlier changes of the same name or file are kept.
    std::set<std::pair<int, std::string>> lost_names;
    std::set<int> lost_nodes;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const bool possible = std::none_of(pending_[i].begin(), pending_[i].end(), [&](const Entry& entry) {
        return lost_names.contains({entry.folder, entry.name}) || lost_nodes.contains(entry.node);
      });
      for (const Entry& entry : pending_[i]) {
        if (possible && loss.keeps(i)) {
          set(names[static_cast<std::size_t>(entry.folder)], entry);
        } else {
          lost_names.insert({entry.folder, entry.name});
          if (entry.node != kNone) lost_nodes.insert(entry.node);
        }
      }
    }
    std::string description;
    write(folder, 0, names, loss, description);
    return description;
  }

 private:
  static constexpr int kNone = -1;
  enum class Kind { file, folder, link };
  struct Node {
    Kind kind;
    // data: content of a file, or target of a symbolic link. safe_data: value of `data` at the last sync.
    std::string data = "", safe_data = "";
    std::map<std::string, int> names = {}, safe_names = {};
  };
  struct Entry {
    int folder;
    std::string name;
    int node;  // kNone: the name is removed
  };
  using Change = std::vector<Entry>;

  static void set(std::map<std::string, int>& names, const Entry& entry) {
    if (entry.node == kNone)
      names.erase(entry.name);
    else
      names[entry.name] = entry.node;
  }
  int find(const std::filesystem::path& path) const {
    int at = 0;
    for (const auto& part : path.lexically_normal().lexically_relative(root_)) {
      if (part == ".") continue;
      const auto& names = nodes_[static_cast<std::size_t>(at)].names;
      const auto found = names.find(part.string());
      if (found == names.end()) return kNone;
      at = found->second;
    }
    return at;
  }
  int parent(const std::filesystem::path& path) const { return find(path.parent_path()); }
  Node& node_at(const std::filesystem::path& path) {
    const int at = find(path);
    EXPECT_NE(at, kNone) << path;
    return nodes_.at(static_cast<std::size_t>(at));
  }
  void add(const std::filesystem::path& path, Node node) {
    const int folder = parent(path);
    nodes_.push_back(std::move(node));
    change({{folder, path.filename(), static_cast<int>(nodes_.size()) - 1}});
  }
  void change(Change all) {
    for (const Entry& entry : all) set(nodes_.at(static_cast<std::size_t>(entry.folder)).names, entry);
    pending_.push_back(std::move(all));
  }
  void sync(int at) {
    if (at == kNone) return;  // the file has no name any more
    Node& node = nodes_[static_cast<std::size_t>(at)];
    if (node.kind == Kind::file) node.safe_data = node.data;
    if (node.kind != Kind::folder) return;
    std::erase_if(pending_, [&](const Change& change) {
      const bool here =
          std::any_of(change.begin(), change.end(), [&](const Entry& e) { return e.folder == at; });
      for (const Entry& entry : change)
        if (here) set(nodes_[static_cast<std::size_t>(entry.folder)].safe_names, entry);
      return here;
    });
  }
  void sync_all() {
    for (Node& node : nodes_) node.safe_names = node.names;
    pending_.clear();
  }
  static std::string content(const Node& node, Data data) {
    if (node.data == node.safe_data || data == Data::whole) return node.data;
    if (data == Data::absent) return node.safe_data;
    const std::size_t safe = node.data.starts_with(node.safe_data) ? node.safe_data.size() : 0;
    if (data == Data::torn) return node.data.substr(0, (safe + node.data.size()) / 2);
    return node.data.substr(0, safe) + std::string(node.data.size() - safe, '\0');
  }
  void write(const std::filesystem::path& to, int at, const std::vector<std::map<std::string, int>>& names,
             const Loss& loss, std::string& description) const {
    if (!to.empty()) std::filesystem::create_directory(to);
    for (const auto& [name, child] : names[static_cast<std::size_t>(at)]) {
      const Node& node = nodes_[static_cast<std::size_t>(child)];
      const std::filesystem::path path = to.empty() ? to : to / name;
      description += name + (node.kind == Kind::folder ? "(" : ":");
      if (node.kind == Kind::folder) {
        write(path, child, names, loss, description);
        description += ")";
      } else {
        const std::string data = node.kind == Kind::link ? node.data : content(node, loss.data(name));
        description +=
            std::to_string(data.size()) + "," + std::to_string(std::hash<std::string>()(data)) + ";";
        if (to.empty()) continue;
        if (node.kind == Kind::link)
          std::filesystem::create_symlink(data, path);
        else
          write_file(to, name, data);
      }
    }
  }

  std::filesystem::path root_;
  std::vector<Node> nodes_;  // nodes_[0] is the root
  std::vector<Change> pending_;
};

}  // namespace regard::testing
