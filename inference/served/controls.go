package served

import "regexp"

// A server turns a message into tokens with its model's control tokens switched on, so a text that holds "<|im_end|>" could
// end its own turn and open another. Nobody can ask it not to. What has the form of such a token is therefore sent with a
// space behind its first character: for a reader it is the same, for a tokenizer it is text.

// controls has the forms that chat templates use: ChatML and its kin, DeepSeek's, Llama 2's and Mistral's, Gemma's, BOS and
// EOS. A tag of a document, such as <div>, is none of them.
func controls() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<[|｜][^<>\n]{1,64}[|｜]>|</?s>|<</?sys>>` +
		`|<(?:bos|eos|pad|unk|(?:start|end)_of_(?:turn|text|image)|endoftext)>` +
		`|\[/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|gmask|sop)\]`)
}

// asText breaks up what a server would take for a control token.
func asText(content string) string {
	return controls().ReplaceAllStringFunc(content, func(token string) string { return token[:1] + " " + token[1:] })
}
