"""
The division of the nests of a kernel between the threads of a team, and the points where threads
wait.
"""
