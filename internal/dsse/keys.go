package dsse

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

// maxKeyFile is how long a key's file is at most.
const maxKeyFile = 16 << 10

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// PublicKey is the key of somebody whose word is taken.
type PublicKey struct {
	key ed25519.PublicKey
	id  digest.SHA256
}

// ID names the key: the SHA-256 of its DER form (SubjectPublicKeyInfo).
func (k PublicKey) ID() digest.SHA256 { return k.id }

// PrivateKey signs.
type PrivateKey struct {
	key    ed25519.PrivateKey
	public PublicKey
}

// Public is the key that checks what k signs.
func (k PrivateKey) Public() PublicKey { return k.public }

func newPublicKey(key ed25519.PublicKey) (PublicKey, []byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, nil, err
	}
	return PublicKey{key, digest.SHA256Of(der)}, der, nil
}

// ReadPublicKey reads an Ed25519 public key, PEM of the type PUBLIC KEY. Errors: invalid_arguments.
func ReadPublicKey(path string) (PublicKey, error) {
	der, err := readKeyFile(path, publicBlock)
	if err != nil {
		return PublicKey{}, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return PublicKey{}, badKey(path, "it isn't an Ed25519 key")
	}
	public, _, err := newPublicKey(key)
	return public, err
}

// ReadPrivateKey reads an Ed25519 private key, PEM of the type PRIVATE KEY (PKCS #8). Errors: invalid_arguments.
func ReadPrivateKey(path string) (PrivateKey, error) {
	der, err := readKeyFile(path, privateBlock)
	if err != nil {
		return PrivateKey{}, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return PrivateKey{}, badKey(path, "it isn't an Ed25519 key")
	}
	public, _, err := newPublicKey(key.Public().(ed25519.PublicKey))
	return PrivateKey{key, public}, err
}

func badKey(path, format string, args ...any) error {
	e := fault.New(fault.CodeInvalidArguments, format, args...)
	e.Message = "key " + path + ": " + e.Message
	return e.WithHint("make a pair of keys with: edge imprint keygen FILE")
}

// readKeyFile gives the content of a file's only PEM block. Nothing of a file that isn't one is shown.
func readKeyFile(path, kind string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, badKey(path, "there is no such file")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, badKey(path, "it isn't a regular file")
	case info.Size() > maxKeyFile:
		return nil, badKey(path, "it is too large for a key: %d bytes", info.Size())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(raw)
	switch {
	case block == nil:
		return nil, badKey(path, "it isn't PEM")
	case block.Type != kind:
		return nil, badKey(path, "it holds a %.40q, want a %s", block.Type, kind)
	case strings.TrimSpace(string(rest)) != "":
		return nil, badKey(path, "something follows the key")
	}
	return block.Bytes, nil
}

// PublicSuffix is what the public key's file has behind the private one's name.
const PublicSuffix = ".pub"

// GenerateKey makes a pair of keys: the private one at path, readable by its owner only, and the public one at path
// with PublicSuffix. Neither may exist: a key isn't overwritten. Errors: invalid_arguments; the operating system's.
func GenerateKey(path string, random io.Reader) (PublicKey, error) {
	public, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return PublicKey{}, err
	}
	named, publicDER, err := newPublicKey(public)
	if err != nil {
		return PublicKey{}, err
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return PublicKey{}, err
	}
	if _, err := os.Lstat(path + PublicSuffix); err == nil {
		return PublicKey{}, keyExists(path + PublicSuffix)
	}
	if err := createKeyFile(path, 0o600, privateBlock, privateDER); err != nil {
		return PublicKey{}, err
	}
	if err := createKeyFile(path+PublicSuffix, 0o644, publicBlock, publicDER); err != nil {
		return PublicKey{}, errors.Join(err, os.Remove(path))
	}
	return named, atomicfile.SyncDir(filepath.Dir(path))
}

func keyExists(path string) error {
	return fault.New(fault.CodeInvalidArguments, "%s exists", path).WithHint("choose another name: a key isn't overwritten")
}

func createKeyFile(path string, mode os.FileMode, kind string, der []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return keyExists(path)
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.CodePathNotWritable, "there is no folder for %s", path)
	case err != nil:
		return err
	}
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
	}
	return nil
}
