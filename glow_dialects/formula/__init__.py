"""
Formulas: operators stated as index expressions.

```
y[b, i] = sum(k) x[b, k] * w[i, k]
```

`parser` gives the syntax tree of a text (`syntax`). `binding` gives the statement (`statement`)
that the text makes for operands of certain types: loops with sizes, and terms over them, checked.
The notation is that of Tensor Comprehensions (Vasilache et al. 2018).
"""
