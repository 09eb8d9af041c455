"""How the threads of a team divide the nests of a kernel, and where they wait for each other."""
