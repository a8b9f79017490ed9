"""A function's parameters as a JSON Schema and as a pydantic model, and checked arguments as a call.

========================  =======================  ===================================
parameter                 what the model gives     how the function gets it
========================  =======================  ===================================
``a: T``, ``/`` or not    ``a``: T                 by position
``*, a: T``               ``a``: T                 by keyword
``*a: T``                 ``a``: list of T         spread; also for ``tuple[T, ...]``
``**a: T``                ``a``: object of T       spread; not in strict mode
first, a context          nothing                  by position, from the caller
``ctf``, in any case      nothing                  its default
========================  =======================  ===================================
"""
from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Callable, Optional, get_args, get_origin, get_type_hints

from edgestudio.agents import _packages
from edgestudio.agents.docstring import DocstringStyle, FuncDocumentation, generate_func_documentation
from edgestudio.agents.exceptions import ModelBehaviorError, UserError
from edgestudio.agents.run_context import is_context
from edgestudio.agents.strict_schema import ensure_strict_json_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["DocstringStyle", "FuncDocumentation", "FuncSchema", "function_schema", "generate_func_documentation"]

Parameter = inspect.Parameter
BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass
class FuncSchema:
    """What function_schema found."""

    name: str
    description: Optional[str]
    params_pydantic_model: type[BaseModel]
    params_json_schema: dict[str, Any]
    signature: inspect.Signature
    takes_context: bool = False
    strict_json_schema: bool = True

    def to_call_args(self, data: BaseModel) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with, after the context if it takes one.

        Raises ModelBehaviorError where an extra keyword names a parameter that has its value already.
        """
        values = vars(data)  # not getattr: a parameter may be called as a property of the model
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for parameter in list(self.signature.parameters.values())[self.takes_context:]:
            if is_skipped(parameter.name):
                if parameter.kind in BY_POSITION:
                    positional.append(parameter.default)
            elif parameter.kind in BY_POSITION:
                positional.append(values[parameter.name])
            elif parameter.kind is Parameter.VAR_POSITIONAL:
                positional.extend(values[parameter.name])
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self._refuse_taken_names(parameter.name, values[parameter.name])
                named.update(values[parameter.name])
            else:
                named[parameter.name] = values[parameter.name]
        return positional, named

    def _refuse_taken_names(self, name: str, extra: dict[str, Any]) -> None:
        for parameter in self.signature.parameters.values():
            if parameter.kind in BY_NAME and parameter.name in extra:
                raise ModelBehaviorError(f"Invalid JSON input for tool {self.name}: {parameter.name!r} is a parameter "
                                         f"of its own and can't also be in {name!r}")


def is_skipped(name: str) -> bool:
    return name.lower() == "ctf"


def function_schema(
    func: Callable[..., Any],
    docstring_style: Optional[DocstringStyle] = None,
    name_override: Optional[str] = None,
    description_override: Optional[str] = None,
    use_docstring_info: bool = True,
    strict_json_schema: bool = True,
) -> FuncSchema:
    """The schema of a function's parameters.

    Raises UserError for a function that no schema can describe, ImportError where pydantic or griffe is missing.
    """
    name = name_override or func.__name__
    documentation = generate_func_documentation(func, docstring_style) if use_docstring_info else None
    try:
        annotations = get_type_hints(func, include_extras=True)
    except NameError as error:
        raise UserError(f"{name}: an annotation can't be resolved where the function was defined: {error}") from error
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    takes_context = bool(parameters) and is_context(_stripped(annotations.get(parameters[0].name))[0])
    _check(name, parameters[1:] if takes_context and parameters[0].kind in BY_POSITION else parameters, annotations)
    shown = [parameter for parameter in parameters[takes_context:] if not is_skipped(parameter.name)]
    model = _model(name, shown, annotations, strict_json_schema)
    schema = _json_schema(name, model)
    described = (documentation.param_descriptions if documentation else None) or {}
    for parameter in shown:
        text = described.get(parameter.name) or _description(annotations.get(parameter.name))
        if text:
            alias = model.model_fields[parameter.name].validation_alias
            schema["properties"][alias if isinstance(alias, str) else parameter.name]["description"] = text
    return FuncSchema(
        name=name,
        description=description_override or (documentation.description if documentation else None),
        params_pydantic_model=model,
        params_json_schema=_strict(name, schema) if strict_json_schema else schema,
        signature=signature,
        takes_context=takes_context,
        strict_json_schema=strict_json_schema,
    )


def _strict(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    try:
        return ensure_strict_json_schema(schema)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error


def _check(name: str, parameters: list[Parameter], annotations: dict[str, Any]) -> None:
    for parameter in parameters:
        if is_context(_stripped(annotations.get(parameter.name))[0]):
            raise UserError(f"{name}: RunContextWrapper is taken by the first parameter, by position; got it as {parameter}")
        if is_skipped(parameter.name) and parameter.default is Parameter.empty and parameter.kind in (*BY_POSITION, *BY_NAME):
            raise UserError(f"{name}: the parameter {parameter.name} is left out of every call, so it needs a default")


def _model(name: str, shown: list[Parameter], annotations: dict[str, Any], strict: bool) -> type[BaseModel]:
    pydantic = _packages.pydantic()
    fields: dict[str, Any] = {}
    extra = "ignore"
    for parameter in shown:
        if parameter.name.startswith("_") or parameter.name == "model_config":
            raise UserError(f"{name}: a parameter can't be called {parameter.name}: pydantic keeps such names for itself")
        annotation = annotations.get(parameter.name, Any)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            fields[parameter.name] = _list_of(name, annotation), pydantic.Field(default_factory=list)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            if strict:
                raise UserError(f"{name}: **{parameter.name} takes names that no strict schema lists; with strict_mode=False "
                                f"the model gives them in a nested object {parameter.name}")
            fields[parameter.name] = dict[str, annotation], pydantic.Field(default_factory=dict)  # type: ignore[valid-type]
            extra = "forbid"  # a name beside the nested object would be lost in silence
        else:
            fields[parameter.name] = annotation, pydantic.Field() if parameter.default is Parameter.empty else parameter.default
    try:
        model: type[BaseModel] = pydantic.create_model(f"{name}_args", __config__=pydantic.ConfigDict(extra=extra), **fields)
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise UserError(f"{name}: no model can be made of its parameters: {error}") from error
    return model


def _json_schema(name: str, model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except _packages.pydantic().errors.PydanticUserError as error:
        raise UserError(f"{name}: its parameters have no JSON schema: {error}") from error


def _list_of(name: str, annotation: Any) -> Any:
    """The type of all the arguments that ``*name: annotation`` collects."""
    plain, extras = _stripped(annotation)
    if plain is tuple or get_origin(plain) is tuple:
        of = get_args(plain)
        if hasattr(plain, "__args__") and not (len(of) == 2 and of[1] is Ellipsis):
            raise UserError(f"{name}: {plain} can't say what each of any number of arguments is; use tuple[T, ...] or list[T] instead")
        found: Any = list[of[0] if of else Any]  # type: ignore[misc]
        return Annotated[(found, *extras)] if extras else found
    return list[annotation]


def _stripped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation without its Annotated, and what that added."""
    if get_origin(annotation) is Annotated:
        plain, *extras = get_args(annotation)
        return plain, tuple(extras)
    return annotation, ()


def _description(annotation: Any) -> Optional[str]:
    """The text in ``Annotated[T, "text"]``."""
    return next((extra for extra in _stripped(annotation)[1] if isinstance(extra, str)), None)
