// RUN: glow-opt %s --verify-partitions --split-input-file --verify-diagnostics | filecheck %s

// A network written by hand, of which only devices and backends are known.
func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y, %x : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @first(
// CHECK:       @main(

// -----

// CHECK: expected a function @main of one block
func.func private @main(tensor<3xf32>) -> tensor<3xf32>

// -----

// CHECK: glow.neg %y: expected @main to consist of calls of partitions
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// CHECK: func.call %z: expected a call of each partition, found another of @first
func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = func.call @first(%y) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %z : tensor<3xf32>
}

// -----

// CHECK: expected every function to be called by @main
func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  func.return %x : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}

// -----

// CHECK: func.func: expected glow.device to be a name, found None
func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// CHECK: expected a partition to be private
func.func @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// CHECK: func.call %y: expected a graph of nodes, which alone can be split over devices
func.func private @inner(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
  %y = func.call @inner(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = func.call @inner(%y) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %z : tensor<3xf32>
}

// -----

// CHECK: is on b, but the devices are a
builtin.module attributes {glow.devices = [{name = "a", backend = "interpreter"}]} {
  func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "b", glow.backend = "interpreter"} {
    %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
}

// -----

// CHECK: is for the backend cpu, but a has the backend interpreter
builtin.module attributes {glow.devices = [{name = "a", backend = "interpreter"}]} {
  func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "cpu"} {
    %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
}

// -----

// CHECK: states 0 bytes of weights and 20 of activations, but has 0 and 24
builtin.module attributes {glow.devices = [{name = "a", backend = "interpreter"}]} {
  func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "interpreter", glow.activation_bytes = 20 : i64} {
    %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
}

// -----

// CHECK: the partitions on a need 24 bytes, but it has 23
builtin.module attributes {glow.devices = [{name = "a", backend = "interpreter", memory = 23 : i64}]} {
  func.func private @first(%x: tensor<3xf32>) -> tensor<3xf32> attributes {glow.device = "a", glow.backend = "interpreter", glow.activation_bytes = 24 : i64} {
    %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = func.call @first(%x) : (tensor<3xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
}
