package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/tools/spdx"
)

// Types of the provenance. The build type and the builder are described in docs/supplychain.md.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/loadline/loadline/blob/main/docs/supplychain.md#build-type"
	localBuilder   = "https://github.com/loadline/loadline/blob/main/docs/supplychain.md#local-builds"
	repository     = "git+https://github.com/loadline/loadline"
)

// statement is an in-toto statement, version 1, with SLSA provenance, version 1. It is not
// signed; the release workflow signs its predicate. It has no times: they would make it another
// one for the same image.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// resource is a file, a module or a commit, with its digests.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	Definition struct {
		Type         string            `json:"buildType"`
		External     map[string]string `json:"externalParameters"`
		Internal     map[string]string `json:"internalParameters"`
		Dependencies []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	Run struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version,omitempty"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// writeProvenance states what the image, its tar and its bill of materials were made from.
func (s *settings) writeProvenance(img *Image, programs []spdx.Program) error {
	st := statement{Type: statementType, PredicateType: provenanceType}
	data, err := os.ReadFile(s.output)
	if err != nil {
		return err
	}
	digest, err := indexDigest(data)
	if err != nil {
		return err
	}
	bill, err := os.ReadFile(s.beside(".spdx.json"))
	if err != nil {
		return err
	}
	st.Subject = []resource{
		{Name: img.Name, Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}},
		{Name: filepath.Base(s.output), Digest: sha256Of(data)},
		{Name: filepath.Base(s.beside(".spdx.json")), Digest: sha256Of(bill)},
	}
	d := &st.Predicate.Definition
	d.Type = buildType
	d.External = map[string]string{"package": s.pkg, "name": s.name, "version": s.version, "platforms": s.platforms}
	d.Internal = map[string]string{"created": img.Created.Format("2006-01-02T15:04:05Z")}
	for _, setting := range programs[0].Info.Settings {
		if !slices.Contains([]string{"GOOS", "GOARCH", "GOAMD64", "GOARM64"}, setting.Key) { // of one platform
			d.Internal[setting.Key] = setting.Value
		}
	}
	if d.Dependencies, err = s.dependencies(programs); err != nil {
		return err
	}
	st.Predicate.Run.Builder.ID = s.builder
	st.Predicate.Run.Builder.Version = map[string]string{"go": programs[0].Info.GoVersion}
	return atomicfile.Write(s.beside(".provenance.json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(st)
	})
}

// dependencies are the commit, the certificates and the modules, by their sums in go.sum.
func (s *settings) dependencies(programs []spdx.Program) ([]resource, error) {
	var all []resource
	if revision := programs[0].Setting("vcs.revision"); revision != "" {
		all = append(all, resource{URI: repository + "@" + revision, Digest: map[string]string{"gitCommit": revision}})
	}
	trusted, err := s.authorities()
	if err != nil {
		return nil, err
	}
	if trusted != nil {
		all = append(all, resource{Name: authorities[0], Digest: sha256Of(trusted)})
	}
	var modules []debug.Module
	for _, p := range programs {
		modules = append(modules, p.Modules()...)
	}
	slices.SortFunc(modules, func(a, b debug.Module) int { return cmp.Compare(a.Path+"@"+a.Version, b.Path+"@"+b.Version) })
	for _, m := range slices.Compact(modules) {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("module %s %s has the sum %q in the program: must be h1: and a digest, as in go.sum", m.Path, m.Version, m.Sum)
		}
		all = append(all, resource{URI: spdx.ModuleURL(m), Digest: map[string]string{"dirHash": hex.EncodeToString(sum)}})
	}
	return all, nil
}

func sha256Of(data []byte) map[string]string {
	return map[string]string{"sha256": strings.TrimPrefix(digestOf(data), "sha256:")}
}
