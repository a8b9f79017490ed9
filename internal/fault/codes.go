package fault

// Code names one kind of failure. Scripts match on it, so a code never changes its meaning.
type Code string

// Row is one line of the table.
type Row struct {
	Code    Code
	Class   Class
	Meaning string
	Hint    string
}

const (
	CodeInternal Code = "internal_error"

	CodeInvalidArguments                 Code = "invalid_arguments"
	CodeConflictingToolOptions           Code = "conflicting_tool_options"
	CodeActiveToolLimitExceeded          Code = "active_tool_limit_exceeded"
	CodeUnsupportedTypeHint              Code = "unsupported_type_hint"
	CodeMissingParameterTypeHint         Code = "missing_parameter_type_hint"
	CodeInvalidParameterDefault          Code = "invalid_parameter_default"
	CodeDuplicateToolName                Code = "duplicate_tool_name"
	CodeReturnDirectOutputSchemaRequired Code = "return_direct_output_schema_required"
	CodeInvalidOutputSchema              Code = "invalid_output_schema"
	CodeInvalidExecutionLevel            Code = "invalid_execution_level"
	CodeInvalidToolMetadata              Code = "invalid_tool_metadata"
	CodeInvalidSampleFile                Code = "invalid_sample_file"
	CodeInvalidToolName                  Code = "invalid_tool_name"
	CodeUnsupportedPermission            Code = "unsupported_permission"
	CodeUnsupportedFunction              Code = "unsupported_function"
	CodeToolsFileImportFailed            Code = "tools_file_import_failed"
	CodeNoToolsFound                     Code = "no_tools_found"
	CodeUnsupportedSchema                Code = "unsupported_schema"
	CodeToolContractNotInPrefix          Code = "tool_contract_not_in_prefix"
	CodePathNotWritable                  Code = "path_not_writable"
	CodeModelFileInvalid                 Code = "model_file_invalid"
	CodeInvalidFactsFile                 Code = "invalid_facts_file"
	CodeImprintSignatureMissing          Code = "imprint_signature_missing"
	CodeServerAlreadyRunning             Code = "server_already_running"
	CodeNetworkNotAllowed                Code = "network_not_allowed"
	CodeNoAgentsFound                    Code = "no_agents_found"
	CodeUnknownAgent                     Code = "unknown_agent"
	CodeInvalidAgent                     Code = "invalid_agent"
	CodeAgentCycle                       Code = "agent_cycle"
	CodeAgentLimitExceeded               Code = "agent_limit_exceeded"

	CodeImprintNotFound     Code = "imprint_not_found"
	CodeModelNotFound       Code = "model_not_found"
	CodeRuntimeNotFound     Code = "runtime_not_found"
	CodePythonNotFound      Code = "python_not_found"
	CodeToolsFileNotFound   Code = "tools_file_not_found"
	CodeSampleFileNotFound  Code = "sample_file_not_found"
	CodeReceiptNotFound     Code = "receipt_not_found"
	CodePendingNotFound     Code = "pending_action_not_found"
	CodeFactsNotFound       Code = "facts_store_not_found"
	CodeDownloadFailed      Code = "download_failed"
	CodeUploadFailed        Code = "upload_failed"
	CodeSandboxUnavailable  Code = "sandbox_unavailable"
	CodeServerNotRunning    Code = "server_not_running"
	CodeModelServerAbsent   Code = "model_server_unreachable"
	CodeServedModelAbsent   Code = "served_model_not_found"
	CodeEvolvedToolNotFound Code = "evolved_tool_not_found"
	CodeTrajectoryNotFound  Code = "trajectory_not_found"
	CodeBrowserNotFound     Code = "browser_not_found"

	CodeImprintRequiresTools         Code = "imprint_requires_tools"
	CodeImprintToolActiveSetMismatch Code = "imprint_tool_active_set_mismatch"
	CodeImprintToolSchemaMismatch    Code = "imprint_tool_schema_mismatch"
	CodeImprintModelMismatch         Code = "imprint_model_mismatch"
	CodeImprintTemplateMismatch      Code = "imprint_template_mismatch"
	CodeImprintParamsMismatch        Code = "imprint_params_mismatch"
	CodeImprintPrefixMismatch        Code = "imprint_prefix_mismatch"
	CodeToolsFileChanged             Code = "tools_file_changed"
	CodeServedModelChanged           Code = "served_model_changed"

	CodeImprintHeaderMalformed  Code = "imprint_header_malformed"
	CodeImprintPayloadMismatch  Code = "imprint_payload_mismatch"
	CodeImprintTruncated        Code = "imprint_truncated"
	CodeImprintTrailingData     Code = "imprint_trailing_data"
	CodeImprintSignatureInvalid Code = "imprint_signature_invalid"
	CodeReceiptMismatch         Code = "receipt_mismatch"
	CodeModelDigestMismatch     Code = "model_digest_mismatch"
	CodeRuntimeDigestMismatch   Code = "runtime_digest_mismatch"
	CodeDownloadDigestMismatch  Code = "download_digest_mismatch"
	CodePendingMalformed        Code = "pending_action_malformed"
	CodeFactsStoreInvalid       Code = "facts_store_invalid"
	CodeTrajectoryInvalid       Code = "trajectory_invalid"

	CodeImprintFormatUnsupported Code = "imprint_format_unsupported"
	CodeImprintRuntimeMismatch   Code = "imprint_runtime_mismatch"

	CodeInvalidToolArgs          Code = "invalid_tool_args"
	CodeUnknownTool              Code = "unknown_tool"
	CodeInvalidToolCall          Code = "invalid_tool_call"
	CodeToolRaised               Code = "tool_raised"
	CodeToolResultSchemaMismatch Code = "tool_result_schema_mismatch"
	CodeUnsupportedToolResult    Code = "unsupported_tool_result"
	CodeRunnerProtocolViolation  Code = "runner_protocol_violation"
	CodeRunnerCrashed            Code = "runner_crashed"

	CodeRunnerTimeout         Code = "runner_timeout"
	CodeToolResultOversized   Code = "tool_result_oversized"
	CodeToolCallLimitExceeded Code = "tool_call_limit_exceeded"
	CodeContextFull           Code = "context_full"
	CodeNoSpace               Code = "no_space"

	CodeToolConfirmationRequired    Code = "tool_confirmation_required"
	CodeConfirmationTokenInvalid    Code = "confirmation_token_invalid"
	CodeConfirmationExpired         Code = "confirmation_expired"
	CodeConfirmationAlreadyClaimed  Code = "confirmation_already_claimed"
	CodeConfirmationBindingMismatch Code = "confirmation_binding_mismatch"

	CodeEngineLoadFailed        Code = "engine_load_failed"
	CodeEngineDecodeFailed      Code = "engine_decode_failed"
	CodeEngineRestoreFailed     Code = "engine_restore_failed"
	CodeArchitectureUnsupported Code = "architecture_unsupported"
	CodeSessionClosed           Code = "inference_session_closed"
	CodeServerLost              Code = "server_connection_lost"
	CodeModelServerOld          Code = "model_server_too_old"
	CodeModelServerError        Code = "model_server_error"
	CodeServedStreamCut         Code = "served_stream_cut"
	CodeServedReply             Code = "served_reply_invalid"
	CodePlannerFailed           Code = "planner_failed"

	CodeCancelled Code = "cancelled"
)

