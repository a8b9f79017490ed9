"""Three tools of a small shop. Each is an ordinary function: import it, test it, run it."""

from typing import Literal

from edgestudio.tools import edge_tool


@edge_tool(intent_tags=["billing"])
def calculate_fee(amount: float, tier: Literal["basic", "pro"] = "basic") -> dict:
    """Compute the service fee for an amount of money."""
    rate = 0.003 if tier == "basic" else 0.002
    return {"fee": round(amount * rate, 2), "tier": tier}


@edge_tool(intent_tags=["orders"])
def order_status(order_id: str) -> dict:
    """Look up the status of an order by its order id."""
    states = ["packed", "shipped", "delivered"]
    return {"order_id": order_id, "status": states[len(order_id) % len(states)]}


@edge_tool(
    description="Cancel an order for good.",
    intent_tags=["orders"],
    execution_level="commit",
    return_direct=True,
    output_schema={
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "cancelled": {"type": "boolean"}},
        "required": ["order_id", "cancelled"],
        "additionalProperties": False,
    },
)
def cancel_order(order_id: str) -> dict:
    return {"order_id": order_id, "cancelled": True}
