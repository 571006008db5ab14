// Command binaries builds the programs of test/cluster, and prints their folder. With -karpenter
// it builds Karpenter too, with -node the kubelet, with -knative Knative Serving.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/loadline/loadline/test/cluster/binaries"
)

func main() {
	karpenter := flag.Bool("karpenter", false, "build Karpenter too")
	node := flag.Bool("node", false, "build the kubelet too")
	knative := flag.Bool("knative", false, "build Knative Serving too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := binaries.Dir(ctx, os.Stderr)
	if err == nil && *karpenter {
		_, _, err = binaries.Karpenter(ctx, os.Stderr)
	}
	if err == nil && *node {
		_, err = binaries.Node(ctx, os.Stderr)
	}
	if err == nil && *knative {
		_, err = binaries.Knative(ctx, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
