#include "text/jinja/render.h"

#include <algorithm>

#include "base/counted.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/builtins.h"
#include "text/jinja/syntax.h"
#include "text/jinja/work.h"

namespace regard::text::jinja {
namespace {

using Kind = Expression::Kind;

// Limits for templates, which are untrusted code. The limits are far above the requirements of chat
// templates.
constexpr std::size_t kStep = 64;  // cost of one evaluation, in the unit of WorkLimit
constexpr std::size_t kLongestSource = std::size_t{1} << 20;  // maximum size of a template, in bytes
constexpr std::size_t kLongestText = std::size_t{1} << 26;
constexpr int kCalls = 32;      // nesting limit of macro calls
constexpr int kDeepest = 1000;  // nesting limit of evaluations, which bounds the size of the stack

enum class Flow { on, skip, leave };

class Renderer {
 public:
  Renderer(std::string name, Dict globals) : name_(std::move(name)) { scopes_.push_back(std::move(globals)); }

  std::string run(const Body& body) {
    std::string out;
    execute(body, out);
    return out;
  }

 private:
  // Evaluation of expressions.

  // Counts the nesting depth of evaluation.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) {
      if (++depth_ > kDeepest)
        throw Error(ErrorKind::bad_file, "chat template: an expression is nested too deeply")
            .expected("at most " + std::to_string(kDeepest) + " levels");
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  // Return work(). If it throws an error without a file and line, add the template's name and `line` to the
  // error.
  template <class Work>
  auto placed(std::int64_t line, const Work& work) {
    try {
      return work();
    } catch (Error& error) {
      if (error.place().file.empty()) error.at({name_, line, -1});
      throw;
    }
  }

  Value evaluate(const Expression& node) {
    charge(kStep);
    const Level level(depth_);
    return placed(node.line, [&] { return evaluate_here(node); });
  }

  Value evaluate_here(const Expression& node) {
    switch (node.kind) {
      case Kind::literal:
        return node.value;
      case Kind::name:
        return look_up(node.text);
      case Kind::list:
        return evaluate_all(node, 0).positional;
      case Kind::dict:
        return evaluate_dict(node);
      case Kind::member:
        return item_of(part(node, 0), Value(node.text));
      case Kind::item:
        return item_of(part(node, 0), part(node, 1));
      case Kind::slice:
        return slice_of(part(node, 0), part(node, 1), part(node, 2), part(node, 3));
      case Kind::call:
        return call(node);
      case Kind::filter:
        return apply_filter(node.text, part(node, 0), evaluate_all(node, 1));
      case Kind::test:
        return apply_test(node.text, part(node, 0), evaluate_all(node, 1));
      case Kind::negated:
        return !part(node, 0).truth();
      case Kind::minus:
        return arithmetic("*", std::int64_t{-1}, part(node, 0));
      case Kind::sign:
        return evaluate_sign(node);
      case Kind::comparison:
        return evaluate_comparison(node);
      case Kind::conditional:
        return part(node, 1).truth() ? part(node, 0) : part(node, 2);
    }
    return {};
  }

  // Evaluate an optional operand. The result is undefined if the operand is omitted.
  Value part(const Expression& node, std::size_t index) {
    return node.parts[index] == nullptr ? Value() : evaluate(*node.parts[index]);
  }

  Arguments evaluate_all(const Expression& node, std::size_t from) {
    Arguments arguments;
    for (std::size_t i = from; i < node.parts.size(); ++i) arguments.positional.push_back(part(node, i));
    for (const auto& [name, value] : node.named) arguments.named.emplace_back(name, evaluate(*value));
    return arguments;
  }

  Value evaluate_dict(const Expression& node) {
    Dict dict;
    for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) {
      const Value key = part(node, i);
      if (key.text() == nullptr)
        throw Error(ErrorKind::bad_file, "chat template: a key of a mapping is not a string")
            .found(key.type())
            .expected("a string");
      set(dict, *key.text(), part(node, i + 1));
    }
    return dict;
  }

  Value evaluate_sign(const Expression& node) {
    Value left = part(node, 0);
    if (node.text == "or") return left.truth() ? left : part(node, 1);
    if (node.text == "and") return left.truth() ? part(node, 1) : left;
    return arithmetic(node.text, left, part(node, 1));
  }

