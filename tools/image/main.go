// Command image builds a container image of a Loadline program without a container engine: the
// static program for each platform, in a tar that containerd, Podman, skopeo and
// Docker read. The same commit, Go and certificates give the same bytes.
//
// Beside the tar it writes what is in it, NAME.spdx.json, and what it was made from,
// NAME.provenance.json.
//
// Reading order: main.go (flags and steps), build.go (the program), contents.go (the other
// files), image.go (what an image is made of), layer.go (its files),
// layout.go (the tar in the layout of the Open Container Initiative), provenance.go, check.go
// (reading one back).
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/tools/spdx"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type settings struct {
	output, version, name, pkg, ca, platforms, lock, builder string
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.StringVar(&s.output, "o", "", "the tar to write, such as out/loadline.tar")
	flags.StringVar(&s.version, "version", "", "the version, which becomes the tag too, such as 0.1.0")
	flags.StringVar(&s.name, "name", "loadline.dev/loadline", "the image's name without its tag; its last part names the program in it")
	flags.StringVar(&s.platforms, "platforms", "linux/amd64,linux/arm64",
		"for which machines, with commas between them; Docker without containerd's store loads the first")
	flags.StringVar(&s.pkg, "package", "./cmd/loadline", "the program")
	flags.StringVar(&s.ca, "ca", "", "file of the certificate authorities that HTTPS is checked against, or \"none\" (default: this "+
		"machine's)")
	flags.StringVar(&s.lock, "npm", "web/package-lock.json", "lock file of the page that is embedded in the program, or \"none\"")
	flags.StringVar(&s.builder, "builder", localBuilder, "URI of what builds, for the provenance")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.output == "" || s.version == "" || flags.NArg() > 0 {
		return fmt.Errorf("give -o FILE and -version VERSION, and no arguments; see -help")
	}
	img, programs, err := s.build(ctx, log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.output), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(s.output, img.Write); err != nil {
		return err
	}
	bill, err := spdx.Collect(ctx, img.Name, img.Created, programs, s.lock)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.beside(".spdx.json"), bill.Write); err != nil {
		return err
	}
	if err := check(ctx, s, out); err != nil {
		return err
	}
	return s.writeProvenance(img, programs)
}

// beside is the name of a file beside the tar.
func (s *settings) beside(ending string) string { return strings.TrimSuffix(s.output, ".tar") + ending }

// check reads the written image, and runs the program in it if this machine can.
func check(ctx context.Context, s settings, out io.Writer) error {
	data, err := os.ReadFile(s.output)
	if err != nil {
		return err
	}
	img, err := readImage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", s.output, err)
	}
	digest, err := indexDigest(data)
	if err != nil {
		return fmt.Errorf("%s: %w", s.output, err)
	}
	fmt.Fprintf(out, "%s\n  %s, %.1f MB\n  %s\n", s.output, img.Name, float64(len(data))/1e6, digest)
	for _, p := range img.Platforms {
		said := "not run: this machine is " + runtime.GOOS + "/" + runtime.GOARCH
		if p.OS == runtime.GOOS && p.Architecture == runtime.GOARCH {
			if said, err = runVersion(ctx, p, img.Program); err != nil {
				return fmt.Errorf("%s for %s: %w", s.output, p, err)
			}
			if !strings.Contains(said, " "+s.version+" ") && !strings.HasSuffix(said, " "+s.version) {
				return fmt.Errorf("%s for %s says %q: must be version %s", s.output, p, said, s.version)
			}
		}
		fmt.Fprintf(out, "  %s: %s\n", p, said)
	}
	return nil
}

func runVersion(ctx context.Context, p Platform, program string) (string, error) {
	dir, err := os.MkdirTemp("", "image-check-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, f := range p.Files {
		if f.Path != program {
			continue
		}
		path := filepath.Join(dir, filepath.Base(program))
		if err := os.WriteFile(path, f.Contents, f.Mode.Perm()&fs.ModePerm); err != nil {
			return "", err
		}
		said, err := exec.CommandContext(ctx, path, "version").Output()
		return strings.TrimSpace(string(said)), err
	}
	return "", fmt.Errorf("it has no %s", program)
}
