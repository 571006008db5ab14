package spdx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// FindLicences reads the licences of the modules of programs from the module cache. A module that
// is not in the cache, or whose licence is not one of the common ones, is left out.
func FindLicences(ctx context.Context, programs []Program) (Licences, error) {
	var wanted []string
	for _, p := range programs {
		for _, m := range p.Modules() {
			wanted = append(wanted, m.Path+"@"+m.Version)
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	root, err := goOutput(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	found := Licences{"std": licenceIn(strings.TrimSpace(string(root)))}
	if len(wanted) == 0 {
		return found, nil
	}
	// Modules by path and version are looked up in the cache, not in go.mod.
	text, err := goOutput(ctx, append([]string{"list", "-m", "-e", "-json=Path,Version,Dir"}, wanted...)...)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		if m.Dir != "" {
			found[m.Path+"@"+m.Version] = licenceIn(m.Dir)
		}
	}
}

func goOutput(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOFLAGS=-mod=readonly")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// licenceIn is the licence of a folder's licence file; Unknown if there is none or several differ.
func licenceIn(dir string) string {
	var all []string
	entries, _ := os.ReadDir(dir) // none: unknown
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && name != "UNLICENSE" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			all = append(all, LicenceOf(string(text)))
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 1 {
		return all[0]
	}
	return Unknown
}

// marks are sentences that only the text of a licence has. BSD-3-Clause is BSD-2-Clause with one
// more condition.
var marks = []struct{ licence, text string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"Apache-2.0", "licensed under the apache license version 2.0"}, // the notice without the text
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software without"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

// LicenceOf is the SPDX expression of the licences whose text is in a licence file; Unknown if
// there are none. A file with several puts the work under all of them.
func LicenceOf(text string) string {
	plain := strings.ToLower(strings.Join(strings.Fields(text), " "))
	plain = strings.NewReplacer("version 2.0 january", "version 2.0, january", "license, version 2.0", "license version 2.0").Replace(plain)
	var all []string
	for _, m := range marks {
		if !strings.Contains(plain, m.text) || slices.Contains(all, m.licence) ||
			m.licence == "BSD-2-Clause" && slices.Contains(all, "BSD-3-Clause") {
			continue
		}
		all = append(all, m.licence)
	}
	if len(all) == 0 {
		return Unknown
	}
	return strings.Join(all, " AND ")
}
