"""
Runs networks that are split over devices: what loads them, the devices, and requests on their way.
"""
