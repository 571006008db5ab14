package spdx

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// Program is a Go program for one platform.
type Program struct {
	Name     string // such as loadline
	Version  string
	Platform string // such as linux/arm64
	SHA256   string // of the file, in hex
	Info     *debug.BuildInfo
}

// ReadProgram reads a program from its file.
func ReadProgram(name, version, path string) (Program, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return Program{}, fmt.Errorf("read the build information of %s: %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Program{}, err
	}
	sum := sha256.Sum256(data)
	p := Program{Name: name, Version: version, SHA256: hex.EncodeToString(sum[:]), Info: info}
	p.Platform = p.Setting("GOOS") + "/" + p.Setting("GOARCH")
	return p, nil
}

// Setting of the build; "" = it is not set.
func (p Program) Setting(key string) string {
	for _, s := range p.Info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// Committed is the time of the commit that the program was built from, or 1970 if it is unknown.
func (p Program) Committed() (time.Time, error) {
	text := p.Setting("vcs.time")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the commit: %w", err)
	}
	return t, nil
}

// Modules linked into the program, as they were compiled: replacements in place of what they
// replace.
func (p Program) Modules() []debug.Module {
	var all []debug.Module
	for _, m := range p.Info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, debug.Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
	}
	return all
}

// ModuleURL is the package URL of a Go module.
func ModuleURL(m debug.Module) string {
	return "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}

// Licences by "path@version" of a module, or by "std" for the standard library. Those that are
// missing are unknown.
type Licences map[string]string

// New makes the document of programs, with the npm packages that the page in them is made of.
func New(name string, created time.Time, programs []Program, web *Web, licences Licences) (*Document, error) {
	d := newDocument(name, created)
	page := ""
	if web != nil {
		page = d.addWeb(web)
	}
	for _, p := range programs {
		id := d.add(Package{
			Name: p.Name + " for " + p.Platform, Version: p.Version, Purpose: "APPLICATION", LicenceDeclared: "Apache-2.0",
			Checksums: []Checksum{{"SHA256", p.SHA256}},
			Comment:   "built by " + p.Info.GoVersion + " from " + p.Info.Path,
		})
		d.relate(documentID, describes, id)
		if page != "" {
			d.relate(id, contains, page)
		}
		standard := d.add(Package{
			Name: "std", Version: p.Info.GoVersion, Purpose: "LIBRARY", LicenceDeclared: licences["std"],
			Comment:    "the Go standard library and runtime",
			References: []Reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/std@" + strings.TrimPrefix(p.Info.GoVersion, "go")}},
		})
		d.relate(id, dependsOn, standard)
		for _, m := range p.Modules() {
			module := d.add(Package{
				Name: m.Path, Version: m.Version, Purpose: "LIBRARY", LicenceDeclared: licences[m.Path+"@"+m.Version],
				Comment:    "go.sum: " + m.Sum, // of the module's tree: SPDX's checksums are of one file
				References: []Reference{{"PACKAGE-MANAGER", "purl", ModuleURL(m)}},
			})
			d.relate(id, dependsOn, module)
		}
	}
	return d, d.finish()
}

// Collect makes the document of programs with the licences in the module cache. The lock file is
// that of the page in the programs; "none" = they have no page.
func Collect(ctx context.Context, name string, created time.Time, programs []Program, lock string) (*Document, error) {
	var web *Web
	if lock != "none" {
		var err error
		if web, err = ReadWeb(lock); err != nil {
			return nil, err
		}
	}
	licences, err := FindLicences(ctx, programs)
	if err != nil {
		return nil, err
	}
	return New(name, created, programs, web, licences)
}

// Unlicensed counts the packages whose licence is unknown.
func (d *Document) Unlicensed() int {
	n := 0
	for _, p := range d.Packages {
		if p.LicenceDeclared == Unknown {
			n++
		}
	}
	return n
}
