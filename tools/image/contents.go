package main

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Paths of CA certificates on build systems, and where Go looks for them in the image.
var authorities = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Alpine; and in the image
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
	"/etc/ssl/cert.pem",                  // macOS
}

// contents are the files beside the program: nothing to run, no shell, no
// /etc/passwd.
func (s *settings) contents() ([]File, error) {
	files := []File{
		{Path: "/models", Mode: fs.ModeDir | 0o755},
		{Path: "/var/lib/loadline", Mode: fs.ModeDir | 0o755, User: user},
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, fmt.Errorf("run this in the repository's top folder: %w", err)
	}
	files = append(files, File{Path: "/LICENSE", Mode: 0o644, Contents: licence})
	trusted, err := s.authorities()
	if err != nil {
		return nil, err
	}
	if trusted != nil {
		files = append(files, File{Path: authorities[0], Mode: 0o644, Contents: trusted})
	}
	return files, nil
}

// authorities are certificates; nil if there are none.
func (s *settings) authorities() ([]byte, error) {
	places := authorities
	switch s.ca {
	case "none":
		return nil, nil
	case "":
	default:
		places = []string{s.ca}
	}
	for _, place := range places {
		text, err := os.ReadFile(place)
		if errors.Is(err, fs.ErrNotExist) && s.ca == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if block, _ := pem.Decode(text); block == nil || block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%s holds no certificates: give -ca FILE or -ca none", place)
		}
		return text, nil
	}
	return nil, nil
}
