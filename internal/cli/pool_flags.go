package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
)

// poolFlags describe the simulated cluster: its nodes, who else uses them, and their prices. All
// commands that simulate for a comparison share them.
type poolFlags struct {
	pools              []string
	neighbours, prices string
	quota              string
	appScale           float64
}

func (f *poolFlags) add(flags *pflag.FlagSet) {
	f.addNodes(flags)
	flags.Float64Var(&f.appScale, "app-scale", 1, appScaleUsage)
}

const appScaleUsage = "replicas at the start and at most, and nodes of the app for this many times its usual load; the load is not changed"

// addNodes adds all but --app-scale.
func (f *poolFlags) addNodes(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.pools, "pool", nil, "nodes instead of the app's: "+strings.Join(pool.Names(), ", ")+
		", or cores=4,memory=16Gi,start=45s,price=0.17,... (docs/cluster.md); repeatable")
	flags.StringVar(&f.neighbours, "neighbours", "",
		"other tenants on every node, in shares of what it offers: use=0.7,request=0.7,memory=0.5,shape=constant|diurnal|FILE")
	flags.StringVar(&f.prices, "prices", "", "core=0.03,gib=0.004,m5.xlarge=0.2,currency=EUR per hour, or a YAML file of them")
	flags.StringVar(&f.quota, "quota", "",
		"what the pods of the application may have together, as by a ResourceQuota: cpu=20,memory=40Gi,limits.cpu=40,limits.memory=80Gi,pods=100")
}

// apply replaces what the flags name of a cluster; the error has every fault.
func (f *poolFlags) apply(c *pool.Cluster) error {
	var faults []error
	if len(f.pools) > 0 {
		c.Pools = nil
	}
	for _, text := range f.pools {
		p, err := pool.ParsePool(text)
		if err != nil {
			faults = append(faults, UsageError(err))
		}
		c.Pools = append(c.Pools, p)
	}
	var err error
	if f.neighbours != "" {
		c.Neighbours, err = readNeighbours(f.neighbours)
		faults = append(faults, err)
	}
	if f.prices != "" {
		c.Prices, err = readPrices(f.prices)
		faults = append(faults, err)
	}
	if f.quota != "" {
		if c.Quota, err = pool.ParseQuota(f.quota); err != nil {
			faults = append(faults, Usagef("--quota: %w", err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return UsageError(err)
	}
	return nil
}

// scaled is the application for --app-scale.
func (f *poolFlags) scaled(app *loadline.App) (*loadline.App, error) {
	return scaledBy(app, f.appScale)
}

func scaledBy(app *loadline.App, factor float64) (*loadline.App, error) {
	scaled, err := apps.Scale(app, factor)
	if err != nil {
		return app, Usagef("--app-scale: %w", err)
	}
	return scaled, nil
}

func readNeighbours(text string) (pool.Neighbours, error) {
	n, err := pool.ParseNeighbours(text)
	if err != nil {
		return n, UsageError(err)
	}
	if n.Shape.Name == "" || len(n.Shape.Factor) > 0 {
		return n, nil
	}
	file, err := os.Open(n.Shape.Name)
	if err != nil {
		return n, Usagef("neighbours: shape=%s: must be constant, diurnal or a CSV file with the columns time_s,factor: %w", n.Shape.Name, err)
	}
	defer file.Close()
	n.Shape, err = pool.ReadShape(file, n.Shape.Name)
	return n, err
}

// readPrices reads prices as a text with "=", or from the file that it names.
func readPrices(text string) (pool.Prices, error) {
	if strings.Contains(text, "=") {
		p, err := pool.ParsePrices(text)
		if err != nil {
			err = UsageError(err)
		}
		return p, err
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return pool.Prices{}, UsageError(fmt.Errorf("prices: must be key=value,... or a YAML file: %w", err))
	}
	return pool.ReadPrices(content, text)
}
