// Wrong usage is one line, with what is close.
// RUN: not glow-opt --canonicalise %s 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not glow-opt -p stack-op %s 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not glow-opt -p stack-ops{mac-ops=3} %s 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not glow-opt --stack-ops="max-ops=many" %s 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not glow-opt --form-vta-layers="inp-depth=100" %s 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not glow-opt -t llvmir %s 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not glow-opt no-such-file.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not glow-opt --define-symbol batch %s 2>&1 | filecheck %s --check-prefix=SYMBOL
// RUN: glow-opt --version | filecheck %s --check-prefix=VERSION

// FLAG:   error: unknown option --canonicalise; did you mean --canonicalize
// PASS:   error: unknown pass 'stack-op'; did you mean stack-ops
// OPTION: error: glow-stack-ops has no option 'mac-ops'; did you mean max-ops?
// VALUE:  error: glow-stack-ops: expected max-ops to be int, found many
// SIZE:   error: glow-form-vta-layers: expected inp_depth of a VTA to be a power of 2 above 1, found 100
// TARGET: error: unknown target 'llvmir'; did you mean {{.*}}glow-llvm-ir{{.*}}; glow-opt --help lists them
// FILE:   no-such-file.mlir: error: No such file or directory
// SYMBOL: error: {{.*}}batch
// VERSION: glow-opt {{[0-9.]+}}, xdsl 0.74.0

func.func @main() {
  func.return
}
