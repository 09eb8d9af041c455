// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt %s --print-op-generic | glow-opt | filecheck %s
// RUN: glow-opt %s -t llvm-ir | filecheck %s --check-prefix=IR

// Upstream's syntax, word for word.
llvm.func @f(%p: !llvm.ptr {llvm.noalias, llvm.align = 16 : i64}, %q: !llvm.ptr {llvm.readonly},
             %a: vector<4xf32>, %m: vector<4xi1>, %i: i64, %n: vector<4xi64>, %x: f32, %k: i32,
             %h: vector<4xbf16>, %b: i8) {
  %c1 = llvm.mlir.constant(1) : i64
  %0 = llvm.extractelement %a[%i : i64] : vector<4xf32>
  %1 = llvm.fcmp "olt" %a, %a : vector<4xf32>
  %2 = llvm.fcmp "uno" %0, %x {fastmathFlags = #llvm.fastmath<nsz>} : f32
  %3 = llvm.icmp "slt" %n, %n : vector<4xi64>
  %4 = llvm.select %m, %a, %a : vector<4xi1>, vector<4xf32>
  %5 = llvm.select %2, %a, %a : i1, vector<4xf32>
  %6 = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
  %7 = llvm.getelementptr %p[%n] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
  %8 = llvm.intr.masked.gather %7, %m, %a {alignment = 4 : i64}
      : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  llvm.intr.masked.store %a, %p, %m {alignment = 4 : i64}
      : vector<4xf32>, vector<4xi1> into !llvm.ptr
  %10 = "llvm.intr.vector.reduce.fadd"(%x, %a) <{fastmathFlags = #llvm.fastmath<reassoc>}>
      : (f32, vector<4xf32>) -> f32
  %11 = llvm.intr.vector.reduce.fmaximum(%a) : (vector<4xf32>) -> f32
  %12 = llvm.intr.maximum(%a, %a) {fastmathFlags = #llvm.fastmath<nsz>}
      : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %13 = llvm.intr.smax(%i, %i) : (i64, i64) -> i64
  "llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
  %15 = llvm.uitofp %n : vector<4xi64> to vector<4xf32>
  %16 = llvm.fptosi %a : vector<4xf32> to vector<4xi32>
  %17 = llvm.fpext %h : vector<4xbf16> to vector<4xf32>
  %18 = llvm.add %i, %i overflow<nsw, nuw> : i64
  %19 = llvm.fadd %a, %17 {fastmathFlags = #llvm.fastmath<contract, reassoc>} : vector<4xf32>
  %20 = llvm.alloca %c1 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
  %23 = llvm.intr.exp(%x) : (f32) -> f32
  %24 = llvm.intr.exp(%a) : (vector<4xf32>) -> vector<4xf32>
  %25 = llvm.mlir.poison : vector<4xf32>
  %26 = llvm.shufflevector %a, %25 [3, -1, 0, 0, 1] : vector<4xf32>
  %27 = llvm.insertelement %x, %25[%c1 : i64] : vector<4xf32>
  %28 = llvm.call_intrinsic "llvm.sqrt.f32"(%x) {fastmathFlags = #llvm.fastmath<afn>}
      : (f32) -> f32
  %29 = llvm.or %i, %c1 : i64
  %30 = llvm.lshr %i, %c1 : i64
  %31 = llvm.zext %k : i32 to i64
  %34 = llvm.mlir.zero : !llvm.ptr
  %35 = llvm.freeze %a : vector<4xf32>
  llvm.store %34, %p {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @f
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.mlir.constant(1) : i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.extractelement %a[%i : i64] : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.fcmp "olt" %a, %a : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.fcmp "uno" {{%[0-9]+}}, %x {fastmathFlags = #llvm.fastmath<nsz>} : f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.icmp "slt" %n, %n : vector<4xi64>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.select %m, %a, %a : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.select {{%[0-9]+}}, %a, %a : i1, vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.getelementptr %p[%n] : (!llvm.ptr, vector<4xi64>) -> vector<4x!llvm.ptr>, f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.masked.gather {{%[0-9]+}}, %m, %a {alignment = 4 : i64} : (vector<4x!llvm.ptr>, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.masked.store %a, %p, %m {alignment = 4 : i64} : vector<4xf32>, vector<4xi1> into !llvm.ptr
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}"llvm.intr.vector.reduce.fadd"(%x, %a) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.vector.reduce.fmaximum(%a) : (vector<4xf32>) -> f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.maximum(%a, %a) {fastmathFlags = #llvm.fastmath<nsz>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.smax(%i, %i) : (i64, i64) -> i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}"llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.uitofp %n : vector<4xi64> to vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.fptosi %a : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.fpext %h : vector<4xbf16> to vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.add %i, %i overflow<nsw,nuw> : i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.fadd %a, {{%[0-9]+}} {fastmathFlags = #llvm.fastmath<reassoc,contract>} : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.alloca %c1 x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.exp(%x) : (f32) -> f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.intr.exp(%a) : (vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.mlir.poison : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.shufflevector %a, {{%[0-9]+}} [3, -1, 0, 0, 1] : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.insertelement %x, {{%[0-9]+}}[%c1 : i64] : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.call_intrinsic "llvm.sqrt.f32"(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.or %i, %c1 : i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.lshr %i, %c1 : i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.zext %k : i32 to i64
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.freeze %a : vector<4xf32>
// CHECK-NEXT: {{(%[0-9a-z]+ = )?}}llvm.store {{%[0-9]+}}, %p {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr

// IR: define void @f(
