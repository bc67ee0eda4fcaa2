"""Weights of models that notebooks train: later notebooks go on with them.

`tools/notebooks/checkpoints.py` writes them (`make checkpoints`); beside them SHA256SUMS holds their checksums."""

import hashlib
import pickle
import re
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent.parent / "data" / "checkpoints"
SUMS = "SHA256SUMS"


def load_checkpoint(name: str, model: nn.Module, folder: Path = FOLDER) -> nn.Module:
    """`model`, in evaluation mode, with the weights that the file `name`.pt of data/checkpoints holds.

    Nothing but tensors is read (`weights_only`). FileNotFoundError: there is no such file. ValueError: it was cut short
    or altered, it holds something else than weights, or weights of other names, shapes or dtypes than the model's, or
    that are NaN or infinite. The model then stays as it was."""
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
    """The weights in the file `path`, whose checksum stands in SHA256SUMS beside it; errors as in load_checkpoint."""
    if not path.is_file():
        names = ", ".join(sorted(one.stem for one in path.parent.glob("*.pt"))) or "none"
        raise FileNotFoundError(f"The weights {path} are missing (there are: {names}). {remedy(path.parent)}.")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    wanted = checksums(path.parent).get(path.name)
    if found != wanted:
        why = f"its sha256 is {found[:12]}…, {SUMS} says {wanted[:12]}…" if wanted else f"{SUMS} does not list it"
        raise ValueError(
            f"{path} was cut short or altered: {why}. {remedy(path.parent)}; `make checkpoints` writes it anew."
        )
    try:
        weights = torch.load(path, map_location=lambda storage, _: storage, weights_only=True)
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


def checksums(folder: Path = FOLDER) -> dict[str, str]:
    """{name of a file: sha256}, as SHA256SUMS in `folder` lists them; empty without that file.

    ValueError where a line of it is something else."""
    path, found = Path(folder) / SUMS, {}
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        match = re.fullmatch(rb"([0-9a-f]{64})  ([\w.-]+)", line)
        if match is None:
            raise ValueError(f"{path}, line {number}, is not a checksum and the name of a file. {remedy(path.parent)}.")
        found[match[2].decode()] = match[1].decode()
    return found


def remedy(folder: Path) -> str:
    return f"Get it back with `git checkout -- data/{folder.name}`, or clone the course again"
