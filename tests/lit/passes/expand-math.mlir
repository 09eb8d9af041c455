// RUN: glow-opt %s --expand-math --split-input-file | filecheck %s
// RUN: glow-opt %s --expand-math --split-input-file | glow-opt --split-input-file | filecheck %s

// A function of f32 becomes a call of a function of arithmetic, which LLVM inlines. All calls with the
// same type have the same one.
func.func @exp_in_a_loop(%m: memref<64xf32>) {
  %zero = arith.constant 0 : index
  %step = arith.constant 16 : index
  %end = arith.constant 64 : index
  scf.for %i = %zero to %end step %step {
    %x = vector.load %m[%i] : memref<64xf32>, vector<16xf32>
    %y = math.exp %x : vector<16xf32>
    %z = math.exp %y : vector<16xf32>
    vector.store %z, %m[%i] : memref<64xf32>, vector<16xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @exp_in_a_loop
// CHECK: %y = func.call @glow_exp_x16(%x) : (vector<16xf32>) -> vector<16xf32>
// CHECK-NEXT: %z = func.call @glow_exp_x16(%y) : (vector<16xf32>) -> vector<16xf32>
// CHECK: func.func private @glow_exp_x16(%x: vector<16xf32>) -> vector<16xf32> attributes {llvm.linkage = #llvm.linkage<"internal">, passthrough = ["alwaysinline"]} {
// CHECK-NEXT: arith.constant dense<{{.*}}> : vector<16xf32>
// CHECK: glow_vec.select
// CHECK: vector.fma
// CHECK: vector.bitcast {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK-NOT: func.func

// -----

// Scalars too.
func.func @scalars(%x: f32, %y: f32) -> (f32, f32, f32, f32) {
  %a = math.log %x : f32
  %b = math.tanh %x : f32
  %c = math.erf %x : f32
  %d = math.powf %x, %y : f32
  func.return %a, %b, %c, %d : f32, f32, f32, f32
}
// CHECK-LABEL: func.func @scalars
// CHECK-NEXT: func.call @glow_log(%x)
// CHECK-NEXT: func.call @glow_tanh(%x)
// CHECK-NEXT: func.call @glow_erf(%x)
// CHECK-NEXT: func.call @glow_powf(%x, %y)
// CHECK: func.func private @glow_log
// CHECK-NOT: math.{{log|tanh|erf|powf}}
// CHECK: func.func private @glow_powf(%x: f32, %y: f32) -> f32
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: func.return

// -----

// Large arguments of sin and cos go to the C library, in f64.
func.func @sin(%x: f32) -> f32 {
  %y = math.sin %x : f32
  func.return %y : f32
}
// CHECK-LABEL: func.func private @glow_sin(
// CHECK: %[[inside:.*]] = arith.cmpf ole
// CHECK: scf.if %[[inside]] -> (f32) {
// CHECK-NOT: math.sin
// CHECK: } else {
// CHECK: math.sin %{{.*}} : f64
// CHECK: }

// -----

func.func @cos_of_vectors(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.cos %x : vector<8xf32>
  func.return %y : vector<8xf32>
}
// CHECK-LABEL: func.func private @glow_cos_x8
// CHECK: vector.reduction <maximumf>
// CHECK: scf.if {{.*}} -> (vector<8xf32>) {
// CHECK: } else {
// CHECK: memref.alloca() : memref<8xf32>
// CHECK: scf.for
// CHECK: math.cos %{{.*}} : f64

// -----

// f64, 16-bit floats, vectors of two dimensions or one lane, and functions that are one instruction
// stay.
func.func @stays(%a: f64, %b: f16, %c: vector<2x4xf32>, %d: f32, %e: vector<1xf32>)
    -> (f64, f16, vector<2x4xf32>, f32, f32, vector<1xf32>) {
  %0 = math.exp %a : f64
  %1 = math.exp %b : f16
  %2 = math.exp %c : vector<2x4xf32>
  %3 = math.sqrt %d : f32
  %4 = math.floor %d : f32
  %5 = math.exp %e : vector<1xf32>
  func.return %0, %1, %2, %3, %4, %5 : f64, f16, vector<2x4xf32>, f32, f32, vector<1xf32>
}
// CHECK-LABEL: func.func @stays
// CHECK-NEXT: math.exp %a : f64
// CHECK-NEXT: math.exp %b : f16
// CHECK-NEXT: math.exp %c : vector<2x4xf32>
// CHECK-NEXT: math.sqrt %d : f32
// CHECK-NEXT: math.floor %d : f32
// CHECK-NEXT: math.exp %e : vector<1xf32>
// CHECK-NEXT: func.return

// -----

// Functions of a module share them; a module that has them already keeps them.
func.func @first(%x: f32) -> f32 {
  %y = math.exp %x : f32
  func.return %y : f32
}
func.func @second(%x: f32, %v: vector<4xf32>) -> (f32, vector<4xf32>) {
  %y = math.exp %x : f32
  %z = math.exp %v : vector<4xf32>
  func.return %y, %z : f32, vector<4xf32>
}
func.func private @glow_exp_x4(%x: vector<4xf32>) -> vector<4xf32>
// CHECK-LABEL: func.func @first
// CHECK-NEXT: func.call @glow_exp(%x)
// CHECK-LABEL: func.func @second
// CHECK-NEXT: func.call @glow_exp(%x)
// CHECK-NEXT: func.call @glow_exp_x4(%v)
// CHECK: func.func private @glow_exp_x4
// CHECK: func.func private @glow_exp(
// CHECK-NOT: func.func

// -----

// The sum of one and an error function is a function of its own, a quotient of polynomials, if
// nothing else uses the error function.
func.func @one_plus_erf(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %e = math.erf %x : vector<8xf32>
  %r = arith.addf %one, %e : vector<8xf32>
  func.return %r : vector<8xf32>
}
// CHECK-LABEL: func.func @one_plus_erf
// CHECK: %e = func.call @glow_one_plus_erf_x8(%x)
// CHECK-NEXT: func.return %e
// CHECK-LABEL: func.func private @glow_one_plus_erf_x8
// CHECK: arith.divf
// CHECK-NOT: arith.shli
// CHECK: func.return

// -----

func.func @erf_of_another_sum(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %a = math.erf %x : f32
  %b = arith.addf %a, %two : f32
  %c = math.erf %b : f32
  %d = arith.addf %c, %one : f32
  %e = arith.mulf %c, %d : f32
  func.return %b, %e : f32, f32
}
// CHECK-LABEL: func.func @erf_of_another_sum
// CHECK-NOT: glow_one_plus_erf
// CHECK: func.return

// -----

// So is the sum of one and an exponential: its power of two takes one shift.
func.func @one_plus_exp(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %e = math.exp %x : vector<8xf32>
  %r = arith.addf %e, %one : vector<8xf32>
  func.return %r : vector<8xf32>
}
// CHECK-LABEL: func.func @one_plus_exp
// CHECK: %e = func.call @glow_one_plus_exp_x8(%x)
// CHECK-LABEL: func.func private @glow_one_plus_exp_x8
// CHECK: arith.shli
// CHECK-NOT: arith.shli
// CHECK-NOT: arith.shrsi
// CHECK: func.return

// -----

// An exponential of numbers between bounds needs no care for overflow: a shift and a sum make the
// power of two.
func.func @exp_between_bounds(%x: vector<8xf32>) -> vector<8xf32> {
  %least = arith.constant dense<-88.0> : vector<8xf32>
  %most = arith.constant dense<0.0> : vector<8xf32>
  %above = arith.maximumf %x, %least : vector<8xf32>
  %between = arith.minimumf %above, %most : vector<8xf32>
  %y = math.exp %between : vector<8xf32>
  func.return %y : vector<8xf32>
}
// CHECK-LABEL: func.func @exp_between_bounds
// CHECK: func.call @glow_moderate_exp_x8(%between)
// CHECK-LABEL: func.func private @glow_moderate_exp_x8
// CHECK-NOT: glow_vec.select
// CHECK-NOT: arith.shrsi
// CHECK: arith.shli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: vector.bitcast
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: func.return

// -----

// One bound does not suffice: the power may overflow.
func.func @exp_above_a_bound(%x: vector<8xf32>) -> vector<8xf32> {
  %least = arith.constant dense<-64.0> : vector<8xf32>
  %above = arith.maximumf %x, %least : vector<8xf32>
  %y = math.exp %above : vector<8xf32>
  func.return %y : vector<8xf32>
}
// CHECK-LABEL: func.func @exp_above_a_bound
// CHECK: func.call @glow_exp_x8(%above)
// CHECK: glow_vec.select
// CHECK: arith.shrsi
