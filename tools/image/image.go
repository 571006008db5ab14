package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Image is one program for one or several platforms.
type Image struct {
	Name      string // such as loadline.dev/loadline:0.1.0
	Created   time.Time
	User      string // numbers, such as 65532:65532: there is no /etc/passwd
	Program   string // the path that is run, without a shell
	Env       []string
	Labels    map[string]string
	Platforms []Platform
}

// Platform is the image for one kind of machine.
type Platform struct {
	OS, Architecture string
	Files            []File
}

// String is the platform's usual name, such as linux/arm64.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// File is a file or, with fs.ModeDir, a folder of the image.
type File struct {
	Path     string // absolute
	Mode     fs.FileMode
	User     int // owner and group
	Contents []byte
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-][a-z0-9]+)*)+:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	userPattern = regexp.MustCompile(`^[0-9]+(:[0-9]+)?$`)
)

// Validate names everything that is wrong.
func (i *Image) Validate() error {
	var faults []error
	fault := func(format string, values ...any) { faults = append(faults, fmt.Errorf(format, values...)) }
	if !namePattern.MatchString(i.Name) {
		fault("name %q: must be a host, a path and a tag, such as loadline.dev/loadline:0.1.0", i.Name)
	}
	if !userPattern.MatchString(i.User) {
		fault("user %q: must be numbers, such as 65532:65532", i.User)
	}
	if len(i.Platforms) == 0 {
		fault("there is no platform: give at least one, such as linux/amd64")
	}
	seen := map[string]bool{}
	for _, p := range i.Platforms {
		if p.OS == "" || p.Architecture == "" || seen[p.String()] {
			fault("platform %q: must be a system and an architecture, each once, such as linux/arm64", p)
		}
		seen[p.String()] = true
		if !slices.ContainsFunc(p.Files, func(f File) bool { return f.Path == i.Program && f.Mode&0o111 != 0 }) {
			fault("platform %s: no file is %q that can be run", p, i.Program)
		}
		paths := map[string]bool{}
		for _, f := range p.Files {
			if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" || paths[f.Path] {
				fault("platform %s: file %q: must be an absolute path, without detours, once", p, f.Path)
			}
			paths[f.Path] = true
		}
	}
	return errors.Join(faults...)
}

// tag is the part after the last colon of the name.
func (i *Image) tag() string { return i.Name[strings.LastIndex(i.Name, ":")+1:] }
