// Targets have their names with and without the prefix; `mlir` is the default.
// RUN: glow-opt %s -t mlir | filecheck %s
// RUN: glow-opt %s -p canonicalize --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: glow-opt %s --print-debuginfo | filecheck %s --check-prefix=WHERE
// RUN: glow-opt --split-input-file %s | filecheck %s --check-prefix=SPLIT

// CHECK:   func.func @first
func.func @first() {
  func.return
}

// SPLIT: func.func @first
// SPLIT: {{// ---}}--
// SPLIT: func.func @second
// GENERIC: "func.func"()
// WHERE: loc("{{.*}}targets.mlir":9:3)

// -----

func.func @second() {
  func.return
}
