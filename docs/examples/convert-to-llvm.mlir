func.func @add(%x: memref<8xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %a = vector.load %x[%zero] : memref<8xf32>, vector<8xf32>
  %b = arith.addf %a, %a : vector<8xf32>
  vector.store %b, %y[%zero] : memref<8xf32>, vector<8xf32>
  func.return
}
