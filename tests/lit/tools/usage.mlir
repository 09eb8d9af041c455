// Wrong usage is one line, with what is close.
// RUN: not glow-opt --canonicalise %s 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not glow-opt -p stack-op %s 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not glow-opt -p stack-ops{mac-ops=3} %s 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not glow-opt --stack-ops="max-ops=many" %s 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not glow-opt --form-vta-layers="inp-depth=100" %s 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not glow-opt -t llvmir %s 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not glow-opt no-such-file.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not glow-opt --define-symbol batch %s 2>&1 | filecheck %s --check-prefix=SYMBOL
// RUN: not glow-opt --quantize="profile=profile.json" %s 2>&1 | filecheck %s --check-prefix=QUOTES
// RUN: not glow-opt --set-machine=vector-bits=abc %s 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: not glow-opt -t vta-binary %s 2>&1 | filecheck %s --check-prefix=LOWER
// RUN: not glow-opt -t vta-asm %s 2>&1 | filecheck %s --check-prefix=LOWER
// RUN: not glow-opt -o no-such-folder/x %s 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: glow-opt --version | filecheck %s --check-prefix=VERSION

// FLAG:   error: unknown option --canonicalise; did you mean --canonicalize
// PASS:   error: unknown pass 'stack-op'; did you mean stack-ops
// OPTION: error: glow-stack-ops has no option 'mac-ops'; did you mean max-ops?
// VALUE:  error: glow-stack-ops: expected max-ops to be a whole number, found many
// SIZE:   error: glow-form-vta-layers: expected inp_depth of a VTA to be a power of 2 above 1, found 100
// TARGET: error: unknown target 'llvmir'; did you mean {{.*}}glow-llvm-ir{{.*}}; glow-opt --help lists them
// FILE:   no-such-file.mlir: error: No such file or directory
// SYMBOL: error: {{.*}}batch
// QUOTES: error: cannot read pass options: Unknown token in 'quantize{profile=profile.json}'; a value with a dot or a slash needs quotes: 'profile="profile.json"'
// WHOLE:  error: glow-set-machine: expected vector-bits to be a whole number, found abc
// LOWER:  expected {{.*}}func.func with the attribute vta.config{{.*}}: run --lower-to-vta first
// FOLDER: no-such-folder/x: error: its directory does not exist
// VERSION: glow-opt {{[0-9.]+}}, xdsl 0.74.0

func.func @main() {
  func.return
}
