// RUN: not glow-opt %s --generate-loops 2>&1 | filecheck %s

// Another attribute of that name is no machine.
// CHECK: expected #glow.machine<...> as glow.machine of a module, found "haswell"

builtin.module attributes {glow.machine = "haswell"} {
  func.func @main() {
    func.return
  }
}
