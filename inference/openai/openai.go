// Package openai is the adapter to a model of any server with OpenAI's chat interface: llama-server, vLLM, LM Studio.
//
// What each of them can do beyond that interface is in inference.Backends. llama-server's slots are used where their files
// can be read: a state that it saved is restored only if the file still has the digest that it had when it was learned.
//
// The invariant it owns: what a server can't prove is said to be unproven, and a count that its own numbers contradict isn't
// taken. What it refuses: other machines unless the network is allowed, redirects, and replies that were cut. A key comes
// from OPENAI_API_KEY only and goes into a request's header only.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"edge/inference"
	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Config says where the server is and how to use it.
type Config struct {
	Address      string // with or without /v1
	Key          string // of OPENAI_API_KEY; "" is none
	AllowNetwork bool
	SlotDir      string // the folder that llama-server was given as --slot-save-path; "": its slots aren't used
	// Hash gives the digest of a model file on this machine; nil: none is looked at.
	Hash func(ctx context.Context, path string) (digest.SHA256, error)
}

// Engine is a connection to one server.
type Engine struct {
	cfg     Config
	root    *url.URL // without /v1
	http    *http.Client
	backend string
	version string
	props   props
	models  []entry
}

var _ inference.Engine = (*Engine)(nil)

// props is what llama-server says of itself.
type props struct {
	ModelPath    string `json:"model_path"`
	ChatTemplate string `json:"chat_template"`
	BuildInfo    string `json:"build_info"`
	TotalSlots   int    `json:"total_slots"`
}

// entry is one line of the list of models.
type entry struct {
	ID      string          `json:"id"`
	OwnedBy string          `json:"owned_by"`
	Meta    json.RawMessage `json:"meta"`
	Length  int             `json:"max_model_len"`
}

// Connect asks the server for its models and what it is. Errors: network_not_allowed, model_server_unreachable,
// model_server_error, served_reply_invalid, invalid_arguments.
func Connect(ctx context.Context, c Config) (*Engine, error) {
	root, err := served.Endpoint(c.Address, c.AllowNetwork)
	if err != nil {
		return nil, err
	}
	root.Path = strings.TrimSuffix(root.Path, "/v1")
	e := &Engine{cfg: c, root: root, http: served.Client(root), backend: inference.BackendOpenAI, version: "unknown"}
	if e.models, err = e.list(ctx); err != nil {
		return nil, err
	}
	return e, e.recognize(ctx)
}

func (e *Engine) list(ctx context.Context) ([]entry, error) {
	var list struct {
		Data []entry `json:"data"`
	}
	if err := e.get(ctx, "/v1/models", &list); err != nil {
		return nil, err
	}
	if len(list.Data) == 0 {
		return nil, fault.New(fault.CodeServedReply, "%s lists no models", e.root.Host)
	}
	return list.Data, nil
}

// recognize finds out which server it is, from what only that one says.
func (e *Engine) recognize(ctx context.Context) error {
	switch e.models[0].OwnedBy {
	case "llamacpp":
		if err := e.get(ctx, "/props", &e.props); err != nil {
			return err
		}
		e.backend = inference.BackendLlamaServer
		if e.props.BuildInfo != "" {
			e.version = e.props.BuildInfo
		}
	case "vllm":
		var said struct {
			Version string `json:"version"`
		}
		if err := e.get(ctx, "/version", &said); err != nil {
			return err
		}
		e.backend = inference.BackendVLLM
		if said.Version != "" {
			e.version = said.Version
		}
	}
	return nil
}

// Info implements inference.Engine.
func (e *Engine) Info() inference.EngineInfo {
	return inference.EngineInfo{Name: e.backend, Version: e.version, Backend: "server"}
}

// Close implements inference.Engine.
func (e *Engine) Close() error {
	e.http.CloseIdleConnections()
	return nil
}

// Open implements inference.Engine: path is the model's name, or "" for the only one that the server has. Errors:
// served_model_not_found; those of Connect.
func (e *Engine) Open(ctx context.Context, name string) (inference.Model, error) {
	var found *entry
	var names []string
	for i, m := range e.models {
		if m.ID == name || name == "" && len(e.models) == 1 {
			found = &e.models[i]
		}
		names = append(names, m.ID)
	}
	if found == nil {
		return nil, fault.New(fault.CodeServedModelAbsent, "the server at %s has no model %q; it has %q", e.root.Host, name, names)
	}
	m := &model{Engine: e, entry: *found}
	id, err := m.identify(ctx)
	if err != nil {
		return nil, err
	}
	c := served.Config{Backend: e.backend, Architecture: "unknown", Description: found.ID, Identity: id, Server: m}
	if e.cfg.SlotDir != "" && e.backend == inference.BackendLlamaServer {
		c.Keeper = m
	}
	return served.NewModel(c), nil
}

