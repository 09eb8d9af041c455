// RUN: not glow-opt %s --demote-products-to-bf16="lanes=3" 2>&1 | filecheck %s

func.func @f() {
  func.return
}

// CHECK: expected an even number of lanes, found 3
