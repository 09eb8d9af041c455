// RUN: glow-opt %s --set-machine="byte-lookups=vpermi2b,pshufb" --use-lookup-tables --split-input-file | filecheck %s
// RUN: glow-opt %s --set-machine="vector-bits=256 vector-registers=16 byte-lookups=pshufb" --use-lookup-tables --split-input-file | filecheck %s --check-prefix=ROWS

// The bytes of a swish follow from those before it, across two quantizations.
func.func @fires(%x: tensor<5x401x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<5x401x!quant.uniform<u8:f32, 0.03:3>> {
  %r = glow.dequantize %x : (tensor<5x401x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<5x401xf32>
  %s = glow.sigmoid %r : (tensor<5x401xf32>) -> tensor<5x401xf32>
  %q = glow.quantize %s : (tensor<5x401xf32>) -> tensor<5x401x!quant.uniform<u8:f32, 0.00390625>>
  %d = glow.dequantize %q : (tensor<5x401x!quant.uniform<u8:f32, 0.00390625>>) -> tensor<5x401xf32>
  %m = glow.mul %r, %d : (tensor<5x401xf32>, tensor<5x401xf32>) -> tensor<5x401xf32>
  %y = glow.quantize %m : (tensor<5x401xf32>) -> tensor<5x401x!quant.uniform<u8:f32, 0.03:3>>
  func.return %y : tensor<5x401x!quant.uniform<u8:f32, 0.03:3>>
}

// CHECK-LABEL: @fires(
// CHECK-NEXT:  [[T:%.*]] = glow.constant #glow.blob<"memory:table#{{.*}}> : tensor<256x!quant.uniform<u8:f32, 0.03:3>>
// CHECK-NEXT:  [[Y:%.*]] = glow.int_lookup_table %x, [[T]] : (tensor<5x401x!quant.uniform<u8:f32, 0.05:128>>, tensor<256x!quant.uniform<u8:f32, 0.03:3>>) -> tensor<5x401x!quant.uniform<u8:f32, 0.03:3>>
// CHECK-NEXT:  func.return [[Y]]
// ROWS-LABEL:  @fires(
// ROWS:        glow.int_lookup_table %x

// -----

// A table for each byte that others use, too; numbers that are the same everywhere are part of a function.
// A cast of storage is free, and stays.
func.func @twice(%x: tensor<2011xi8>, %z: tensor<2011xf32>) -> (tensor<2011xi8>, tensor<2011xf32>) {
  %c = glow.splat value 3 : tensor<2011xi32>
  %i = glow.cast %x : (tensor<2011xi8>) -> tensor<2011xi32>
  %p = glow.mul %i, %c : (tensor<2011xi32>, tensor<2011xi32>) -> tensor<2011xi32>
  %f = glow.cast %p : (tensor<2011xi32>) -> tensor<2011xf32>
  %t = glow.tanh %f : (tensor<2011xf32>) -> tensor<2011xf32>
  %q = glow.quantize %t : (tensor<2011xf32>) -> tensor<2011x!quant.uniform<i8:f32, 0.0078125>>
  %d = glow.dequantize %q : (tensor<2011x!quant.uniform<i8:f32, 0.0078125>>) -> tensor<2011xf32>
  %e = glow.exp %d : (tensor<2011xf32>) -> tensor<2011xf32>
  %u = glow.quantize %e : (tensor<2011xf32>) -> tensor<2011x!quant.uniform<i8:f32, 0.03125>>
  %y = glow.storage_cast %u : (tensor<2011x!quant.uniform<i8:f32, 0.03125>>) -> tensor<2011xi8>
  %s = glow.add %d, %z : (tensor<2011xf32>, tensor<2011xf32>) -> tensor<2011xf32>
  func.return %y, %s : tensor<2011xi8>, tensor<2011xf32>
}

// CHECK-LABEL: @twice(
// CHECK:       [[Q:%.*]] = glow.int_lookup_table %x, {{.*}} -> tensor<2011x!quant.uniform<i8:f32, 0.0078125>>
// CHECK-NEXT:  [[D:%.*]] = glow.dequantize [[Q]]
// CHECK:       [[U:%.*]] = glow.int_lookup_table %x, {{.*}} -> tensor<2011x!quant.uniform<i8:f32, 0.03125>>
// CHECK-NEXT:  [[Y:%.*]] = glow.storage_cast [[U]]
// CHECK-NEXT:  [[S:%.*]] = glow.add [[D]], %z
// CHECK-NEXT:  func.return [[Y]], [[S]]

// -----

// Where an instruction looks up 16 bytes only, another scale alone is computed.
func.func @scale(%x: tensor<2011x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<2011x!quant.uniform<u8:f32, 0.03:3>> {
  %r = glow.dequantize %x : (tensor<2011x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<2011xf32>
  %y = glow.quantize %r : (tensor<2011xf32>) -> tensor<2011x!quant.uniform<u8:f32, 0.03:3>>
  func.return %y : tensor<2011x!quant.uniform<u8:f32, 0.03:3>>
}

// CHECK-LABEL: @scale(
// CHECK:       glow.int_lookup_table
// ROWS-LABEL:  @scale(
// ROWS-NOT:    glow.int_lookup_table

// -----

// Not where the real number is needed anyway, so that only its quantization would be saved.
func.func @needed(%x: tensor<2011x!quant.uniform<u8:f32, 0.05:128>>) -> (tensor<2011x!quant.uniform<u8:f32, 0.00390625>>, tensor<2011xf32>) {
  %r = glow.dequantize %x : (tensor<2011x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<2011xf32>
  %s = glow.sigmoid %r : (tensor<2011xf32>) -> tensor<2011xf32>
  %y = glow.quantize %s : (tensor<2011xf32>) -> tensor<2011x!quant.uniform<u8:f32, 0.00390625>>
  func.return %y, %s : tensor<2011x!quant.uniform<u8:f32, 0.00390625>>, tensor<2011xf32>
}

// ROWS-LABEL:  @needed(
// ROWS-NOT:    glow.int_lookup_table

// -----

// Not functions of two bytes, with numbers that differ between elements, of wide numbers, of few elements, or with a scale for each channel.
func.func @stays(%a: tensor<2011xui8>, %b: tensor<2011xui8>, %c: tensor<2011xf32>, %w: tensor<2011xi16>, %few: tensor<1023xui8>, %axis: tensor<3x700x!quant.uniform<i8:f32:0, {0.1, 0.2, 0.3}>>) -> (tensor<2011xui8>, tensor<2011xui8>, tensor<2011xui8>, tensor<1023xui8>, tensor<3x700xui8>) {
  %fa = glow.cast %a : (tensor<2011xui8>) -> tensor<2011xf32>
  %fb = glow.cast %b : (tensor<2011xui8>) -> tensor<2011xf32>
  %two = glow.pow %fa, %fb : (tensor<2011xf32>, tensor<2011xf32>) -> tensor<2011xf32>
  %y0 = glow.cast %two : (tensor<2011xf32>) -> tensor<2011xui8>
  %each = glow.pow %fa, %c : (tensor<2011xf32>, tensor<2011xf32>) -> tensor<2011xf32>
  %y1 = glow.cast %each : (tensor<2011xf32>) -> tensor<2011xui8>
  %fw = glow.cast %w : (tensor<2011xi16>) -> tensor<2011xf32>
  %ew = glow.exp %fw : (tensor<2011xf32>) -> tensor<2011xf32>
  %y2 = glow.cast %ew : (tensor<2011xf32>) -> tensor<2011xui8>
  %ff = glow.cast %few : (tensor<1023xui8>) -> tensor<1023xf32>
  %ef = glow.exp %ff : (tensor<1023xf32>) -> tensor<1023xf32>
  %y3 = glow.cast %ef : (tensor<1023xf32>) -> tensor<1023xui8>
  %r = glow.dequantize %axis : (tensor<3x700x!quant.uniform<i8:f32:0, {0.1, 0.2, 0.3}>>) -> tensor<3x700xf32>
  %e = glow.exp %r : (tensor<3x700xf32>) -> tensor<3x700xf32>
  %y4 = glow.cast %e : (tensor<3x700xf32>) -> tensor<3x700xui8>
  func.return %y0, %y1, %y2, %y3, %y4 : tensor<2011xui8>, tensor<2011xui8>, tensor<2011xui8>, tensor<1023xui8>, tensor<3x700xui8>
}

// CHECK-LABEL: @stays(
// CHECK-NOT:   glow.int_lookup_table