// identify says who the model is: by the file that the server names, where it lies on this machine, or else by all that the
// server says of it.
func (m *model) identify(ctx context.Context) (served.Identity, error) {
	id := served.Identity{Name: m.entry.ID, Server: m.root.String(), Unknown: []string{"engine_libraries", "kv_parameters"}}
	path := m.props.ModelPath
	if m.cfg.Hash != nil && filepath.IsAbs(path) && served.Here(m.root) {
		if sum, err := m.cfg.Hash(ctx, path); err == nil {
			id.SHA256, id.Proven, m.file = sum, true, path
		}
	}
	if !id.Proven {
		id.Unknown = append(id.Unknown, "model_sha256")
		id.SHA256 = digest.SHA256Of(m.claims(m.entry))
	}
	id.TemplateSHA256 = digest.SHA256Of([]byte(m.props.ChatTemplate))
	if m.props.ChatTemplate == "" {
		id.Unknown = append(id.Unknown, "chat_template")
	}
	if m.version == "unknown" {
		id.Unknown = append(id.Unknown, "engine_version")
	}
	m.sum = id.SHA256
	return id, nil
}

// claims is what the server says of a model, but for what changes by itself.
func (m *model) claims(e entry) []byte {
	meta := e.Meta
	if len(meta) == 0 {
		meta = json.RawMessage("null")
	}
	raw, err := json.Marshal([]any{e.ID, e.OwnedBy, meta, e.Length, m.props.ModelPath})
	if err != nil {
		return []byte(e.ID)
	}
	return raw
}

// get reads one JSON object.
func (e *Engine) get(ctx context.Context, path string, into any) error {
	response, err := e.send(ctx, http.MethodGet, path, nil, "")
	if err != nil {
		return err
	}
	return e.decode(ctx, path, response, into)
}

// post sends a value and reads one JSON object.
func (e *Engine) post(ctx context.Context, path string, value, into any) error {
	response, err := e.send(ctx, http.MethodPost, path, value, "")
	if err != nil {
		return err
	}
	return e.decode(ctx, path, response, into)
}

const longestReply = 16 << 20

func (e *Engine) decode(ctx context.Context, path string, response *http.Response, into any) error {
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, longestReply))
	if err != nil {
		return served.Trouble(ctx, e.root, err, true)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.CodeServedReply, "%s%s isn't the JSON of a model server", e.root.Host, path)
	}
	return nil
}

// PrefixHeader names, to a router, the prefix that a request begins with: requests with the same one belong to the same
// server, whose cache has it.
const PrefixHeader = "X-Edge-Prefix"

// send gives the response of a request that was answered well; the caller closes its body.
func (e *Engine) send(ctx context.Context, method, path string, value any, prefix string) (*http.Response, error) {
	var body io.Reader
	if value != nil {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, e.root.String()+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if prefix != "" {
		request.Header.Set(PrefixHeader, prefix)
	}
	if e.cfg.Key != "" {
		request.Header.Set("Authorization", "Bearer "+e.cfg.Key)
	}
	response, err := e.http.Do(request)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, served.Trouble(ctx, e.root, err, true)
		}
		return nil, served.Trouble(ctx, e.root, err, false)
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		raw, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		return nil, e.refused(fmt.Sprintf("%s: %s", path, response.Status), raw)
	}
	return response, nil
}

// refused gives the code for an error that the server put into words.
func (e *Engine) refused(what string, raw []byte) error {
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	text := strings.TrimSpace(string(raw))
	if json.Unmarshal(raw, &said) == nil && len(said.Error) > 0 {
		var full struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(said.Error, &full) == nil && full.Message != "" {
			text = full.Message
		} else {
			text = strings.Trim(string(said.Error), `"`)
		}
	}
	if e.cfg.Key != "" {
		text = strings.ReplaceAll(text, e.cfg.Key, "…") // some servers repeat the key that they refuse
	}
	text = served.Clean(text)
	low := strings.ToLower(text)
	if strings.Contains(low, "context size") || strings.Contains(low, "context length") {
		return fault.New(fault.CodeContextFull, "%s%s: %s", e.root.Host, what, text)
	}
	err := fault.New(fault.CodeModelServerError, "%s%s: %s", e.root.Host, what, text)
	if strings.Contains(what, "401") || strings.Contains(what, "403") {
		return err.WithHint("give the server's key in OPENAI_API_KEY")
	}
	return err
}
