"""Weights of models that notebooks train: later notebooks go on with them.

`tools/notebooks/checkpoints.py` writes them (`make checkpoints`); beside them SHA256SUMS holds their checksums."""

import io
import pickle
from pathlib import Path

import torch
from torch import nn

from .data_files import DATA, remedy, whole

FOLDER = DATA / "checkpoints"


def load_checkpoint(name: str, model: nn.Module, folder: Path = FOLDER) -> nn.Module:
    """`model`, in evaluation mode, with the weights that the file `name`.pt of data/checkpoints holds.

    Nothing but tensors is read (`weights_only`). FileNotFoundError: there is no such file. ValueError: it was cut short
    or altered, it holds something else than weights, or weights of other names, shapes or dtypes than the model's, or
    that are NaN or infinite, or `model` is none. The model then stays as it was."""
    if not isinstance(model, nn.Module):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"of the type {type(model).__name__}"
        raise ValueError(f"model is {what}; give the model itself, an nn.Module: its weights are put into it")
    path = Path(folder) / f"{name}.pt"
    weights = read(path)
    mine = {key: described(value) for key, value in model.state_dict().items()}
    theirs = {key: described(value) for key, value in weights.items()}
    if mine != theirs:
        where = next(key for key in [*mine, *theirs] if mine.get(key) != theirs.get(key))
        raise ValueError(
            f"{path} does not fit this {type(model).__name__}: {where} is {theirs.get(where, 'missing')} in the "
            f"file and {mine.get(where, 'missing')} in the model. Build the model with the sizes that the "
            "notebook trains, or, where the notebook has changed, write the file anew with `make checkpoints`."
        )
    model.load_state_dict(weights)
    return model.eval()


def described(weight: torch.Tensor) -> str:
    """Shape and kind of a tensor, such as "(4, 3) of torch.float32"."""
    return f"{tuple(weight.shape)} of {weight.dtype}"


def read(path: Path) -> dict[str, torch.Tensor]:
    """The weights in the file `path`, whose checksum is in SHA256SUMS beside it; errors as in load_checkpoint."""
    if not path.is_file():
        names = ", ".join(sorted(one.stem for one in path.parent.glob("*.pt"))) or "none"
        raise FileNotFoundError(f"The weights {path} are missing (there are: {names}). {remedy(path.parent)}.")
    content = whole(path, "; `make checkpoints` writes it anew")
    try:
        weights = torch.load(io.BytesIO(content), map_location=lambda storage, _: storage, weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} holds no weights that can be read: {error}. {remedy(path.parent)}.") from error
    if not isinstance(weights, dict) or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise ValueError(
            f"{path} holds no weights by their names, but a {type(weights).__name__}. {remedy(path.parent)}."
        )
    for name, value in weights.items():
        if not value.isfinite().all():
            raise ValueError(f"{path}: some numbers of {name} are NaN or infinite. {remedy(path.parent)}.")
    return weights
