"""AdamW, and Adam for the teaching transformer, with their state as named tensors that safetensors can hold."""

from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from core.config.training import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> Optimizer:
    """Adam or AdamW over the model's parameters; decay falls on matrices and token embeddings only.

    Source:
        Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2:
        theta - lr * (m_hat / (sqrt(v_hat) + eps) + decay * theta).
    """
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (decayed if parameter.dim() >= 2 and "position" not in name else free).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    kind = AdamW if config.optimizer == "adamw" else Adam
    return kind(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )


def set_learning_rate(optimizer: Optimizer, learning_rate: float) -> None:
    """For the next step."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate


def optimizer_tensors(optimizer: Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The running means and step counts, named `<parameter>.<state>`, such as `head.bias.exp_avg`."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        f"{names[id(parameter)]}.{key}": tensor
        for parameter, state in optimizer.state.items()
        for key, tensor in state.items()
    }


def restore_optimizer(optimizer: Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave.

    Raises:
        KeyError: A tensor belongs to a parameter that the model lacks.
    """
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition(".")
        parameter = parameters[parameter_name]
        # fused kernels want the step count beside the parameter
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
