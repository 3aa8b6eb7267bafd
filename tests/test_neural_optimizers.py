"""Optimizers and schedules."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from treetop.errors import ConfigError
from treetop.neural.averaging import Average
from treetop.neural.config import TrainingConfig
from treetop.neural.optimizers import (
    RoundedAdam,
    RowAdam,
    beta1_cycle,
    make_optimizers,
    randomly_rounded,
    schedule,
    set_beta1,
    set_rates,
)


def test_rows_move_as_with_adam_when_all_are_used():
    torch.manual_seed(0)
    tables = [nn.Embedding(4, 3, sparse=sparse) for sparse in (True, False)]
    tables[1].load_state_dict(tables[0].state_dict())
    optimizers = [
        RowAdam(tables[0].parameters(), lr=0.1, weight_decay=0.01),
        torch.optim.AdamW(tables[1].parameters(), lr=0.1, weight_decay=0.01),
    ]
    for step in range(5):
        for table, optimizer in zip(tables, optimizers, strict=True):
            optimizer.zero_grad()
            rows = torch.tensor([0, 1, 2, 3, 3])  # a row twice: its gradients are added
            ((table(rows) - step) ** 2).sum().backward()
            optimizer.step()
    torch.testing.assert_close(tables[0].weight, tables[1].weight)


def test_rows_that_are_not_used_stay():
    table = nn.Embedding(4, 3, sparse=True)
    before = table.weight.detach().clone()
    optimizer = RowAdam(table.parameters(), lr=0.1, weight_decay=0.1)
    table(torch.tensor([1])).sum().backward()
    optimizer.step()
    moved = (table.weight != before).any(1).tolist()
    assert moved == [False, True, False, False]


@pytest.mark.parametrize("kind", ["dense", "sparse", "bf16"])
def test_epsilon(kind):
    """A first step of Adam is lr · g / (|g| + ε), whatever the kind of weights."""
    bits = torch.bfloat16 if kind == "bf16" else torch.float32
    table = nn.Embedding(2, 64, sparse=kind == "sparse", dtype=bits)
    nn.init.zeros_(table.weight)
    config = TrainingConfig(learning_rate=1.0, epsilon=3e-3, weight_decay=0, optimizer="adamw")
    (optimizer,) = make_optimizers(table, config)
    (1e-3 * table(torch.tensor([1])).sum()).backward()
    optimizer.step()
    assert -table.weight[1].float().mean().item() == pytest.approx(0.25, rel=1e-2)
    assert not table.weight[0].any()


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5, 2)
        self.table = nn.Embedding(5, 2, sparse=True)
        self.head = nn.Linear(2, 3)
        self.norm = nn.LayerNorm(3)
        self.biases = nn.Embedding(5, 1)


def test_parts_have_their_own_rates_and_biases_do_not_decay():
    config = TrainingConfig(learning_rate=0.1, rates=("head=0.5", "words=0.01"), weight_decay=0.2)
    plain, rows = make_optimizers(Parts(), config)
    assert isinstance(rows, RowAdam)
    found = {(g["lr"], g["weight_decay"]): [tuple(p.shape) for p in g["params"]] for g in plain.param_groups}
    assert found == {
        (0.01, 0.2): [(5, 2)],
        (0.5, 0.2): [(3, 2)],
        (0.5, 0.0): [(3,)],
        (0.1, 0.0): [(3,), (3,), (5, 1)],
    }
    set_rates([plain, rows], 0.5)
    set_rates([plain, rows], 0.1)
    assert sorted(group["lr"] for group in plain.param_groups) == pytest.approx([0.001, 0.01, 0.05, 0.05])
    assert rows.param_groups[0]["lr"] == pytest.approx(0.01)


def test_parts_have_their_own_decays():
    config = TrainingConfig(weight_decay=0.05, decays=("head=0.005", "table=0", "biases=0.3"))
    plain, rows = make_optimizers(Parts(), config)
    found = {g["weight_decay"]: [tuple(p.shape) for p in g["params"]] for g in plain.param_groups}
    assert found == {0.05: [(5, 2)], 0.005: [(3, 2)], 0.0: [(3,), (3,), (3,), (5, 1)]}
    assert [group["weight_decay"] for group in rows.param_groups] == [0.0]


def test_biases_of_each_head_do_not_decay():
    """As in XLNet, whose biases of attention have a row for each head."""
    heads = nn.ParameterDict(
        {"q": nn.Parameter(torch.zeros(2, 3)), "r_w_bias": nn.Parameter(torch.ones(2, 3))}
    )
    (optimizer,) = make_optimizers(heads, TrainingConfig(weight_decay=0.1))
    found = {group["weight_decay"]: group["params"] for group in optimizer.param_groups}
    assert found[0.1] == [heads["q"]] and found[0.0] == [heads["r_w_bias"]]


def test_decays_that_do_not_fit():
    with pytest.raises(ConfigError, match="decays: the network has no part 'tail'; choose from biases, head"):
        make_optimizers(Parts(), TrainingConfig(decays=("tail=0.1",)))
    for bad in ("head", "head=", "=1", "head=-1", "head=nan", "head=inf", "head=x"):
        with pytest.raises(ConfigError, match=r"decays .* part=decay, with a decay of at least 0"):
            TrainingConfig(decays=(bad,))


def test_rates_that_do_not_fit():
    with pytest.raises(ConfigError, match="no part 'tail'; choose from biases, head, norm, table, words"):
        make_optimizers(Parts(), TrainingConfig(rates=("tail=0.1",)))
    for bad in ("head", "head=", "=1", "head=0", "head=-1", "head=nan", "head=x"):
        with pytest.raises(ConfigError, match="part=rate"):
            TrainingConfig(rates=(bad,))


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, [1, 1, 1, 1]),
        ({"schedule": "linear"}, [1, 0.75, 0.5, 0.25]),
        ({"schedule": "cosine"}, [1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5]),
        ({"warmup": 0.5}, [0.5, 1, 1, 1]),
        ({"warmup": 0.5, "schedule": "linear"}, [0.5, 1, 1, 0.5]),
    ],
)
def test_schedules(settings, wanted):
    factor = schedule(TrainingConfig(**settings), 4)
    assert [factor(step) for step in range(4)] == pytest.approx(wanted)


def test_the_schedule_with_cosines_at_both_ends():
    factor = schedule(TrainingConfig(schedule="cosine-ends", warmup=0.2, cooldown=0.4), 10)
    fall = [1 - 0.999 * share for share in (0.5 - 0.5**1.5, 0.5, 0.5 + 0.5**1.5, 1)]
    assert [factor(step) for step in range(10)] == pytest.approx([0.1, 0.55, 1, 1, 1, 1, *fall])
    factor = schedule(TrainingConfig(schedule="cosine-ends", cooldown=0), 3)
    assert [factor(step) for step in range(3)] == [1, 1, 1]
    factor = schedule(TrainingConfig(schedule="cosine-ends", warmup=0.5, cooldown=0.5), 3)  # 2 and 1
    assert [factor(step) for step in range(3)] == pytest.approx([0.1, 0.55, 0.001])


def test_the_cycle_of_the_first_moment():
    """By half a cosine wave down in the warm-up, and back up in the cool-down."""
    settings = {"schedule": "cosine-ends", "warmup": 0.2, "cooldown": 0.4}
    beta1 = beta1_cycle(TrainingConfig(**settings, beta1_cycle=(0.95, 0.85)), 10)
    rise = [0.85 + 0.1 * share for share in (0.5 - 0.5**1.5, 0.5, 0.5 + 0.5**1.5, 1)]
    assert [beta1(step) for step in range(10)] == pytest.approx([0.95, 0.9, *[0.85] * 4, *rise])
    assert beta1_cycle(TrainingConfig(**settings), 10) is None
    for bad, message in (
        ({"beta1_cycle": (0.95,)}, r"takes two numbers, the higher first, such as 0.95,0.85, not 0.95"),
        ({"beta1_cycle": (0.95, 1.0)}, "beta1_cycle must be at most 0.9999"),
        ({"beta1_cycle": (0.95, 0.85), "optimizer": "sgd"}, "beta1_cycle is for Adam"),
        ({"beta1_cycle": (0.95, 0.85), "schedule": "linear"}, "beta1_cycle follows cosine-ends"),
    ):
        with pytest.raises(ConfigError, match=message):
            TrainingConfig(**settings | bad)


@pytest.mark.parametrize("kind", ["plain", "rows", "narrow"])
def test_steps_of_adam_with_another_first_moment(kind):
    """m ← β m + (1 - β) g, and a step along m / (1 - β^t), with β of the step."""
    table = nn.Embedding(1, 1, sparse=kind == "rows", dtype=torch.bfloat16 if kind == "narrow" else None)
    nn.init.zeros_(table.weight)
    config = TrainingConfig(learning_rate=0.25)
    (optimizer,) = optimizers = make_optimizers(table, config)
    mean = square = place = 0.0
    for step, (beta1, slope) in enumerate([(0.5, 1.0), (0.75, 0.5), (0.5, -2.0)], 1):
        set_beta1(optimizers, beta1)
        optimizer.zero_grad()
        (slope * table(torch.tensor([0]))).sum().backward()
        optimizer.step()
        mean, square = beta1 * mean + (1 - beta1) * slope, 0.999 * square + 0.001 * slope**2
        place -= 0.25 * mean / (1 - beta1**step) / ((square / (1 - 0.999**step)) ** 0.5 + 1e-8)
        assert table.weight.item() == pytest.approx(place, rel=0.02 if kind == "narrow" else 1e-5)


def test_ends_that_overlap():
    with pytest.raises(ConfigError, match=r"warmup and cooldown must add up to at most 1, not 0.9 \+ 0.2"):
        TrainingConfig(schedule="cosine-ends", warmup=0.9)
    TrainingConfig(schedule="linear", warmup=0.9)  # has no cooldown


def test_averages():
    weight = nn.Parameter(torch.zeros(1))
    module = nn.ParameterList([weight])
    swa = Average(module, TrainingConfig(average="swa", average_from=0.5), epochs=4, steps=4)
    last = Average(module, TrainingConfig(average="swa", average_from=1), epochs=4, steps=4)
    ema = Average(module, TrainingConfig(average="ema", ema_decay=0.5), epochs=4, steps=4)
    for epoch, value in enumerate([1.0, 5.0, 2.0, 6.0]):
        weight.data.fill_(value)
        for average in (swa, last, ema):
            average.after_step(epoch + 1)
        swa.after_epoch(epoch)
        last.after_epoch(epoch)
    with swa.used():
        assert weight.item() == 4.0  # of 2 and 6
    assert weight.item() == 6.0 and last.count == 1  # the last epoch at least
    # 1; then with shares 9/12, 9/13 → 0.75·, …, at least 1 - 0.5
    mean = 1.0
    for count, value in ((2, 5.0), (3, 2.0), (4, 6.0)):
        mean += (1 - min(0.5, (1 + count) / (10 + count))) * (value - mean)
    with ema.used():
        assert weight.item() == pytest.approx(mean)


@pytest.mark.parametrize(
    ("start", "every", "taken"),
    [
        (0.5, 2, [7, 9]),  # steps 1 to 5 come before
        (0.5, 1, [6, 7, 8, 9, 10]),
        (0.0, 4, [4, 8]),
        (1.0, 3, [10]),  # the last at least
        (0.0, 11, []),
    ],
)
def test_swa_within_epochs(start, every, taken):
    weight = nn.Parameter(torch.zeros(1))
    config = TrainingConfig(average="swa", average_from=start, average_every=every)
    swa = Average(nn.ParameterList([weight]), config, epochs=2, steps=10)
    for step in range(1, 11):
        weight.data.fill_(step**2)
        swa.after_step(step)
        if step % 5 == 0:
            swa.after_epoch(step // 5 - 1)
    assert swa.count == len(taken)
    with swa.used():
        squares = [step**2 for step in taken] or [100]
        assert weight.item() == pytest.approx(sum(squares) / len(squares))
    assert weight.item() == 100


def test_the_mean_of_narrow_weights_is_wide():
    """1 + 2^-7 follows 1 in bf16: a mean between them is kept, also while it is used."""
    weight = nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    swa = Average(
        nn.ParameterList([weight]), TrainingConfig(average="swa", average_every=1), epochs=1, steps=8
    )
    for step in range(5, 9):
        weight.data.fill_(1 + 2**-7 * (step == 8))
        swa.after_step(step)
        with swa.used():
            assert weight.dtype == torch.bfloat16 and weight.item() == 1
    assert swa.mean[0].item() == 1 + 2**-9


@pytest.mark.parametrize("metric", ["P", "P@", "P@0", "Q@1", "P@x"])
def test_metrics_that_do_not_exist(metric):
    with pytest.raises(ConfigError, match="metric must be one of P@1"):
        TrainingConfig(metric=metric)


def test_random_rounding_is_right_on_average():
    torch.manual_seed(0)
    for value in (1.0 + 2**-10, -3.3, 1e-30, 0.0):
        rounded = randomly_rounded(torch.full((200_000,), value))
        assert rounded.dtype == torch.bfloat16 and len(rounded.unique()) <= 2
        assert float(rounded.double().mean()) == pytest.approx(value, rel=1e-4, abs=1e-40)


def test_rounded_adam_follows_adamw():
    """On average: the same steps as AdamW in 32 bits, though each is smaller than the spacing of bf16."""
    torch.manual_seed(0)
    exact = torch.nn.Parameter(torch.ones(4000, 8))
    narrow = torch.nn.Parameter(torch.ones(4000, 8, dtype=torch.bfloat16))
    optimizers = [
        torch.optim.AdamW([exact], lr=1e-4, weight_decay=0.1),
        RoundedAdam([narrow], lr=1e-4, weight_decay=0.1),
    ]
    for step in range(20):
        for weight, optimizer in zip((exact, narrow), optimizers, strict=True):
            weight.grad = torch.full_like(weight, 0.5 + 0.1 * step)
            optimizer.step()
    wanted, found = (float(weight.detach().float().mean()) for weight in (exact, narrow))
    assert wanted < 0.9985 and found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.slow
def test_a_network_with_a_narrow_head_learns_and_is_kept(tmp_path):
    import treetop
    from test_contract import ENCODED, topic_texts

    train = treetop.Dataset.from_texts(*topic_texts(150, seed=0), source="train")
    test = treetop.Dataset.from_texts(*topic_texts(40, seed=1), source="test")
    model = treetop.make("flat-transformer", **ENCODED, head_bits=16).fit(train)
    assert model.evaluate(test)["P@1"] > 90
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model")
    assert again.network.head.weight.dtype == torch.bfloat16
    assert (again.predict(test).scores == model.predict(test).scores).all()
