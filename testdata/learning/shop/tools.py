"""An outdoor shop's customer service. Results are made up from the arguments, so that a test can tell what was called."""

from typing import Literal, Optional

from edgestudio.tools import edge_tool

DONE = {
    "type": "object",
    "properties": {"done": {"type": "string"}},
    "required": ["done"],
    "additionalProperties": False,
}


@edge_tool(intent_tags=["browse"])
def search_products(
    query: str,
    max_price: Optional[float] = None,
    in_stock: bool = False,
    sort: Literal["rating", "price", "newest"] = "rating",
) -> dict:
    """Search the shop's products by words, with an upper price, only those in stock, and in an order."""
    return {"found": len(query), "best": f"AR-{len(query) * 37}"}


@edge_tool(intent_tags=["browse"])
def compare_products(skus: list[str]) -> dict:
    """Compare two or more articles by their numbers."""
    return {"cheapest": min(skus), "lightest": max(skus)}


@edge_tool(intent_tags=["browse"])
def shipping_cost(weight_kg: float, country: str, express: bool = False) -> dict:
    """Tell the price of sending a parcel of some kilograms to a country."""
    return {"price": round(4.9 + weight_kg * (2.35 if express else 1.15), 2), "currency": "EUR"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["buy"])
def add_to_cart(sku: str, quantity: int = 1, gift_wrap: bool = False) -> dict:
    """Put an article into the cart by its number."""
    return {"done": f"{quantity} x {sku}, wrapped: {gift_wrap}"}


@edge_tool(execution_level="prepare", return_direct=True, output_schema=DONE, intent_tags=["buy"])
def apply_coupon(code: str) -> dict:
    """Use a discount code for the cart."""
    return {"done": code}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["after"])
def return_item(order_id: str, reason: Literal["damaged", "wrong_item", "late", "not_needed"]) -> dict:
    """Register the return of an order with its reason."""
    return {"done": f"{order_id}: {reason}"}


@edge_tool(execution_level="commit", return_direct=True, output_schema=DONE, intent_tags=["after"])
def write_review(sku: str, stars: int, comment: Optional[str] = None) -> dict:
    """Rate an article with one to five stars, and a comment if there is one."""
    return {"done": f"{sku}: {stars} stars, {comment or 'no comment'}"}
