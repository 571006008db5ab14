package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/tools/spdx"
)

// TestEveryModuleOfTheProgramsIsListed: the bill of materials of the product's programs has every
// module that `go version -m` names, with its version and sum, and the packages of the page.
func TestEveryModuleOfTheProgramsIsListed(t *testing.T) {
	t.Chdir("../..")
	dir := t.TempDir()
	if said, err := exec.Command("go", "build", "-o", dir+"/", "./cmd/loadline", "./cmd/loadline-lab").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	programs := []string{filepath.Join(dir, "loadline"), filepath.Join(dir, "loadline-lab")}
	output := filepath.Join(dir, "out", "loadline.spdx.json")
	var said bytes.Buffer
	if err := run(context.Background(), append([]string{"-version", "7.8.9", "-o", output}, programs...), &said, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var d spdx.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	listed, unknown := map[string]string{}, 0
	for _, p := range d.Packages {
		listed[p.Name+" "+p.Version] = p.Comment
		if p.LicenceDeclared == spdx.Unknown && strings.HasPrefix(p.Comment, "go.sum: ") {
			unknown++
		}
	}
	modules := 0
	for _, program := range programs {
		out, err := exec.Command("go", "version", "-m", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			part := strings.Fields(line)
			if len(part) != 4 || part[0] != "dep" {
				continue
			}
			modules++
			if listed[part[1]+" "+part[2]] != "go.sum: "+part[3] {
				t.Errorf("%s of %s is not listed with its sum", strings.TrimSpace(line), filepath.Base(program))
			}
		}
	}
	if modules < 20 {
		t.Errorf("`go version -m` names %d modules: it is written in another way now", modules)
	}
	if unknown > modules/4 {
		t.Errorf("%d of %d modules have no known licence", unknown, modules)
	}
	if web, err := spdx.ReadWeb("web/package-lock.json"); err != nil || len(web.Packages) == 0 {
		t.Errorf("the page's packages: %v, %v", web, err)
	} else {
		for _, p := range web.Packages {
			if _, there := listed[p.Name+" "+p.Version]; !there {
				t.Errorf("npm package %s %s is not listed", p.Name, p.Version)
			}
		}
	}
	if bytes.Contains(text, []byte(dir)) {
		t.Error("it has paths of this machine")
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, row := range []struct {
		name, message string
		args          []string
	}{
		{"no program", "at least one program", []string{"-o", "x", "-version", "1"}},
		{"not a program", "build information", []string{"-o", "x", "-version", "1", "main.go"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run(context.Background(), row.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), row.message) {
				t.Errorf("got %v", err)
			}
		})
	}
}
