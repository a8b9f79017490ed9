package runner

import (
	"encoding/json"
	"fmt"
	"time"

	"edge/internal/canon"
)

// SandboxMode is how much of the sandbox a user insists on.
type SandboxMode string

const (
	// SandboxAuto enforces all that the platform can, and says what that was.
	SandboxAuto SandboxMode = "auto"
	// SandboxRequired refuses to run a tool where not all of it can be enforced.
	SandboxRequired SandboxMode = "required"
	// SandboxOff runs tools with the user's rights.
	SandboxOff SandboxMode = "off"
)

// ParseSandboxMode reads the value of --sandbox; the empty text is SandboxAuto.
func ParseSandboxMode(text string) (SandboxMode, error) {
	switch mode := SandboxMode(text); mode {
	case "":
		return SandboxAuto, nil
	case SandboxAuto, SandboxRequired, SandboxOff:
		return mode, nil
	}
	return "", fmt.Errorf("sandbox mode: got %q, want auto, required or off", text)
}

// level is what one process may do.
type level string

const (
	// confined processes may read what the user may read, and nothing else.
	confined level = "confined"
	// userRights processes may do what the user may do.
	userRights level = "user"
)

// SandboxCommand is the hidden verb by which edge starts itself again to put a sandbox round an interpreter. The program
// must call SandboxMain with what follows it, before it does anything else.
const SandboxCommand = "__sandbox"

// enforced is what a platform's sandbox says about itself once it stands.
type enforced struct {
	// Mechanism is "landlock+seccomp", "landlock", "seccomp", "sandbox-exec", "job-object" or "none".
	Mechanism string `json:"mechanism"`
	// LandlockABI is the kernel's Landlock version, 0 where it has none.
	LandlockABI int `json:"landlock_abi,omitempty"`
	// SeccompSHA256 names the filter that the kernel took: its program, with 0 where its process's number stands.
	SeccompSHA256 string `json:"seccomp_sha256,omitempty"`
	// FS and Net are "none" where the platform confines neither.
	FS  string `json:"fs,omitempty"`
	Net string `json:"net,omitempty"`
	// Refused says why the interpreter wasn't started.
	Refused string `json:"refused,omitempty"`
}

// unconfined is what a process without a sandbox is.
func unconfined() enforced { return enforced{Mechanism: "none", FS: "none", Net: "none"} }

// sandboxConfig is what a platform's sandboxLaunch needs to know.
type sandboxConfig struct {
	level      level
	required   bool
	executable string
	python     Python
	// programs are the files that may be executed, where the platform can tell.
	programs []string
	// args are the interpreter's arguments.
	args    []string
	timeout time.Duration
}

// sandboxBlock is the record of how a process was confined, as canonical JSON: what the process's own probes found,
// beside what the kernel took when the sandbox was made and what was asked for.
func sandboxBlock(mode SandboxMode, l level, said enforced, probed json.RawMessage) (json.RawMessage, error) {
	block := map[string]any{}
	if len(probed) > 0 && string(probed) != "null" {
		if err := canon.Unmarshal(probed, &block); err != nil {
			return nil, err
		}
	}
	own, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(own, &block); err != nil {
		return nil, err
	}
	delete(block, "refused")
	block["requested"], block["level"] = mode, l
	return canon.Marshal(block)
}

// forbiddenProbes are the probes that a confined process must find denied.
func forbiddenProbes() []string {
	return []string{"write_outside", "tcp", "udp", "unix", "start_process"}
}

// allDenied reports the first probe that a confined process was to find denied and didn't.
func allDenied(probed json.RawMessage) error {
	var found map[string]any
	if err := json.Unmarshal(probed, &found); err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	for _, name := range forbiddenProbes() {
		if found[name] != "denied" {
			return fmt.Errorf("probe %s: got %v, want denied", name, found[name])
		}
	}
	return nil
}
