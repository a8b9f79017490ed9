package tools

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"time"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	pendingSchema = "edge.pending_action/v1"
	outcomeSchema = "edge.pending_outcome/v1"
)

// Binding is everything that a confirmation confirms: this call, of this tool, in this file.
type Binding struct {
	ToolsFile        string          `json:"tools_file"`
	ToolsFileSHA256  digest.SHA256   `json:"tools_file_sha256"`
	ActiveSetSHA256  digest.SHA256   `json:"active_set_sha256"`
	Selection        Selection       `json:"selection"`
	ToolName         string          `json:"tool_name"`
	ToolSchemaSHA256 digest.SHA256   `json:"tool_schema_sha256"`
	ExecutionLevel   ExecutionLevel  `json:"execution_level"`
	Arguments        json.RawMessage `json:"arguments"`
	ArgsSHA256       digest.SHA256   `json:"args_sha256"`
	// Context is the JSON text of what the tool gets as its context's value, "" for null. It is kept as text, as Python
	// reads it: its numbers may be any.
	Context string `json:"context,omitempty"`
}

// Bind validates c and binds it to the set.
func (s *ActiveSet) Bind(c Call) (Binding, error) {
	if err := s.Validate(c); err != nil {
		return Binding{}, err
	}
	t := s.find(c.ToolName)
	return Binding{
		ToolsFile:        s.path,
		ToolsFileSHA256:  s.fileSHA256,
		ActiveSetSHA256:  s.sha256,
		Selection:        s.selection,
		ToolName:         t.Name,
		ToolSchemaSHA256: t.SchemaSHA256,
		ExecutionLevel:   t.ExecutionLevel,
		Arguments:        c.Arguments,
		ArgsSHA256:       c.ArgsSHA256(),
	}, nil
}

// Call is the bound call.
func (b Binding) Call() Call { return Call{b.ToolName, b.Arguments} }

// Against compares the binding with the set that would run the call now: tools_file_changed where the file's bytes
// differ, confirmation_binding_mismatch with the fields where anything else does.
func (b Binding) Against(s *ActiveSet) error {
	if b.ToolsFileSHA256 != s.fileSHA256 {
		e := fault.New(fault.CodeToolsFileChanged, "%s changed after the action was offered", b.ToolsFile).WithHint("ask for the action again")
		e.Mismatches = []fault.Mismatch{{Field: "tools_file_sha256", Want: b.ToolsFileSHA256.String(), Got: s.fileSHA256.String()}}
		return e
	}
	now, err := s.Bind(b.Call())
	if err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	var mismatches []fault.Mismatch
	compare := func(field, want, got string) {
		if want != got {
			mismatches = append(mismatches, fault.Mismatch{Field: field, Want: want, Got: got})
		}
	}
	compare("tools_file", b.ToolsFile, now.ToolsFile)
	compare("active_set_sha256", b.ActiveSetSHA256.String(), now.ActiveSetSHA256.String())
	compare("tool_schema_sha256", b.ToolSchemaSHA256.String(), now.ToolSchemaSHA256.String())
	compare("execution_level", string(b.ExecutionLevel), string(now.ExecutionLevel))
	compare("args_sha256", b.ArgsSHA256.String(), now.ArgsSHA256.String())
	if len(mismatches) > 0 {
		e := fault.New(fault.CodeConfirmationBindingMismatch, "%s of the action isn't what it was when the action was offered", mismatches[0].Field)
		e.Mismatches = mismatches
		return e
	}
	return nil
}

// record is the content of a pending action's file, in canonical JSON. MAC is an HMAC-SHA256, keyed by the token, over
// the record without it: only who was given the token can have written these bytes.
type record struct {
	Schema      string        `json:"schema"`
	ID          string        `json:"id"`
	Path        string        `json:"path"`
	CreatedAt   time.Time     `json:"created_at"`
	ExpiresAt   time.Time     `json:"expires_at"`
	TokenSHA256 digest.SHA256 `json:"token_sha256"`
	MAC         digest.SHA256 `json:"mac_sha256"`
	Binding
}

func (r record) seal(token string) ([]byte, error) {
	mac, err := r.mac(token)
	if err != nil {
		return nil, err
	}
	r.MAC = mac
	return canon.Marshal(r)
}

func (r record) mac(token string) (digest.SHA256, error) {
	r.MAC = digest.SHA256{}
	text, err := canon.Marshal(r)
	if err != nil {
		return digest.SHA256{}, err
	}
	h := hmac.New(sha256.New, []byte(token))
	h.Write(text)
	return digest.SHA256(h.Sum(nil)), nil
}

func (r *record) read(text []byte) error {
	if err := canon.Unmarshal(text, r); err != nil {
		return err
	}
	if r.Schema != pendingSchema {
		return fmt.Errorf("got schema %q, want %q", clip(r.Schema), pendingSchema)
	}
	return nil
}

func (r record) opensWith(token string) bool {
	got := digest.SHA256Of([]byte(token))
	return subtle.ConstantTimeCompare(got[:], r.TokenSHA256[:]) == 1
}

// verify holds the file's bytes against what only the token's owner can have written.
func (r record) verify(token string, text []byte) error {
	mac, err := r.mac(token)
	if err != nil {
		return fmt.Errorf("pending action: %w", err)
	}
	canonical, err := canon.Marshal(r)
	if err != nil {
		return fmt.Errorf("pending action: %w", err)
	}
	if !hmac.Equal(mac[:], r.MAC[:]) || !bytes.Equal(canonical, text) {
		return bindingMismatch("mac_sha256", mac.String(), r.MAC.String())
	}
	return nil
}

func bindingMismatch(field, want, got string) error {
	e := fault.New(fault.CodeConfirmationBindingMismatch, "the pending action's file isn't as it was written: its %s differs", field)
	e.Mismatches = []fault.Mismatch{{Field: field, Want: want, Got: got}}
	return e
}

// ending is the content of the file that says how a claimed action ended.
type ending struct {
	Schema        string        `json:"schema"`
	ID            string        `json:"id"`
	FinishedAt    time.Time     `json:"finished_at"`
	OutcomeSHA256 digest.SHA256 `json:"outcome_sha256"`
}

func (e ending) encode() ([]byte, error) { return canon.Marshal(e) }

func (e *ending) read(text []byte) error {
	if err := canon.Unmarshal(text, e); err != nil {
		return err
	}
	if e.Schema != outcomeSchema {
		return fmt.Errorf("got schema %q, want %q", clip(e.Schema), outcomeSchema)
	}
	return nil
}
