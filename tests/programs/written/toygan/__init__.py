"""A small GAN package: python -m toygan.main"""