  Value evaluate_comparison(const Expression& node) {
    Value left = part(node, 0);
    for (std::size_t i = 0; i < node.texts.size(); ++i) {
      Value right = part(node, i + 1);
      if (!compare(node.texts[i], left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

  Value call(const Expression& node) {
    const Expression& callee = *node.parts[0];
    if (callee.kind == Kind::member) {
      const Value subject = part(callee, 0);
      const bool method = subject.dict() == nullptr || is_dict_method(callee.text);
      if (method && !subject.undefined()) return call_method(subject, callee.text, evaluate_all(node, 1));
    }
    const Value function = evaluate(callee);
    if (function.function() == nullptr)
      throw Error(ErrorKind::bad_file, "chat template: the value is not callable")
          .found(function.undefined() ? "\"" + callee.text + "\"" : function.type())
          .expected("a macro or a function");
    return (*function.function())(evaluate_all(node, 1));
  }

  Value look_up(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const Value* found = find_in(*scope, name)) return *found;
    if (name == "raise_exception") return Function(refuse);
    if (name == "range") return Function(range);
    if (name == "dict") return Function([](const Arguments& a) { return Value(members_of(a)); });
    if (name == "namespace") return Function(make_namespace);
    return Value::Undefined{name};
  }

  static Value refuse(const Arguments& arguments) {
    const Value* message = arguments.find(0, "message");
    throw input_error("the chat template rejects the conversation: " +
                      (message != nullptr ? message->shown() : "raise_exception() without a reason"));
  }

  // Return the members that dict() or namespace() creates: those of its mapping argument, if given, and the
  // named arguments.
  static Dict members_of(const Arguments& arguments) {
    const List& given = arguments.positional;
    if (given.size() > 1 || (given.size() == 1 && given[0].dict() == nullptr))
      throw Error(ErrorKind::bad_file, "chat template: wrong argument of dict() or namespace()")
          .found(given.back().type())
          .expected("named arguments, and before them at most one mapping");
    if (given.empty()) return arguments.named;
    Dict members = *given[0].dict();
    for (const auto& [name, value] : arguments.named) set(members, name, value);
    return members;
  }

  static Value make_namespace(const Arguments& arguments) {
    Dict members = members_of(arguments);
    static_cast<void>(Value(members));  // throws if a value is a namespace
    return Namespace{std::move(members)};
  }

  // Execution of statements.

  Flow execute(const Body& body, std::string& out) {
    for (const auto& statement : body) {
      charge(kStep);
      const Level level(depth_);
      const Flow flow = placed(statement->line, [&] {
        const Flow next = execute_one(*statement, out);
        check_size(out.size());
        return next;
      });
      if (flow != Flow::on) return flow;
    }
    return Flow::on;
  }

  // Execute a body whose assignments are not visible after it.
  Flow execute_apart(const Body& body, std::string& out) {
    scopes_.emplace_back();
    const Flow flow = execute(body, out);
    scopes_.pop_back();
    return flow;
  }

  Flow execute_one(const Statement& statement, std::string& out) {
    switch (statement.kind) {
      case Statement::Kind::text:
        out += statement.text;
        return Flow::on;
      case Statement::Kind::output:
        out += evaluate(*statement.value).shown();
        return Flow::on;
      case Statement::Kind::assign:
        assign(statement, evaluate(*statement.value));
        return Flow::on;
      case Statement::Kind::assign_body: {
        std::string written;
        execute_apart(statement.body, written);
        assign(statement, Value(std::move(written)));
        return Flow::on;
      }
      case Statement::Kind::condition:
        return execute(evaluate(*statement.value).truth() ? statement.body : statement.otherwise, out);
      case Statement::Kind::loop:
        return loop(statement, out);
      case Statement::Kind::skip:
        return Flow::skip;
      case Statement::Kind::leave:
        return Flow::leave;
      case Statement::Kind::macro:
        set(scopes_.back(), statement.text,
            Function([this, &statement](const Arguments& given) { return call_macro(statement, given); }));
        return Flow::on;
      case Statement::Kind::group:
        return execute_apart(statement.body, out);
    }
    return Flow::on;
  }

  // Bind one name to the value, or several names to the value's items.
  static void bind(Dict& scope, const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) return set(scope, names[0], value);
    const List parts = value.items();
    if (parts.size() != names.size())
      throw Error(ErrorKind::bad_file, "chat template: wrong number of values to unpack")
          .found(counted(parts.size(), "value"))
          .expected(counted(names.size(), "value"));
    for (std::size_t i = 0; i < names.size(); ++i) set(scope, names[i], parts[i]);
  }

  void assign(const Statement& statement, const Value& value) {
    if (statement.text.empty()) return bind(scopes_.back(), statement.names, value);
    const Value space = look_up(statement.text);
    if (space.space() == nullptr || value.space() != nullptr)
      throw Error(ErrorKind::bad_file, "chat template: the attribute cannot be set")
          .found("an attribute of " + space.type())
          .expected("an attribute of a namespace, and a value that is not a namespace");
    set(space.space()->members, statement.names[0], value);
  }

  Flow loop(const Statement& statement, std::string& out) {
    List items = evaluate(*statement.value).items();
    if (statement.condition) {
      List kept;
      for (Value& item : items) {
        scopes_.emplace_back();
        bind(scopes_.back(), statement.names, item);
        const bool stays = evaluate(*statement.condition).truth();
        scopes_.pop_back();
        if (stays) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    if (items.empty()) return execute_apart(statement.otherwise, out);
    for (std::size_t i = 0; i < items.size(); ++i) {
      scopes_.emplace_back();
      set(scopes_.back(), "loop", loop_variable(items, i));
      bind(scopes_.back(), statement.names, items[i]);
      const Flow flow = execute(statement.body, out);
      scopes_.pop_back();
      if (flow == Flow::leave) break;
    }
    return Flow::on;
  }

  static Value loop_variable(const List& items, std::size_t i) {
    const auto index = static_cast<std::int64_t>(i), count = std::ssize(items);
    return Dict{{"index", Value(index + 1)},
                {"index0", Value(index)},
                {"revindex", Value(count - index)},
                {"revindex0", Value(count - index - 1)},
                {"first", Value(index == 0)},
                {"last", Value(index + 1 == count)},
                {"length", Value(count)},
                {"previtem", i > 0 ? items[i - 1] : Value()},
                {"nextitem", i + 1 < items.size() ? items[i + 1] : Value()}};
  }

  // A macro can read the template's top-level variables and its own arguments.
  Value call_macro(const Statement& macro, const Arguments& given) {
    if (++calls_ > kCalls)
      throw Error(ErrorKind::bad_file, "chat template: macro calls are nested too deeply")
          .expected("at most " + std::to_string(kCalls) + " nested calls");
    if (given.positional.size() > macro.names.size())
      throw Error(ErrorKind::bad_file,
                  "chat template: the macro \"" + macro.text + "\" is called with too many arguments")
          .found(counted(given.positional.size(), "argument"))
          .expected("at most " + counted(macro.names.size(), "argument"));
    for (const auto& [name, value] : given.named)
      if (const auto place = std::find(macro.names.begin(), macro.names.end(), name);
          place == macro.names.end() || std::size_t(place - macro.names.begin()) < given.positional.size())
        throw Error(ErrorKind::bad_file, "chat template: wrong argument of the macro \"" + macro.text + "\"")
            .found(name)
            .expected("a name of the macro's arguments that has no value yet");
    std::vector<Dict> outside(std::make_move_iterator(scopes_.begin() + 1),
                              std::make_move_iterator(scopes_.end()));
    scopes_.resize(1);
    scopes_.emplace_back();
    const std::size_t required = macro.names.size() - macro.defaults.size();
    for (std::size_t i = 0; i < macro.names.size(); ++i) {
      const Value* value = given.find(i, macro.names[i]);
      // A default value can contain the arguments before it.
      Value argument = value != nullptr ? *value
                       : i >= required  ? evaluate(*macro.defaults[i - required])
                                        : Value(Value::Undefined{macro.names[i]});
      scopes_.back().emplace_back(macro.names[i], std::move(argument));
    }
    std::string out;
    execute(macro.body, out);
    scopes_.resize(1);
    std::move(outside.begin(), outside.end(), std::back_inserter(scopes_));
    --calls_;
    return out;
  }

  static void check_size(std::size_t bytes) {
    if (bytes > kLongestText)
      throw Error(ErrorKind::bad_file, "chat template: the output is too long")
          .expected("at most " + std::to_string(kLongestText) + " bytes");
  }

  std::string name_;
  std::vector<Dict> scopes_;
  int depth_ = 0, calls_ = 0;
};

}  // namespace

std::string render(std::string_view source, const std::string& name, Dict variables, std::size_t work) {
  if (source.size() > kLongestSource)
    throw file_error(name, "the chat template is too long")
        .found(counted(source.size(), "byte"))
        .expected("at most " + std::to_string(kLongestSource) + " bytes");
  if (!utf8::valid(source)) throw file_error(name, "the chat template is not UTF-8");
  const WorkLimit limit(work);
  const Body body = parse(source, name);
  return Renderer(name, std::move(variables)).run(body);
}

}  // namespace regard::text::jinja
