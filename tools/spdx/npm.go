package spdx

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Web is the report's page and the npm packages that it is made of and with.
type Web struct {
	Name     string // of the page's own package
	Licence  string
	Packages []NPM // by name
}

// NPM is an npm package of a lock file.
type NPM struct {
	Name      string
	Version   string `json:"version"`
	Licence   string `json:"license"`
	Integrity string `json:"integrity"` // such as sha512-BASE64
	Dev       bool   `json:"dev"`       // used to build the page, not part of it
}

// ReadWeb reads the lock file of the page.
func ReadWeb(path string) (*Web, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Name     string         `json:"name"`
		Version  int            `json:"lockfileVersion"`
		Packages map[string]NPM `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if lock.Version != 3 {
		return nil, fmt.Errorf("%s is a lock file of version %d: must be 3, as npm 7 and later write it", path, lock.Version)
	}
	w := &Web{Name: lock.Name, Licence: lock.Packages[""].Licence}
	if w.Name == "" {
		w.Name = filepath.Base(filepath.Dir(path))
	}
	const folder = "node_modules/"
	for place, p := range lock.Packages {
		if at := strings.LastIndex(place, folder); at >= 0 {
			p.Name = place[at+len(folder):]
			w.Packages = append(w.Packages, p)
		}
	}
	slices.SortFunc(w.Packages, func(a, b NPM) int { return strings.Compare(a.Name+"@"+a.Version, b.Name+"@"+b.Version) })
	return w, nil
}

// url is the package URL.
func (p NPM) url() string {
	return "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version
}

// checksums of the package's archive; none if the lock file has none.
func (p NPM) checksums() []Checksum {
	text, found := strings.CutPrefix(p.Integrity, "sha512-")
	sum, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil {
		return nil
	}
	return []Checksum{{"SHA512", hex.EncodeToString(sum)}}
}

// addWeb adds the page and its packages, and returns the page's id.
func (d *Document) addWeb(w *Web) string {
	page := d.add(Package{Name: w.Name, LicenceDeclared: w.Licence, Purpose: "APPLICATION",
		Comment: "the report's page, embedded in the programs"})
	for _, p := range w.Packages {
		id := d.add(Package{
			Name: p.Name, Version: p.Version, LicenceDeclared: p.Licence, Purpose: "LIBRARY", Checksums: p.checksums(),
			References: []Reference{{"PACKAGE-MANAGER", "purl", p.url()}},
		})
		if p.Dev {
			d.relate(id, devDependency, page)
		} else {
			d.relate(page, dependsOn, id)
		}
	}
	return page
}
