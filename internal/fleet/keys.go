package fleet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Weights may be signed with Ed25519 (RFC 8032). A teacher signs with one key; students accept weights
// that any of several keys signed, so that a key can be replaced: add the new public key everywhere, sign
// with the new key, remove the old public key. Without public keys signatures are not checked.

// signedMark is the prefix of signed weights, with the version of the format. The signature, of 64 bytes,
// and the weights follow.
var signedMark = []byte("LLS\x01")

// ErrUnsigned rejects weights without a signature of a trusted key.
var ErrUnsigned = errors.New("the weights are not signed by a trusted key")

// keys of one end of a fleet.
type keys struct {
	sign  ed25519.PrivateKey // nil = weights are not signed
	trust []ed25519.PublicKey
}

// readKeys of a configuration.
func (c *Config) readKeys() (k keys, err error) {
	if c.SignKey != "" {
		if k.sign, err = readSignKey(c.SignKey); err != nil {
			return k, err
		}
	}
	if c.TrustKeys != "" {
		if k.trust, err = readTrustKeys(c.TrustKeys); err != nil {
			return k, err
		}
		own := func(key ed25519.PublicKey) bool { return key.Equal(k.sign.Public()) }
		if k.sign != nil && !slices.ContainsFunc(k.trust, own) {
			return k, fmt.Errorf("fleet: the public key of %s is not among those of %s: students would refuse its weights", c.SignKey,
				c.TrustKeys)
		}
	}
	return k, nil
}

// message is what is signed: the weights and the fleet that they are for, so that weights of one fleet
// are worth nothing in another.
func message(fleet string, weights []byte) []byte {
	return append([]byte("loadline weights of fleet "+fleet+"\n"), weights...)
}

// seal signs encoded weights, if there is a key.
func (k *keys) seal(fleet string, weights []byte) []byte {
	if k.sign == nil {
		return weights
	}
	return slices.Concat(signedMark, ed25519.Sign(k.sign, message(fleet, weights)), weights)
}

// open returns the encoded weights of an object, if a trusted key has signed them or no key is trusted.
func (k *keys) open(fleet string, object []byte) ([]byte, error) {
	weights, signature := object, []byte(nil)
	if head := len(signedMark) + ed25519.SignatureSize; len(object) >= head && bytes.HasPrefix(object, signedMark) {
		signature, weights = object[len(signedMark):head], object[head:]
	}
	if len(k.trust) == 0 {
		return weights, nil
	}
	signed := message(fleet, weights)
	for _, key := range k.trust {
		if signature != nil && ed25519.Verify(key, signed, signature) {
			return weights, nil
		}
	}
	return nil, ErrUnsigned
}

// NewKey makes a key pair and writes it to path.key, for the teacher, and path.pub, for everyone who uses
// its weights. It replaces no file.
func NewKey(path string, random io.Reader) (public string, err error) {
	pub, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	pubDER, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return "", err
	}
	for _, f := range []struct {
		name string
		kind string
		der  []byte
		mode os.FileMode
	}{{path + ".key", "PRIVATE KEY", der, 0o600}, {path + ".pub", "PUBLIC KEY", pubDER, 0o644}} {
		if err := writeNew(f.name, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), f.mode); err != nil {
			return "", err
		}
	}
	return Fingerprint(pub), nil
}

// writeNew writes a file that must not exist.
func writeNew(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// Fingerprint names a public key.
func Fingerprint(key ed25519.PublicKey) string { return fmt.Sprintf("%.8x", sha256.Sum256(key)) }

func readSignKey(path string) (ed25519.PrivateKey, error) {
	block, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(block[0])
	if private, ok := key.(ed25519.PrivateKey); err == nil && ok {
		return private, nil
	}
	return nil, fmt.Errorf("fleet: %s holds no Ed25519 key, must be one that loadline teacher keygen wrote", path)
}

// readTrustKeys reads the public keys of a file, or of all files that end in .pub of a folder.
func readTrustKeys(path string) ([]ed25519.PublicKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("fleet: public keys: %w", err)
	}
	files := []string{path}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("fleet: public keys: %w", err)
		}
		files = nil
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".pub") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	var all []ed25519.PublicKey
	for _, file := range files {
		blocks, err := readPEM(file, "PUBLIC KEY")
		if err != nil {
			return nil, err
		}
		for _, der := range blocks {
			key, err := x509.ParsePKIXPublicKey(der)
			public, ok := key.(ed25519.PublicKey)
			if err != nil || !ok {
				return nil, fmt.Errorf("fleet: %s holds a key that is no Ed25519 public key", file)
			}
			all = append(all, public)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("fleet: %s holds no public key: put files of loadline teacher keygen that end in .pub there", path)
	}
	return all, nil
}

// readPEM returns the blocks of one type, of which there must be one at least.
func readPEM(path, kind string) (blocks [][]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fleet: key: %w", err)
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type == kind {
			blocks = append(blocks, block.Bytes)
		}
		text = rest
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("fleet: %s holds no %s in PEM", path, strings.ToLower(kind))
	}
	return blocks, nil
}
