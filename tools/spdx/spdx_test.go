package spdx

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func program(name, platform string) Program {
	return Program{Name: name, Version: "1.2", Platform: platform, SHA256: strings.Repeat("ab", 32), Info: &debug.BuildInfo{
		GoVersion: "go1.99", Path: "example.com/" + name,
		Deps: []*debug.Module{
			{Path: "example.com/a_b", Version: "v1.0.0", Sum: "h1:x"},
			{Path: "example.com/a-b", Version: "v1.0.0", Sum: "h1:y"}, // the same letters in an id
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0+incompatible"}},
		},
	}}
}

func sample(t *testing.T) *Document {
	t.Helper()
	web := &Web{Name: "page", Licence: "Apache-2.0", Packages: []NPM{
		{Name: "@scope/tool", Version: "3.0.0", Dev: true},
		{Name: "plot", Version: "1.0.0", Licence: "MIT", Integrity: "sha512-AAEC"},
	}}
	d, err := New("things", time.Unix(1700000000, 0), []Program{program("thing", "linux/amd64"), program("thing", "linux/arm64")}, web,
		Licences{"std": "BSD-3-Clause", "example.com/a-b@v1.0.0": "MIT"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheDocumentListsWhatIsInPrograms: modules once for all platforms, replacements in place of
// what they replace, what builds the page apart from what is in it.
func TestTheDocumentListsWhatIsInPrograms(t *testing.T) {
	d := sample(t)
	var got []string
	for _, r := range d.Relationships {
		name := func(id string) string {
			for _, p := range d.Packages {
				if p.ID == id {
					return strings.TrimSpace(p.Name + " " + p.Version)
				}
			}
			return id
		}
		got = append(got, name(r.Element)+" "+r.Type+" "+name(r.Related))
	}
	for _, want := range []string{
		"SPDXRef-DOCUMENT DESCRIBES thing for linux/amd64 1.2",
		"SPDXRef-DOCUMENT DESCRIBES thing for linux/arm64 1.2",
		"thing for linux/amd64 1.2 DEPENDS_ON example.com/a_b v1.0.0",
		"thing for linux/arm64 1.2 DEPENDS_ON example.com/a-b v1.0.0",
		"thing for linux/arm64 1.2 DEPENDS_ON example.com/new v2.0.0+incompatible",
		"thing for linux/arm64 1.2 DEPENDS_ON std go1.99",
		"thing for linux/amd64 1.2 CONTAINS page",
		"page DEPENDS_ON plot 1.0.0",
		"@scope/tool 3.0.0 DEV_DEPENDENCY_OF page",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(d.Packages) != 9 { // two programs, std, three modules, page, two of npm
		t.Errorf("%d packages", len(d.Packages))
	}
	for _, p := range d.Packages {
		switch p.Name {
		case "example.com/a-b":
			if p.LicenceDeclared != "MIT" || p.References[0].Locator != "pkg:golang/example.com/a-b@v1.0.0" {
				t.Errorf("%+v", p)
			}
		case "example.com/new":
			if p.LicenceDeclared != Unknown || p.References[0].Locator != "pkg:golang/example.com/new@v2.0.0%2Bincompatible" {
				t.Errorf("%+v", p)
			}
		case "@scope/tool":
			if p.References[0].Locator != "pkg:npm/%40scope/tool@3.0.0" || p.Checksums != nil {
				t.Errorf("%+v", p)
			}
		case "plot":
			if len(p.Checksums) != 1 || p.Checksums[0] != (Checksum{"SHA512", "000102"}) {
				t.Errorf("%+v", p)
			}
		}
	}
}

func TestTheSameProgramsGiveTheSameDocument(t *testing.T) {
	var one, two bytes.Buffer
	a, b := sample(t), sample(t)
	if err := a.Write(&one); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(&two); err != nil {
		t.Fatal(err)
	}
	if one.String() != two.String() {
		t.Error("the bytes differ")
	}
	other, err := New("things", time.Unix(1700000001, 0), []Program{program("thing", "linux/amd64")}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if other.Namespace == a.Namespace {
		t.Errorf("another document has the same namespace %s", a.Namespace)
	}
}

// TestRequiredFieldsAreThere: the fields that SPDX 2.3 requires, by their names in JSON.
func TestRequiredFieldsAreThere(t *testing.T) {
	var text bytes.Buffer
	if err := sample(t).Write(&text); err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(text.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages",
		"relationships"} {
		if d[key] == nil {
			t.Errorf("no %s", key)
		}
	}
	for _, p := range d["packages"].([]any) {
		for _, key := range []string{"name", "SPDXID", "downloadLocation", "filesAnalyzed", "licenseConcluded", "licenseDeclared"} {
			if _, there := p.(map[string]any)[key]; !there {
				t.Errorf("a package without %s: %v", key, p)
			}
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for _, row := range []struct {
		name, message string
		change        func(*Document)
	}{
		{"an id twice", "once", func(d *Document) { d.Packages[1].ID = d.Packages[0].ID }},
		{"an id with a letter that is not allowed", "must be SPDXRef-", func(d *Document) { d.Packages[0].ID = "SPDXRef-a_b" }},
		{"a relationship to nothing", "must name elements", func(d *Document) { d.Relationships[0].Related = "SPDXRef-none" }},
		{"nothing described", "describes nothing", func(d *Document) { d.Relationships = nil }},
		{"no licence", "licences", func(d *Document) { d.Packages[0].LicenceDeclared = "" }},
		{"no time", "instant", func(d *Document) { d.Creation.Created = "today" }},
		{"no namespace", "namespace", func(d *Document) { d.Namespace = "" }},
		{"another version", "SPDX-2.3", func(d *Document) { d.Version = "SPDX-3.0" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := sample(t)
			row.change(d)
			if err := d.Validate(); err == nil || !strings.Contains(err.Error(), row.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLicences(t *testing.T) {
	bsd := "Redistribution and use ... Redistributions in binary form must reproduce the above\ncopyright notice, ..."
	for _, row := range []struct{ name, text, want string }{
		{"apache, over several lines", "   Apache License\n   Version 2.0, January 2004\n", "Apache-2.0"},
		{"apache, the notice alone", "Licensed under the Apache License, Version 2.0 (the \"License\")", "Apache-2.0"},
		{"mit", "Permission is hereby granted, free of charge, to any\nperson obtaining a copy", "MIT"},
		{"bsd with two conditions", bsd, "BSD-2-Clause"},
		{"bsd with three", bsd + " may be used to endorse or promote products derived from\nthis software without ...", "BSD-3-Clause"},
		{"isc", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee", "ISC"},
		{"two in one file", "Permission is hereby granted, free of charge, to any person obtaining a copy. Licensed under the Apache License, " +
			"Version 2.0", "Apache-2.0 AND MIT"},
		{"another", "All rights reserved.", Unknown},
	} {
		if got := LicenceOf(row.text); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
	dir := t.TempDir()
	if got := licenceIn(dir); got != Unknown {
		t.Errorf("a folder without a licence: %s", got)
	}
	for name, text := range map[string]string{"LICENSE": "Licensed under the Apache License, Version 2.0", "LICENSE.other": "Mine."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := licenceIn(dir); got != Unknown {
		t.Errorf("two files that differ: %s", got)
	}
}
