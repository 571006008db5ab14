package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/tools/spdx"
)

// The user that the program runs as: no name, no home, no rights.
const user = 65532

// build makes the program for every platform, and the image of it.
func (s *settings) build(ctx context.Context, log io.Writer) (*Image, []spdx.Program, error) {
	beside, err := s.contents()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	img := &Image{
		Name: s.name + ":" + s.version, User: fmt.Sprintf("%d:%d", user, user), Program: "/" + s.program(),
		Env: []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    s.program(),
			"org.opencontainers.image.version":  s.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	var programs []spdx.Program
	names := strings.Split(s.platforms, ",")
	for n, name := range names {
		system, architecture, _ := strings.Cut(name, "/")
		p := Platform{OS: system, Architecture: architecture, Files: beside}
		fmt.Fprintf(log, "building %s for %s (%d of %d)\n", s.pkg, p, n+1, len(names))
		file := filepath.Join(dir, system+"-"+architecture)
		if err := s.compile(ctx, p, file, log); err != nil {
			return nil, nil, fmt.Errorf("build %s for %s: %w", s.pkg, p, err)
		}
		program, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		p.Files = append(p.Files[:len(p.Files):len(p.Files)], File{Path: img.Program, Mode: 0o755, Contents: program})
		img.Platforms = append(img.Platforms, p)
		made, err := spdx.ReadProgram(s.program(), s.version, file)
		if err != nil {
			return nil, nil, err
		}
		programs = append(programs, made)
	}
	if revision := programs[0].Setting("vcs.revision"); revision != "" {
		if programs[0].Setting("vcs.modified") == "true" {
			revision += "-modified"
		}
		img.Labels["org.opencontainers.image.revision"] = revision
	}
	img.Created, err = timestamp(programs[0])
	return img, programs, err
}

// program is the name of the program in the image: the last part of the image's.
func (s *settings) program() string { return path.Base(s.name) }

// architecture levels and experiments of the build, which Go otherwise takes from the environment or
// the user's settings: with others the same commit gives another program.
var architecture = []string{"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG="}

// compile builds statically, without symbols, gRPC's trace pages and the paths of this
// machine.
func (s *settings) compile(ctx context.Context, p Platform, output string, log io.Writer) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-tags", "grpcnotrace", "-ldflags",
		"-s -w -X main.version="+s.version, "-o", output, s.pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	c.Env = append(c.Env, architecture...)
	c.Stdout, c.Stderr = log, log
	return c.Run()
}

// timestamp of the image: SOURCE_DATE_EPOCH, or that of the commit, or 1970 if there is none. The
// clock would make every image different.
func timestamp(p spdx.Program) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return p.Committed()
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: must be seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
