"""What all tests share: how long one of Hypothesis' examples takes on a busy machine decides nothing."""

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
