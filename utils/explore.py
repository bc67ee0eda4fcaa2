"""The name by which notebooks call utils/widgets until their set-up cell says `from utils import plots, widgets`."""

from utils.widgets import *  # noqa: F403
