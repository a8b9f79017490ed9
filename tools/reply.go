package tools

import (
	"errors"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"edge/internal/fault"
)

// Reply is what a model said: an answer for the user, or exactly one call.
type Reply struct {
	Answer string
	Call   *Call // nil for an answer
}

// ParseReply reads a model's whole text. Space, tab, CR and LF around it are dropped, as JSON allows around a value.
// Text that starts with "{" must be exactly one object {"tool_name": string, "arguments": object}: these two members in
// any order, spelled exactly, once each, and nothing before, between or after. Anything else that starts with "{", and
// text with nothing in it, is invalid_tool_call. Text that starts otherwise is an answer, whatever it holds: no call is
// looked for inside prose or a code fence. Nothing is repaired.
//
// Arguments whose JSON is sound but whose values canonical JSON refuses are invalid_tool_args.
func ParseReply(text string) (Reply, error) {
	text = strings.Trim(text, " \t\r\n")
	if text == "" {
		return Reply{}, fault.New(fault.CodeInvalidToolCall, "the model said nothing")
	}
	if text[0] != '{' {
		return Reply{Answer: text}, nil
	}
	var call struct {
		ToolName  *string        `json:"tool_name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	if err := strict.Unmarshal([]byte(text), &call, strict.RejectUnknownMembers(true)); err != nil {
		return Reply{}, invalidCall(callTrouble(err))
	}
	switch {
	case call.ToolName == nil:
		return Reply{}, invalidCall(`"tool_name" is missing`)
	case call.Arguments.Kind() != '{':
		return Reply{}, invalidCall(`"arguments" isn't an object`)
	}
	made, err := NewCall(*call.ToolName, call.Arguments)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Call: &made}, nil
}

func invalidCall(why string) error {
	return fault.New(fault.CodeInvalidToolCall, `the text starts like a call but isn't exactly {"tool_name": …, "arguments": {…}}: %s`, why)
}

// callTrouble says in stable words what the decoder minds; its own texts change between builds.
func callTrouble(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a member is given twice"
	case errors.Is(err, strict.ErrUnknownName):
		return "it has another member"
	case errors.As(err, &syntax):
		return "it isn't one complete JSON object"
	}
	return "a member has the wrong type"
}
