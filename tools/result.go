package tools

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"edge/internal/canon"
	"edge/internal/fault"
)

// CheckResult gives a tool's result in canonical form, or says why it must not be used: unsupported_tool_result when it
// isn't a JSON object that canonical JSON can hold, tool_result_oversized beyond MaxResultBytes, and
// tool_result_schema_mismatch when it contradicts the declared output_schema.
//
// raw is the result as the runner sends it: what isn't a dict was wrapped as {"result": value} before, so an
// output_schema describes the wrapped object. Messages name places and kinds, never values: a refused result isn't
// shown to anyone.
func (s *ActiveSet) CheckResult(toolName string, raw []byte) ([]byte, error) {
	t := s.find(toolName)
	if t == nil {
		return nil, s.unknownTool(toolName)
	}
	text, err := canon.Transform(raw)
	if err != nil {
		return nil, fault.New(fault.CodeUnsupportedToolResult, "tool %s: the result isn't usable JSON: %s", toolName, resultTrouble(err))
	}
	if text[0] != '{' {
		return nil, fault.New(fault.CodeUnsupportedToolResult, "tool %s: the result isn't a JSON object", toolName)
	}
	if len(text) > MaxResultBytes {
		return nil, fault.New(fault.CodeToolResultOversized, "tool %s: the result is %d bytes of canonical JSON, %d is the most", toolName, len(text), MaxResultBytes)
	}
	if t.output == nil {
		return text, nil
	}
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("check result: %w", err)
	}
	if err := t.output.Validate(value); err != nil {
		var detail *jsonschema.ValidationError
		if !errors.As(err, &detail) {
			return nil, fmt.Errorf("check result of %s: %w", toolName, err)
		}
		f := explain(detail, t.output, value, false)[0]
		return nil, fault.New(fault.CodeToolResultSchemaMismatch, "tool %s: result field %s: %s", toolName, pathText(f.path), f.text)
	}
	return text, nil
}

// resultTrouble keeps the reason and drops quoted parts of the result.
func resultTrouble(err error) string {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "duplicate key") {
		return "a key stands twice"
	}
	return clip(text)
}
