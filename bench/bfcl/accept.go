package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"edge/inference"
	"edge/inference/fake"
	"edge/internal/fault"
	"edge/tools"
)

// reader reads grammars: with the engine's own code, or with the interpreter of package fake, which needs no model and
// which the conformance suite holds to the engine's.
type reader struct{ model inference.Model }

func newReader(ctx context.Context) (*reader, error) {
	model, err := fake.New(fake.Options{}).Open(ctx, "")
	if err != nil {
		return nil, err
	}
	return &reader{model}, nil
}

// admits reports whether a text, whole, is in the grammar's language.
func (r *reader) admits(gbnf, text string) (bool, error) {
	grammar, err := r.model.NewGrammar(gbnf)
	if err != nil {
		return false, err
	}
	defer grammar.Close()
	tokens, err := r.model.Tokenize(text, false)
	if err != nil {
		return false, err
	}
	for _, t := range append(tokens, r.model.Info().EOS) {
		if len(grammar.Filter([]inference.Token{t})) == 0 {
			return false, nil
		}
		grammar.Accept(t)
	}
	return true, nil
}

// Why a call of the ground truth isn't accepted. Only the last kind is a limit of edge; the others are calls that
// contradict the function's own schema, which the package's checker doesn't hold them to.
const (
	otherType     = "a value of another type than the schema's"
	outsideEnum   = "a value that isn't among the schema's enum"
	unknownMember = "a parameter that the schema doesn't list, or lacks one that it requires"
	unsaid        = "valid, and not in the grammar"
)

// accept puts one call to the validator and to the grammar; kind is "" where both accept it.
func (r *reader) accept(set *tools.ActiveSet, gbnf, name string, arguments json.RawMessage) (kind, why string, err error) {
	call, err := tools.NewCall(name, arguments)
	if err == nil {
		err = set.Validate(call)
	}
	var refused *fault.Error
	switch {
	case errors.As(err, &refused):
		return invalidKind(refused.Message), refused.Message, nil
	case err != nil:
		return "", "", err
	}
	text, err := set.CallText(call)
	if err != nil {
		return "", "", err
	}
	ok, err := r.admits(gbnf, text)
	if err != nil || ok {
		return "", "", err
	}
	return unsaid, text, nil
}

// invalidKind reads the validator's message; what comes first decides where there are several findings.
func invalidKind(message string) string {
	found := findingKind.FindStringSubmatch(message)
	switch {
	case found == nil, strings.HasPrefix(found[1], "unknown"), strings.HasPrefix(found[1], "missing"):
		return unknownMember
	case strings.Contains(found[1], "want one of"):
		return outsideEnum
	}
	return otherType
}

// Names of tools and of places, which differ from function to function where the reason is the same.
var (
	findingKind = regexp.MustCompile(`parameter \S+: ([^;,]+(?:, want [^;]+)?)`)
	toolPlace   = regexp.MustCompile(`^tool \S+: `)
	memberPlace = regexp.MustCompile(`(parameter|at) [^\s:]+`)
)

func withoutNames(text string) string {
	return memberPlace.ReplaceAllString(toolPlace.ReplaceAllString(text, ""), "$1 …")
}
