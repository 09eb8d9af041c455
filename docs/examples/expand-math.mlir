func.func @f(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  func.return %y : f32
}
