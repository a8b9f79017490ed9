package oci

import (
	"net/netip"
	"path/filepath"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"

	"edge/internal/fault"
)

// layoutScheme begins a target that is a folder.
const layoutScheme = "oci:"

// Target names an artifact, or where one goes: a tag or a digest in a folder or in a repository of a registry.
type Target struct {
	text   string
	folder string             // of a layout, or ""
	ref    registry.Reference // where there is no folder: registry and repository
	name   string             // a tag, or a digest with its algorithm
}

// ParseTarget reads oci:FOLDER:TAG or HOST[:PORT]/REPO:TAG; in place of :TAG there may be @sha256:DIGEST. Errors:
// invalid_arguments.
func ParseTarget(text string) (Target, error) {
	t := Target{text: text}
	rest, isFolder := strings.CutPrefix(text, layoutScheme)
	at := max(strings.LastIndexByte(rest, '/'), strings.LastIndexByte(rest, filepath.Separator)) + 1
	// A tag begins at the last colon, a digest at the last @ in front of its algorithm; a folder's name may have both.
	split, isDigest := strings.LastIndex(rest[at:], "@sha256:"), true
	if split < 0 {
		split, isDigest = strings.LastIndexByte(rest[at:], ':'), false
	}
	if split < 0 || isFolder && at == 0 && isDrive(rest[:split]) {
		return Target{}, badTarget(text, "it has no tag")
	}
	place := rest[:at+split]
	t.name = rest[at+split+1:]
	if isFolder {
		if t.folder = place; place == "" {
			return Target{}, badTarget(text, "it names no folder")
		}
	} else {
		ref, err := registry.ParseReference(place)
		if err != nil || ref.Reference != "" && !isDigest {
			return Target{}, badTarget(text, "it isn't a registry's host and a repository in lower case")
		}
		if host, _, _ := strings.Cut(ref.Registry, ":"); !strings.ContainsAny(ref.Registry, ".:") && host != "localhost" {
			return Target{}, badTarget(text, "%q isn't the name of a registry's host", ref.Registry)
		}
		ref.Reference = "" // a tag in front of a digest says nothing
		t.ref = ref
	}
	switch {
	case isDigest && !sha256Digest(godigest.Digest(t.name)):
		return Target{}, badTarget(text, "%q isn't sha256: and 64 digits in lower case", t.name)
	case !isDigest && registry.Reference{Reference: t.name}.ValidateReferenceAsTag() != nil:
		return Target{}, badTarget(text, "%q isn't a tag: letters, digits, _, . and -, at most 128", t.name)
	}
	return t, nil
}

// isDrive reports whether text is the letter of a Windows drive, whose colon begins no tag.
func isDrive(text string) bool { return len(text) == 1 && filepath.VolumeName(text+":") != "" }

func badTarget(text, format string, args ...any) error {
	e := fault.New(fault.CodeInvalidArguments, format, args...)
	e.Message = "target " + text + ": " + e.Message
	return e.WithHint("write oci:FOLDER:TAG for a folder, HOST/REPOSITORY:TAG for a registry")
}

// String is the target as it was written.
func (t Target) String() string { return t.text }

// Remote reports whether the target is a registry, so somebody else's.
func (t Target) Remote() bool { return t.folder == "" }

// byDigest reports whether the target names one artifact for all time.
func (t Target) byDigest() bool { return strings.Contains(t.name, ":") }

// loopback reports whether a registry's host is this machine by its very name: the only one that is spoken to in the
// clear.
func loopback(host string) bool {
	if name, err := netip.ParseAddrPort(host); err == nil {
		return name.Addr().IsLoopback()
	}
	name := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.IsLoopback()
	}
	name, _, _ = strings.Cut(host, ":")
	return name == "localhost"
}
