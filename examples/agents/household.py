"""A household's assistant: an agent that has two others as its tools. All of it works offline."""
from typing import Literal

from edgestudio.agents import Agent, function_tool

STOCK = {"flour": "900 g", "eggs": "a dozen", "milk": "2 litres", "rice": "3 kg", "butter": "250 g", "apples": "a bag"}
RECIPES = {"pancakes": "200 g of flour, 3 eggs and half a litre of milk", "apple pie": "6 apples, 300 g of flour and 150 g of butter"}
DIARY = {"monday": "the dentist at 9:30", "wednesday": "parents' evening at 19:00", "saturday": "lunch with Ana at 13:00"}
BIRTHDAYS = {"ana": "3 March", "leo": "21 June"}

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


@function_tool
def in_stock(food: str) -> str:
    """Say how much of a food is in the kitchen."""
    return f"In the kitchen: {STOCK[food.lower()]} of {food}." if food.lower() in STOCK else f"There is no {food}."


@function_tool
def recipe(dish: str) -> str:
    """Say what a dish needs."""
    return f"For {dish} you need {RECIPES[dish.lower()]}." if dish.lower() in RECIPES else f"I have no recipe for {dish}."


@function_tool
def appointments(day: Day) -> str:
    """Say what is in the diary on a day of the week."""
    return f"On {day.capitalize()} there is {DIARY.get(day, 'nothing')}."


@function_tool
def birthday(person: str) -> str:
    """Say when a person has their birthday."""
    return f"{person} was born on {BIRTHDAYS[person.lower()]}." if person.lower() in BIRTHDAYS else f"I don't know {person}'s birthday."


kitchen = Agent(name="kitchen", instructions="You look after the kitchen.", tools=[in_stock, recipe],
                tool_use_behavior="stop_on_first_tool", handoff_description="knows what is in the kitchen, and recipes")
diary = Agent(name="diary", instructions="You keep the diary.", tools=[appointments, birthday],
              tool_use_behavior="stop_on_first_tool", handoff_description="knows appointments and birthdays")

household = Agent(
    name="household",
    instructions="You run a household. Pass requests on to whoever knows.",
    tools=[kitchen.as_tool("ask_kitchen", "Ask about food in the kitchen and recipes."),
           diary.as_tool("ask_diary", "Ask about appointments and birthdays.")],
    tool_use_behavior="stop_on_first_tool",
)