// Rows is the whole table in the order of the documentation.
func Rows() []Row {
	return []Row{
		{CodeInternal, Internal, "a bug in edge", "please report it with the command, its output and the receipt"},

		{CodeInvalidArguments, Usage, "a flag or argument is missing, unknown or out of range", "see the command's --help"},
		{CodeConflictingToolOptions, Usage, "more than one tool surface was asked for, or a selection without --tools", "choose one of --tools, --tools-manifest and --facts-store; --tool and --tool-tag go with --tools"},
		{CodeActiveToolLimitExceeded, Usage, "more than 8 tools would be active", "narrow the set with --tool NAME or --tool-tag TAG"},
		{CodeUnsupportedTypeHint, Usage, "a parameter's type annotation isn't one of the supported types", "use str, int, float, bool, Literal of one primitive type, Optional[T] or list[T]"},
		{CodeMissingParameterTypeHint, Usage, "a parameter has no type annotation", "annotate every parameter"},
		{CodeInvalidParameterDefault, Usage, "a default value contradicts the parameter's type, or isn't JSON", "give a default of the annotated type, or annotate Optional[T]"},
		{CodeDuplicateToolName, Usage, "two tools of one file have the same name", "rename one of them"},
		{CodeReturnDirectOutputSchemaRequired, Usage, "return_direct, prepare and commit need a closed output_schema", "declare output_schema with \"additionalProperties\": False, and return_direct=True"},
		{CodeInvalidOutputSchema, Usage, "output_schema isn't a usable JSON Schema of an object", "write a JSON Schema 2020-12 object"},
		{CodeInvalidExecutionLevel, Usage, "execution_level isn't read, prepare or commit", "use one of read, prepare, commit"},
		{CodeInvalidToolMetadata, Usage, "an argument of @edge_tool has the wrong type", "see docs/tools.md"},
		{CodeInvalidSampleFile, Usage, "the sample file doesn't follow edge.learn_sample/v1", "mend the named entry; docs/sample-file.md has the shape"},
		{CodeInvalidToolName, Usage, "a tool's name doesn't match [A-Za-z_][A-Za-z0-9_]{0,63}", "choose such a name with @edge_tool(name=…) or @function_tool(name_override=…)"},
		{CodeUnsupportedPermission, Usage, "a permission other than read_local was declared", "leave permissions out, or use [\"read_local\"]"},
		{CodeUnsupportedFunction, Usage, "the decorated object isn't a plain function that can be called once", "decorate an ordinary or async function at the top level of the file"},
		{CodeToolsFileImportFailed, Usage, "the tools file raised while it was imported", "run the file with python3 and mend what it reports"},
		{CodeNoToolsFound, Usage, "the file holds no tool, or the selection matches none", "decorate a function with @edge_tool or @function_tool, or widen the selection"},
		{CodeUnsupportedSchema, Usage, "a schema can't be enforced while decoding", "simplify the named parameter"},
		{CodeToolContractNotInPrefix, Usage, "the model's chat template doesn't carry the tool contract into the prefix", "use a model whose template keeps the system text"},
		{CodePathNotWritable, Usage, "a file or folder can't be written or read with the user's rights", "choose another path, or mend its permissions"},
		{CodeModelFileInvalid, Usage, "the file isn't a GGUF model that edge can read", "fetch it again, or name another file"},
		{CodeInvalidFactsFile, Usage, "a line of the facts file can't be read as a fact", "mend the named line; docs/facts.md has both formats; the store was not touched"},
		{CodeImprintSignatureMissing, Usage, "no key that is trusted has signed the imprint, and it steers the model", "give its publisher's public key with --trust KEY, or take it unsigned with --trust-unsigned"},
		{CodeServerAlreadyRunning, Usage, "an edge serve listens at this socket", "use it, or end it with: edge serve stop"},
		{CodeNetworkNotAllowed, Usage, "a tool needs the network, which is off unless it is allowed", "allow it for this command with --allow-network"},
		{CodeNoAgentsFound, Usage, "the file holds no agent", "make one at the top level of the file: agent = Agent(name=…, instructions=…, tools=[…])"},
		{CodeUnknownAgent, Usage, "the file has no agent by that name, or several and none was named", "name one of those that the message lists, with --agent NAME"},
		{CodeInvalidAgent, Usage, "an agent was made in a way that can't be run", "mend the named agent; docs/function-tools.md says what an agent may have"},
		{CodeAgentCycle, Usage, "agents are each other's tools in a circle", "take one of the named agents out of the other's tools, or hand over to it instead (handoffs)"},

		{CodeImprintNotFound, Missing, "no imprint by that path, id or receipt", "list what is there with: edge imprint list"},
		{CodeModelNotFound, Missing, "the model isn't here", "fetch it with: edge setup (default model) or edge models pull NAME"},
		{CodeRuntimeNotFound, Missing, "the engine libraries aren't here", "run: edge setup"},
		{CodePythonNotFound, Missing, "no Python 3.10 or newer was found", "install Python 3.10+, or point EDGE_PYTHON at one"},
		{CodeToolsFileNotFound, Missing, "the tools file isn't there", "check the path of the tools file"},
		{CodeSampleFileNotFound, Missing, "the sample file isn't there", "check the path given to --sample-file"},
		{CodeReceiptNotFound, Missing, "the receipt isn't there", "check the path, or look into the receipts folder that edge doctor names"},
		{CodePendingNotFound, Missing, "the pending action isn't there", "list what waits with: edge tools pending list"},
		{CodeFactsNotFound, Missing, "the facts store isn't there", "make one with: edge facts import STORE FILE"},
		{CodeDownloadFailed, Missing, "a download failed", "check the network and run the command again: it resumes; or give the file with --from"},
		{CodeUploadFailed, Missing, "an upload failed", "check the network, the name and the login, and run the command again: what has arrived isn't sent again"},
		{CodeSandboxUnavailable, Missing, "--sandbox required, and this platform can't enforce it", "use --sandbox auto, which enforces what the platform can and says so"},
		{CodeModelServerAbsent, Missing, "no model server answers at this address", "start it (ollama serve, llama-server, vllm serve), or mend the address in --model or OLLAMA_HOST"},
		{CodeServedModelAbsent, Missing, "the server doesn't have the model", "name one that it lists; for Ollama: ollama pull NAME"},
		{CodeServerNotRunning, Missing, "no edge serve listens at this socket", "start one with: edge serve"},
		{CodeEvolvedToolNotFound, Missing, "edge evolve's library has no tool of that name", "list what is there with: edge evolve tools list"},
		{CodeTrajectoryNotFound, Missing, "the trajectory isn't there", "edge evolve names the trajectory of each task; they lie in EDGE_HOME/evolve/trajectories"},
		{CodeBrowserNotFound, Missing, "there is no Chromium for the computer tool", "install it (Debian, Ubuntu: apt-get install chromium), or point EDGE_CHROMIUM at one"},

		{CodeImprintRequiresTools, Drift, "the imprint was learned with tools, and none were given", "give the matching file with --tools"},
		{CodeImprintToolActiveSetMismatch, Drift, "the active tools aren't those of the imprint", "give the tools it was learned with, or learn again"},
		{CodeImprintToolSchemaMismatch, Drift, "a tool's schema isn't the one that was learned", "restore the signature, or learn again"},
		{CodeImprintModelMismatch, Drift, "the model isn't the one the imprint was made with", "use the same model file, or learn again with this one"},
		{CodeImprintTemplateMismatch, Drift, "the chat template or the tokenizer differs", "use the same model file, or learn again with this one"},
		{CodeImprintParamsMismatch, Drift, "the engine's parameters differ from the imprint's", "use the same settings, or learn again with these"},
		{CodeImprintPrefixMismatch, Drift, "the prompt doesn't start with the imprint's tokens", "learn again with this version of edge"},
		{CodeServedModelChanged, Drift, "the server's model is another one than when this command began", "run the command again; learn again if the change is meant to stay"},
		{CodeToolsFileChanged, Drift, "the tools file changed after it was frozen", "start the chat again to use the new file"},

		{CodeImprintHeaderMalformed, Corrupt, "the imprint's header isn't what its writer wrote", "learn again; keep the file as evidence"},
		{CodeImprintPayloadMismatch, Corrupt, "the imprint's content doesn't match its digest", "learn again; keep the file as evidence"},
		{CodeImprintTruncated, Corrupt, "the imprint is shorter than it declares", "copy it again, or learn again"},
		{CodeImprintTrailingData, Corrupt, "the imprint is longer than it declares", "copy it again, or learn again"},
		{CodeImprintSignatureInvalid, Corrupt, "a signature of a trusted key doesn't hold for this imprint", "ask its publisher; don't use the imprint"},
		{CodeReceiptMismatch, Corrupt, "the receipt isn't what was written, or contradicts what it names", "treat its record as changed"},
		{CodeModelDigestMismatch, Corrupt, "the model's bytes aren't the pinned ones", "remove the file and run: edge setup"},
		{CodeRuntimeDigestMismatch, Corrupt, "an engine library's bytes aren't those that setup unpacked", "run: edge setup --repair"},
		{CodeDownloadDigestMismatch, Corrupt, "what was fetched isn't the pinned file", "run the command again; if it persists, the source serves another file"},
		{CodePendingMalformed, Corrupt, "the pending action's file isn't what was written", "ask for the action again"},
		{CodeFactsStoreInvalid, Corrupt, "the file isn't a facts store, or it is damaged", "name another file, or make the store anew with: edge facts import STORE FILE"},
		{CodeTrajectoryInvalid, Corrupt, "the file isn't a trajectory, or it is damaged", "name another file"},

		{CodeImprintFormatUnsupported, Stale, "the imprint's format version isn't one this edge reads", "use the edge that wrote it, or learn again"},
		{CodeImprintRuntimeMismatch, Stale, "the imprint was made with other engine libraries", "learn again with this engine"},

		{CodeInvalidToolArgs, Tool, "the arguments don't follow the tool's schema", "correct the named argument; if a model does this often, better names and descriptions help"},
		{CodeUnknownTool, Tool, "no tool of that name is active", "use one of the names listed in the message"},
		{CodeInvalidToolCall, Tool, "the model's text is neither an answer nor exactly one call", "ask again, or use a larger model"},
		{CodeToolRaised, Tool, "the function raised an exception", "run it by hand with edge tools call, and mend it"},
		{CodeToolResultSchemaMismatch, Tool, "the result doesn't follow the declared output_schema", "mend the function's result"},
		{CodeUnsupportedToolResult, Tool, "the result isn't JSON", "return a dict of JSON values"},
		{CodeRunnerProtocolViolation, Tool, "the runner process broke its protocol", "run the function by hand with edge tools call"},
		{CodeRunnerCrashed, Tool, "the runner process ended before it gave a result", "run the function by hand with edge tools call"},

		{CodeRunnerTimeout, Limit, "the call took longer than 10 seconds", "keep tools fast and local"},
		{CodeToolResultOversized, Limit, "the result is larger than 64 KB of canonical JSON", "return a bounded dict"},
		{CodeToolCallLimitExceeded, Limit, "the model asked for more than 4 calls on one prompt", "ask for less at once"},
		{CodeAgentLimitExceeded, Limit, "an agent that was asked as a tool came to a limit: of runs within each other, of replies, of calls or of handoffs", "ask for less at once, or allow more replies with --max-turns"},
		{CodeContextFull, Limit, "the prompt doesn't fit into the model's context", "shorten the prompt, or learn with fewer tools and examples"},
		{CodeNoSpace, Limit, "the disk is full", "free some space and run the command again: nothing was lost"},

		{CodeToolConfirmationRequired, Confirm, "a commit tool waits for a confirmation", "run the command that the pending action gives"},
		{CodeConfirmationTokenInvalid, Confirm, "the token isn't the pending action's", "copy the command as it was printed"},
		{CodeConfirmationExpired, Confirm, "the pending action is older than 10 minutes", "ask for the action again"},
		{CodeConfirmationAlreadyClaimed, Confirm, "the action was confirmed before; it runs at most once", "look at its receipt; ask again if it must run once more"},
		{CodeConfirmationBindingMismatch, Confirm, "the pending action isn't the one that was offered", "ask for the action again"},

		{CodeEngineLoadFailed, Engine, "the engine or the model can't be loaded", "run: edge doctor"},
		{CodeEngineDecodeFailed, Engine, "the engine failed while decoding", "try again; run edge doctor if it persists"},
		{CodeEngineRestoreFailed, Engine, "the engine didn't take the state as a whole", "learn again"},
		{CodeArchitectureUnsupported, Engine, "this kind of model can't hold an imprint", "use a decoder model"},
		{CodeSessionClosed, Engine, "the inference session was closed or failed before", "start a new one"},
		{CodeModelServerOld, Engine, "the model server is of a version that lacks what edge needs", "update it"},
		{CodeModelServerError, Engine, "the model server answered with an error", "see the server's own log"},
		{CodeServedStreamCut, Engine, "the model server's reply ended in the middle", "run the command again; see the server's own log"},
		{CodeServedReply, Engine, "the model server's reply isn't what its interface promises", "check that the address is a model server's; update it"},
		{CodeServerLost, Engine, "edge serve ended while it worked for this command", "run the command again: without a server it works alone"},
		{CodePlannerFailed, Engine, "the planner of edge evolve gave no reply", "check the address, the model's name and the key, and that the server offers /v1/chat/completions with tools"},

		{CodeCancelled, Cancelled, "interrupted", "run the command again"},
	}
}

// Lookup finds the row of code.
func Lookup(code Code) (Row, bool) {
	for _, row := range Rows() {
		if row.Code == code {
			return row, true
		}
	}
	return Row{}, false
}
