"""
The `vta` dialect: programs of the Versatile Tensor Accelerator, an open int8 tensor core with a
published instruction set (Apache TVM's `tvm-vta`, hardware version 0.0.2).
"""
