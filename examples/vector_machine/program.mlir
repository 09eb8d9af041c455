builtin.module {
  func.func @main() {
    vector_machine.fill {value = 0.000000e+00 : f64}
    vector_machine.load {register = 1 : i64, address = 156 : i64, stride = 1 : i64, count = 3 : i64}
    vector_machine.matmul_row {inner = 3 : i64, row_stride = 1 : i64, address = 0 : i64, stride = 3 : i64, count = 16 : i64}
    vector_machine.store {address = 92 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.fill {value = 0.000000e+00 : f64}
    vector_machine.load {register = 1 : i64, address = 156 : i64, stride = 1 : i64, count = 3 : i64}
    vector_machine.matmul_row {inner = 3 : i64, row_stride = 1 : i64, address = 48 : i64, stride = 3 : i64, count = 4 : i64}
    vector_machine.store {address = 108 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.fill {value = -1.000000e+00 : f64}
    vector_machine.store {address = 124 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.store {address = 140 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.load {register = 0 : i64, address = 92 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.load {register = 1 : i64, address = 124 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.compute {function = "add"}
    vector_machine.store {address = 60 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.load {register = 0 : i64, address = 108 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.load {register = 1 : i64, address = 140 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.compute {function = "add"}
    vector_machine.store {address = 76 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.fill {value = 0.000000e+00 : f64}
    vector_machine.store {address = 92 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.store {address = 108 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.load {register = 0 : i64, address = 60 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.load {register = 1 : i64, address = 92 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.compute {function = "max"}
    vector_machine.store {address = 159 : i64, stride = 1 : i64, count = 16 : i64}
    vector_machine.load {register = 0 : i64, address = 76 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.load {register = 1 : i64, address = 108 : i64, stride = 1 : i64, count = 4 : i64}
    vector_machine.compute {function = "max"}
    vector_machine.store {address = 175 : i64, stride = 1 : i64, count = 4 : i64}
    func.return
  }
}
