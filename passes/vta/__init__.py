"""Rewrites and checks of programs of the VTA accelerator."""
