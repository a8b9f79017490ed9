"""Why a test of openai-agents fails against edgestudio.agents: {release: {test: reason}}. A test without its brackets stands for all of it."""


def _of(file, tests):
    return [f"test_{file}.py::test_{test}" for test in tests.split()]


_NEWEST = {
    "the seed says otherwise: *args of tuple[int, ...] is a list of int": _of("function_schema", """
        var_positional_tuple_annotation variadic_field_constraints_preserve_homogeneous_tuple_values"""),
    "the seed says otherwise: the default message ends with the error, so that the model can correct itself": _of("function_tool", """
        function_tool_default_error_works"""),
    "agents run in edge, not inside Python: no Runner with the package's own fake model, no get_all_tools, is_enabled isn't a function": [
        *_of("function_schema", "annotated_constraints_reject_arguments_before_tool_execution"),
        *_of("strict_schema_oneof", "discriminated_union_with_pydantic"),
        *_of("function_tool", "is_enabled_bool_and_callable get_all_tools_cancels_sibling_enablement_checks_on_error"),
    ],
    "not of the seed: callable objects; they are refused, and a function around one is a tool": _of("function_tool_decorator", """
        callable_instance_identity_survives_tool_clone_paths async_callable_object_works_as_bare_function_tool
        slotted_async_callable_object_works_as_function_tool callable_object_uses_call_docstring_when_class_docstring_missing
        callable_object_combines_class_summary_with_call_parameter_docs callable_object_requires_override_for_invalid_fallback_name
        configured_async_callable_ignores_annotated_class_state callable_object_invokes_the_resolved_call_method
        sync_callable_object_preserves_awaitable_result async_callable_object_preserves_positional_context
        callable_docstring_opt_out_does_not_read_dynamic_doc callable_contract_rejects_unknown_call_descriptor
        callable_object_resolves_class_scoped_call_annotations inherited_callable_resolves_defining_module_annotations
        callable_object_ignores_class_state_annotations"""),
    "not of the seed: a timeout of the tool's own; edge's runner has one for every call": [
        *_of("function_tool_decorator", """async_callable_object_works_with_configured_function_tool
            decorator_timeout_configuration_is_applied function_tool_timeout_arguments_are_keyword_only"""),
        *_of("function_tool", """
            invoke_function_tool_timeout_returns_default_message invoke_function_tool_timeout_uses_custom_error_function
            invoke_function_tool_timeout_can_raise_exception invoke_function_tool_does_not_rewrite_tool_raised_timeout_error
            invoke_function_tool_does_not_rewrite_manual_tool_raised_timeout_error function_tool_timeout_seconds_must_be_positive_number
            function_tool_timeout_not_supported_for_sync_handlers function_tool_timeout_behavior_must_be_supported
            function_tool_timeout_error_function_must_be_callable"""),
    ],
    "not of the seed: namespaces, deferred loading, tool search, hosted MCP and image tools, which OpenAI's servers run": [
        *_of("function_tool_decorator", "image_generation_tool_parameter_schema function_tool_defer_loading"),
        *_of("function_tool", """
            tool_namespace_copies_tools_with_metadata tool_namespace_requires_keyword_arguments tool_namespace_requires_non_empty_description
            tool_namespace_rejects_reserved_same_name_shape tool_namespace_supports_function_tool_subclass_constructors
            get_all_tools_preserves_explicit_tool_search_when_deferred_tools_are_disabled
            get_all_tools_keeps_tool_search_for_namespace_only_tools get_all_tools_keeps_tool_search_for_deferred_hosted_mcp"""),
    ],
    "not of the seed: guardrails and output schemas of a tool": _of("function_tool", """
        function_tool_accepts_guardrail_arguments function_tool_decorator_accepts_guardrail_arguments
        function_tool_rejects_deep_output_schema_before_copying"""),
    "inside the package: names that begin with an underscore, its own helpers, what replacing or copying them does": [
        *_of("strict_schema", "open_object_rejection_is_opt_in open_object_rejection_rejects_preserved_pure_refs"),
        *_of("function_tool", """
            failure_error_function_normalizes_cancelled_error_to_exception default_failure_error_function_is_resolved_at_invoke_time
            manual_function_tool_uses_default_failure_error_function failure_error_function_survives_dataclasses_replace
            replaced_function_tool_normal_failure_uses_replaced_policy shallow_copied_function_tool_normal_failure_uses_copied_policy
            shallow_copied_subclass_invoker_uses_the_copied_instance_state default_failure_error_function_survives_deepcopy"""),
    ],
    "the logger's name: ours is edgestudio.agents": _of("function_tool", "function_tool_argument_logging_excludes_live_context"),
}

_SEED_TIME = {
    "the newest release says otherwise: **kwargs can't be strict, and **kwargs of T is an object of T": _of("function_schema", """
        varargs_function var_keyword_dict_annotation"""),
    "the newest release says otherwise: the root of a strict schema is an object, not anyOf": _of("strict_schema", "anyOf_processing"),
}

REASONS = {
    release: {test: reason for reason, tests in grouped.items() for test in tests}
    for release, grouped in {"0.24.0": _NEWEST, "0.0.7": _SEED_TIME}.items()
}
