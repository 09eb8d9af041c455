"""The types between the parts of the compiler. What implements them is elsewhere."""
