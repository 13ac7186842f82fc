"""A shopping cart: lines, discounts, a total."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    name: str
    price: float
    count: int = 1


def subtotal(cart):
    """The price of all lines before any discount."""
    return sum(line.price * line.count for line in cart)


def total(cart, member=False):
    """What the customer pays: 10 % off from three lines on, then 5 % off for members."""
    price = subtotal(cart)
    if len(cart) >= 3:
        return round(price * 0.9, 2)
    if member:
        return round(price * 0.95, 2)
    return round(price, 2)


def receipt(cart, member=False):
    """The cart as text, one line an item, the total last."""
    rows = [f"{line.count} x {line.name:<12} {line.price * line.count:>8.2f}" for line in cart]
    return "\n".join([*rows, f"{'total':<16} {total(cart, member):>8.2f}"])
