package fake

import (
	"strings"

	"edge/inference"
)

// Text is what tokens of this engine stand for, with the special ones written out.
func Text(tokens []inference.Token) string {
	t := newTokenizer()
	var b strings.Builder
	for _, token := range tokens {
		if token >= 0 && isSpecial(token) {
			b.WriteString(specials()[token])
			continue
		}
		b.Write(t.piece(token))
	}
	return b.String()
}

// LastMessage takes apart what a Script is given: the role and the content of the last turn that was closed, which is
// what the model has to answer. Both are empty where there is none.
func LastMessage(history []inference.Token) (role, content string) {
	closed, ok := cutLast(Text(history), TurnEndText)
	if !ok {
		return "", ""
	}
	if i := strings.LastIndex(closed, TurnStartText); i >= 0 {
		closed = closed[i+len(TurnStartText):]
	}
	role, content, _ = strings.Cut(closed, "\n")
	return role, content
}

func cutLast(text, sep string) (before string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, false
	}
	return text[:i], true
}

// Reply is one line of a scripted conversation.
type Reply struct {
	When string // part of the last message's content
	Say  string
}

// Replies is a script that says the first reply whose When is part of the message to be answered.
func Replies(replies ...Reply) func(history []inference.Token) (reply string, ok bool) {
	return func(history []inference.Token) (string, bool) {
		_, content := LastMessage(history)
		for _, r := range replies {
			if strings.Contains(content, r.When) {
				return r.Say, true
			}
		}
		return "", false
	}
}
