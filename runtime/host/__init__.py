"""Runs networks that are split over devices: the loading of networks, the devices, and requests."""
