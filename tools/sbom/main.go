// Command sbom writes the software bill of materials of Go programs, in SPDX 2.3:
//
//	go run ./tools/sbom -version 0.1.0 -o out/loadline-0.1.0.spdx.json bin/loadline bin/loadline-lab
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/tools/spdx"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	flags.SetOutput(log)
	output := flags.String("o", "", "the file to write, such as out/loadline.spdx.json")
	version := flags.String("version", "", "the version of the programs, such as 0.1.0")
	lock := flags.String("npm", "web/package-lock.json", "lock file of the page that is embedded in the programs, or \"none\"")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *output == "" || *version == "" || flags.NArg() == 0 {
		return fmt.Errorf("give -o FILE, -version VERSION and at least one program; see -help")
	}
	var programs []spdx.Program
	for _, path := range flags.Args() {
		p, err := spdx.ReadProgram(filepath.Base(path), *version, path)
		if err != nil {
			return err
		}
		programs = append(programs, p)
	}
	created, err := programs[0].Committed()
	if err != nil {
		return err
	}
	name := programs[0].Name + "-" + *version
	d, err := spdx.Collect(ctx, name, created, programs, *lock)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*output), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(*output, d.Write); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n  %d packages, %d of them without a known licence\n", *output, len(d.Packages), d.Unlicensed())
	return nil
}
