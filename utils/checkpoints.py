"""Weights of models that notebooks train: a station in the middle of a notebook goes on with them.

`tools/notebooks/checkpoints.py` writes them (`make checkpoints`); beside them SHA256SUMS holds their checksums."""

import hashlib
import pickle
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent.parent / "data" / "checkpoints"
SUMS = "SHA256SUMS"


def load_checkpoint(name: str, model: nn.Module, folder: Path = FOLDER) -> nn.Module:
    """`model`, in evaluation mode, with the weights that the file `name`.pt of data/checkpoints holds.

    Nothing but tensors is read (`weights_only`). FileNotFoundError: there is no such file. ValueError: it was cut short
    or altered, or holds weights of other names or shapes than the model's, which then stays as it was."""
    path = Path(folder) / f"{name}.pt"
    weights = read(path)
    mine = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    theirs = {key: tuple(value.shape) for key, value in weights.items()}
    if mine != theirs:
        where = next(key for key in [*mine, *theirs] if mine.get(key) != theirs.get(key))
        raise ValueError(
            f"{path} does not fit this {type(model).__name__}: {where} is {theirs.get(where, 'missing')} in the "
            f"file and {mine.get(where, 'missing')} in the model. Build the model with the sizes that the "
            "notebook trains, or, where the notebook has changed, write the file anew with `make checkpoints`."
        )
    model.load_state_dict(weights)
    return model.eval()


def read(path: Path) -> dict[str, torch.Tensor]:
    """The weights in the file `path`, whose checksum stands in SHA256SUMS beside it; errors as in load_checkpoint."""
    remedy = f"Get it back with `git checkout -- data/{path.parent.name}`, or clone the course again"
    if not path.is_file():
        names = ", ".join(sorted(one.stem for one in path.parent.glob("*.pt"))) or "none"
        raise FileNotFoundError(f"The weights {path} are missing (there are: {names}). {remedy}.")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    wanted = checksums(path.parent).get(path.name)
    if found != wanted:
        why = f"its sha256 is {found[:12]}…, {SUMS} says {wanted[:12]}…" if wanted else f"{SUMS} does not list it"
        raise ValueError(f"{path} was cut short or altered: {why}. {remedy}; `make checkpoints` writes it anew.")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} holds no weights that can be read: {error}. {remedy}.") from error


def checksums(folder: Path = FOLDER) -> dict[str, str]:
    """{name of a file: sha256}, as SHA256SUMS in `folder` lists them; empty without that file."""
    path = Path(folder) / SUMS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: digest for digest, name in (line.split() for line in lines)}
