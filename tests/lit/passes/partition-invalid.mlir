// RUN: glow-opt %s --partition="devices=interpreter memory=20" --split-input-file --verify-diagnostics | filecheck %s

// CHECK: glow.neg %y: found no partitions that fit into the memory of the devices, in bytes: interpreter0 has 20;
// CHECK-SAME: this node needs 24 with what it reads and makes, more than any other, and all constants together 0
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = glow.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

// CHECK: glow.neg %y: there is no device 'vta0'; there are interpreter0
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.neg %x {glow.device = "vta0"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// CHECK: glow.neg %y: expected glow.device to be the name of a device, found 3 : i64
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.neg %x {glow.device = 3 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// CHECK: is split already; glow-inline-partitions undoes that
func.func private @first(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @first(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// CHECK: test.op: expected a graph of nodes, which alone can be split over devices
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  "test.op"(%y) : (tensor<2xf32>) -> ()
  func.return %y : tensor<2xf32>
}
